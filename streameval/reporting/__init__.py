"""Reports for people: one self-contained HTML file per study, and the sentences in it."""

from __future__ import annotations
