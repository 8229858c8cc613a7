"""Evaluate a fully labelled list whose rows lie scattered, in the order of its scores."""

from __future__ import annotations

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.exact_stored import PEER_ITEMS, check, decode, duckdb_groups, ours, scikit_learn


def _whole(context: Context) -> Dataset:
    return context.dataset("shuffled", max(1, context.n_items // 2))


def _peers(context: Context) -> Dataset:
    return context.dataset("shuffled", min(PEER_ITEMS, max(1, context.n_items // 2)))


CASE = Case(
    title="Every metric of half of {n} labelled items, shuffled, by score; peers at 10⁸ at most",
    runners={
        "streameval exact, a counter per score": ours(_whole, "score"),
        "streameval exact, in .3 GB": ours(_whole, "score", 0.3),
        "decode score and label": decode(_whole, ["score", "label"]),
        "streameval exact, at the peers' size": ours(_peers, "score"),
        "DuckDB, groups and windows (AP, AUC)": duckdb_groups(_peers),
        "scikit-learn (AP, AUC)": scikit_learn(_peers),
    },
    datasets=lambda context: [_whole(context), _peers(context)],
    check=check,
)
