"""Benchmarks: ours and its peers side by side, each in a process of its own, losses included.

`scripts/bench --items 2e9` makes the data, runs every case and prints the tables;
`--readme` writes them into benchmarks/README.md.
A case is one file in this folder with a module-level `CASE`: found by name, nothing else to edit.
"""
