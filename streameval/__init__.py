"""Evaluate rankings too large to label.

Verbs have the names that they have on the command line. Everything is imported when it is first used, so that
`import streameval` and `streameval --help` stay quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "plan": "verbs.plan",
    "scan": "verbs.scan",
    "compile": "verbs.compile",
    "grow": "verbs.grow",
    "judge": "verbs.judge",
    "adopt": "verbs.adopt",
    "select": "verbs.select",
    "label": "verbs.label",
    "evaluate": "verbs.evaluate",
    "exact": "verbs.exact",
    "labels": "verbs.labels",
    "cut": "verbs.cut",
    "show": "verbs.show",
    "check": "verbs.check",
    "Question": "questions",
    "monitor": "verbs.monitor",
    "report": "verbs.report",
    "publish": "verbs.publish",
    "cost": "verbs.cost",
    "simulate": "verbs.simulate",
    "average_precision_score": "metrics.arrays",
    "precision_recall_curve": "metrics.arrays",
    "roc_auc_score": "metrics.arrays",
    "roc_curve": "metrics.arrays",
    "ScoredPrecisionRecallEvaluation": "metrics.lingpipe",
    "compare": "verbs.compare",
    "extrapolate": "verbs.extrapolate",
    "extrapolate_study": "verbs.extrapolate",
    "sql": "verbs.sql",
    "register": "verbs.register",
    "Study": "study",
    "Evaluation": "study",
    "RankingsEvaluation": "kinds.rankings.results",
    "RankingsSample": "kinds.drawn_rankings.results",
    "Cut": "study.cut_files",
    "History": "study.history",
    "Plan": "types",
    "Labels": "types",
    "Claim": "types",
    "Curve": "curve",
    "open_ranking": "rankings",
    "scan_ranking": "rankings.lazy_frame",
    "RankingOptions": "rows.options",
    "StreamevalError": "errors",
    "InputError": "errors",
    "StudyError": "errors",
    "OutsideError": "errors",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streameval' has no attribute '{name}'")
    return getattr(importlib.import_module(f"streameval.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
