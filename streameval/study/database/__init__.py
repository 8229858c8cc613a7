"""A study as one DuckDB file: its tables, commented, and macros that answer what an analyst asks."""

from __future__ import annotations
