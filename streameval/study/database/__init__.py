"""A study as one DuckDB file: its tables, commented, and macros for an analyst's questions."""

from __future__ import annotations
