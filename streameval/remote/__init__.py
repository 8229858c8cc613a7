"""Scans as jobs for other machines: whole shares of row groups go out as bytes, partial results come back as tables.

`jobs` is what any job has, `scan_jobs` and `labelled_jobs` are those of the two kinds of scans.
"""
