"""Options of a verb that were, and what says the same now; the command line has others of its own."""

from __future__ import annotations

_TERMS = {
    "zone": "said behind the condition: --for 'precision@K >= 0.9 zone 0.02'",
    "expect": "said behind the question: --for 'precision@K >= 0.9 expect 0.95'",
    "round": "said behind the question: --for 'precision@K >= 0.9 round 100'",
    "together": "said behind the question: --for 'precision@K >= 0.9 together'",
}
_COMPARED = {
    "within": "said by the question: --for 'gain@1000 within 2%'",
    "look": "said by the question: --for 'gain@1000 within 2%' is looked at once, --for 'gain@1000 > 0' at any time",
}
RETIRED_OPTIONS = {
    "plan": {
        **_TERMS,
        **_COMPARED,
        "at": "said by the question: --for 'gain@1000, 10000' beside another ranking, --for 'precision@5, 10' of many",
        "rankings": "--budget, in labels: 50 rankings of --for 'precision@10' are --budget 500",
    },
    "cost": {**_TERMS, **_COMPARED, "at": "said by the question: --for 'gain@1000, 10000'"},
}
