"""What the cutoff picker reads: the envelope and the scores of a curve, as small JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.curve import Curve, known_scores
from streameval.envelope import Envelope
from streameval.types import FloatArray, Int64Array

BREAKPOINTS = 120_000  # about 0.5 MB of page
_SCORES = 6_000


def pack(curve: Curve) -> dict[str, Any]:
    """Give rank, bounds, misses and scores of one curve, as `picker.js` unpacks them.

    An envelope of more than `BREAKPOINTS` is thinned evenly along a log axis: fewer breakpoints widen bounds and never
    break them; the page says so.
    """
    envelope = thin(curve.envelope, BREAKPOINTS)
    packed: dict[str, Any] = {
        "misses": curve.misses,
        "proves": curve.proves,
        "rank": _runs(envelope.rank, "differences"),
    }
    if np.all(envelope.lower == np.rint(envelope.lower)) and np.all(envelope.upper == np.rint(envelope.upper)):
        packed["lower"] = _runs(envelope.lower, "differences")
        packed["width"] = _runs(envelope.upper - envelope.lower, "differences")
    else:  # differences of fractions would be rounded
        packed["lower"], packed["upper"] = _runs(envelope.lower, "values"), _runs(envelope.upper, "values")
    packed["scores"] = _scores(curve)
    return packed


def thin(envelope: Envelope, most: int) -> Envelope:
    """Keep at most so many breakpoints, both ends among them; all bounds stay valid."""
    if envelope.rank.size <= most:
        return envelope
    wanted = np.geomspace(1, float(envelope.rank[-1]), most - 2)
    kept = np.unique(np.concatenate([[0, envelope.rank.size - 1], np.searchsorted(envelope.rank, wanted)]))
    return Envelope(envelope.rank[kept], envelope.lower[kept], envelope.upper[kept])


def _runs(values: Int64Array | FloatArray, of: str) -> dict[str, Any]:
    """Run lengths of values, or of their differences from a 0 before them: value, length, value, length …"""
    told = np.diff(values, prepend=0) if of == "differences" else values
    begins = np.flatnonzero(np.concatenate([[True], told[1:] != told[:-1]]))
    lengths = np.diff(np.append(begins, told.size))
    pairs = zip(told[begins].tolist(), lengths.tolist(), strict=True)
    flat = [_plain(one) for pair in pairs for one in pair]
    return {"n": int(told.size), "delta": of == "differences", "runs": flat}


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _scores(curve: Curve) -> dict[str, Any] | None:
    if curve.score is None:
        return None
    ranks, scores = known_scores(curve.score)
    if not ranks.size:
        return None
    if ranks.size > _SCORES:
        wanted = np.unique(np.searchsorted(ranks, np.geomspace(1, float(ranks[-1]), _SCORES)))
        ranks, scores = ranks[wanted], scores.take(wanted)
    values = [one if isinstance(one, int | float) else str(one) for one in scores.to_pylist()]
    return {"rank": ranks.tolist(), "score": values}
