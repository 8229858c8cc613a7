"""Scans as jobs for other machines: shares of row groups go out as bytes, partial results come back as tables.

`worker` is what all jobs share; `scan_jobs` finds ranks, `labelled_jobs` sums labels (`block_bytes` encodes the sums),
and `rankings_jobs` measures many rankings.
"""
