"""A picture of a simulation: the truth, and each method's band of one draw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np

from streameval.curve import Curve
from streameval.errors import InputError
from streameval.methods.replicates import Replicates, Simulation
from streameval.reporting.chart_rows import ranks_to_draw
from streameval.reporting.charts import ZERO, Spec, chart_file, number, rank_axis
from streameval.stores import atomic
from streameval.typing import FloatArray, Int64Array

_KINDS: dict[str, Literal["svg", "png", "html"]] = {".svg": "svg", ".png": "png", ".html": "html"}


def kind_of(path: str | os.PathLike[str]) -> Literal["svg", "png", "html"]:
    """Return a picture's format by its ending; an `InputError` unless it is .svg, .png or .html."""
    kind = _KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(f"{path}: cannot draw a '{Path(path).suffix}'", "the ending is .svg, .png or .html")
    return kind


def save_figure(simulation: Simulation, path: str | os.PathLike[str], existing: atomic.Existing = "kept") -> None:
    """Write the picture; its format is its ending (`kind_of`), and `existing` is as for `atomic.write_out`."""
    atomic.write_out({Path(path): chart_file(figure(simulation), kind_of(path))}, existing)


def figure(simulation: Simulation) -> Spec:
    """One panel per method: its bounds of the first draw relative to the true precision, which is the line at zero."""
    ranks = ranks_to_draw(simulation.precision.size, np.array([], dtype=np.int64))
    errors = {name: _errors(run.first, simulation.precision, ranks) for name, run in simulation.replicates.items()}
    both = np.concatenate([np.abs(np.concatenate(pair)) for pair in errors.values()] or [np.array([0.0])])
    most = float(np.clip(1.1 * np.quantile(both[both > 0], 0.98) if np.any(both > 0) else 0.01, 0.01, 1.0))
    sampled = np.flatnonzero(np.max([np.maximum(abs(a), abs(b)) for a, b in errors.values()], axis=0) > 0)
    shown = slice(int(sampled[0]) if sampled.size else 0, None)
    panels = [
        _panel(_title(name, run), ranks[shown], errors[name][0][shown], errors[name][1][shown], most)
        for name, run in simulation.replicates.items()
    ]
    return {"vconcat": panels, "config": {"view": {"stroke": "#d9e0e6"}}}


def _errors(curve: Curve, precision: FloatArray, ranks: Int64Array) -> tuple[FloatArray, FloatArray]:
    """Bounds over truth, less one; where there are no positives yet, the bounds themselves."""
    table, truth = curve.at(ranks), precision[ranks - 1]
    scale = np.where(truth > 0, truth, 1.0)
    low, high = ((table.column(f"precision_{side}").to_numpy() - truth) / scale for side in ("lower", "upper"))
    return low, high


def _title(name: str, run: Replicates) -> str:
    if run.first.claim.coverage == "exact":
        return f"{name}: {run.labels:,} labels, every item"
    if run.first.claim.coverage == "simultaneous":
        return f"{name}: {run.labels:,} labels, held everywhere in {run.held:,} of {run.count:,} draws"
    bounds = "bracket" if run.first.claim.confidence is None else "bounds"
    return f"{name}: {run.labels:,} labels, truth inside its {bounds} at {run.inside:.0%} of cutoffs"


def _panel(title: str, ranks: Int64Array, low: FloatArray, high: FloatArray, most: float) -> Spec:
    rows = [
        {"rank": int(r), "low": round(float(a), 5), "high": round(float(b), 5)}
        for r, a, b in zip(ranks, low, high, strict=True)
    ]
    y = number("low", title="error of the bounds", scale={"domain": [-most, most]}, axis={"format": "+.0%"})
    x = rank_axis(int(ranks[0]), int(ranks[-1])).x()
    band = {"data": {"values": rows}, "encoding": {"x": x, "y": y, "y2": {"field": "high"}},
            "mark": {"type": "area", "opacity": 0.5, "color": "#2f6db0", "clip": True}}  # fmt: skip
    return {"width": 640, "height": 120, "title": title, "layer": [band, ZERO]}
