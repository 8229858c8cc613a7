"""An attack on streameval: damaged files, kills, interrupts, full disks, and two commands at once.

`scripts/attack` runs it; `tests/journeys/test_attack.py` runs a part of it. Nothing of streameval is imported but its
command line. The readers and writers of Parquet here are written for the attack alone, so that an error of streameval's
own is not made twice. In the order in which they are used:

    thrift, layout       the structure of a Parquet file, field by field and byte by byte
    writers, damage      undamaged files by every writer there is, and ways to damage them
    worker, outcomes     warm processes that run commands, and what became of these
    consistent           whether a damaged file contradicts itself, or cannot show that it is damaged
    rankings, tables, studies, kills, disks, pairs      the classes of attack, one file each
    journal              the table of outcomes, and the smallest case of each failure

It lies under `tests/` and not under `benchmarks/`: it measures nothing, and what it finds becomes a test.
"""
