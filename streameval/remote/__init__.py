"""Scans as jobs for other machines: shares of row groups go out as bytes, partial results come back as tables.

`worker` is what a worker runs, whatever it is; `jobs` makes the shares of any `Job`, and partials of what comes back.
"""
