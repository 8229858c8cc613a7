"""How times grow with the list: ours beside reading the same columns alone, from what `scripts/bench --json` wrote."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section

# what is timed: its case, our runner, the runners that together read the same columns and do nothing with them
_TIMED = {
    "windows in stored order": ("windows", "streameval, pages", ()),
    "windows by score, of half as many": ("windows_by_score", "streameval, counting scans",
                          ("read the score column once", "read the id column once")),
    "the same, half of them tied": ("score_tied", "streameval, counting scans",
                                     ("read the score column once", "read the id column once")),
    "exact, stored order, labels": ("exact_stored", "streameval exact, stored order is the ranking",
                                      ("decode label, Polars",)),
    "exact, stored order, labels and scores": ("exact_stored", "streameval exact, ties by score",
                                 ("decode score and label, Polars",)),
    "exact by score, of half as many": ("exact_scored", "streameval exact, a counter per score",
                                        ("decode score and label",)),
}  # fmt: skip
_SIDES = ("cold", "warm")


def table(found: dict[tuple[str, int], dict[str, Any]], sizes: list[int]) -> str:
    """Seconds cold / warm at each size, and how many times those of reading the columns alone."""
    rows = []
    for name, (case, ours, alone) in _TIMED.items():
        cells = []
        for size in sizes:
            timed = found.get((case, size), {})
            if any("cold" not in timed.get(runner, {}) for runner in (ours, *alone)):
                cells += ["", "", ""]
                continue
            own = [timed[ours][side] for side in _SIDES]
            limit = [sum(timed[runner][side] for runner in alone) for side in _SIDES]
            ratios = [f"{mine / least:.2f}" for mine, least in zip(own, limit, strict=True)] if alone else []
            cells += [_pair(own), _pair(limit) if alone else "", " / ".join(ratios)]
        if any(cells):
            rows.append([name, *cells])
    head = ["cold / warm", *(cell for size in sizes for cell in (f"{size:,} items, s", "columns alone, s", "×"))]
    return markdown(head, rows)


def _pair(values: list[float]) -> str:
    return " / ".join(f"{value:.2f}" for value in values)


def main() -> None:
    """Read, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=Path, help="what scripts/bench --json wrote, for one or several sizes")
    parser.add_argument("--readme", action="store_true", help="write the table into benchmarks/README.md")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.json.read_text(encoding="utf-8").splitlines()]
    found = {(line["case"], int(line["items"])): line["rows"] for line in lines}
    text = f"{table(found, sorted({size for _, size in found}))}\n\n{description()}."
    print(text)
    if options.readme:
        write_section("growth", text)


if __name__ == "__main__":
    main()
