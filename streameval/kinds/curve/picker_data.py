"""Data of the cutoff picker: the envelope, the estimated yield and the scores of a curve, as small JSON."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streameval.curve import Curve
from streameval.curve.at_score import known_scores
from streameval.curve.envelope import Envelope
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray, Int64Array

_SIZE = 600_000  # characters of page
_SCORES = 6_000
_DIGITS = 8  # of estimated yields: more than a page shows


@dataclass(frozen=True)
class Packed:
    """Data of the picker, as its script reads them.

    Attributes:
        text: JSON of all studies, zipped, in base 64.
        whole: False where envelopes were thinned to make it fit: bounds are then a little wider, never wrong, and
            estimates straight between the ranks that are left.
    """

    text: str
    whole: bool


def pack_all(curves: Mapping[str, Curve]) -> Packed:
    """Pack the curves of several studies, by name, into a size that mail takes."""
    curves, whole = {name: curve.settled for name, curve in curves.items()}, True
    most = max(curve.envelope.rank.size for curve in curves.values())
    while True:
        studies = [{"name": name, **pack(curve, most)} for name, curve in curves.items()]
        text = zip_json(studies)
        if len(text) <= _SIZE or most < 1_000:
            return Packed(text, whole)
        most, whole = int(most * min(0.9, _SIZE / len(text))), False


def zip_json(value: Any) -> str:
    """Write JSON, zipped, in base 64: small, and nothing in it is markup."""
    plain = json.dumps(value, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(plain, compresslevel=7, mtime=0)).decode()


def pack(curve: Curve, most: int) -> dict[str, Any]:
    """Give rank, bounds, estimates, misses and scores of one curve, at so many breakpoints at most, for `picker.js`."""
    envelope = thin(curve.envelope, most)
    packed: dict[str, Any] = {
        "misses": curve.misses,
        "most": curve.misses if curve.misses_upper is None else curve.misses_upper,
        "proves": curve.proves,
        "rank": _runs(envelope.rank, "differences"),
        **_estimates(curve, envelope.rank),
    }
    if np.all(envelope.lower == np.rint(envelope.lower)) and np.all(envelope.upper == np.rint(envelope.upper)):
        packed["lower"] = _runs(envelope.lower, "differences")
        packed["width"] = _runs(envelope.upper - envelope.lower, "differences")
    else:  # differences of fractions would be rounded
        packed["lower"], packed["upper"] = _runs(envelope.lower, "values"), _runs(envelope.upper, "values")
    packed["scores"] = _scores(curve)
    return packed


def _estimates(curve: Curve, ranks: Int64Array) -> dict[str, Any]:
    """Estimated yield at the first of some ranks, as far as it is known, from which rank it is, and misses.

    Nothing without estimates.
    """
    if curve.plug_in is None:
        return {}
    yields = curve.plug_in.curve.straight(ranks)
    estimated = yields[~np.isnan(yields)].tolist()
    short = np.array((f"%.{_DIGITS}g " * len(estimated) % tuple(estimated)).split(), np.float64)
    missed = curve.plug_in.misses
    first = curve.plug_in.curve.first
    return {"yield": _runs(short, "values"), "first": first, "missed": None if np.isnan(missed) else missed}


def thin(envelope: Envelope, most: int) -> Envelope:
    """Keep at most so many breakpoints, evenly along a log axis, and both ends: bounds stay valid, and widen."""
    if envelope.rank.size <= most:
        return envelope
    wanted = np.geomspace(1, float(envelope.rank[-1]), most - 2)
    kept = unique([0, envelope.rank.size - 1], np.searchsorted(envelope.rank, wanted))
    return Envelope(envelope.rank[kept], envelope.lower[kept], envelope.upper[kept])


def _runs(values: Int64Array | FloatArray, of: str) -> dict[str, Any]:
    """Run lengths of values, or of their differences from a 0 before them: value, length, value, length …"""
    stored = np.diff(values, prepend=0) if of == "differences" else values
    begins = np.flatnonzero(np.concatenate([[True], stored[1:] != stored[:-1]]))
    lengths = np.diff(np.append(begins, stored.size))
    each = stored[begins]
    whole = bool(np.all(each == np.rint(each)))
    numbers = each.astype(np.int64).tolist() if whole else map(_plain, each.tolist())
    flat = [number for pair in zip(numbers, lengths.tolist(), strict=True) for number in pair]
    return {"n": int(stored.size), "delta": of == "differences", "runs": flat}


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _scores(curve: Curve) -> dict[str, Any] | None:
    if curve.score is None:
        return None
    ranks, scores = known_scores(curve.score)
    if not ranks.size:
        return None
    if ranks.size > _SCORES:
        wanted = unique(np.searchsorted(ranks, np.geomspace(1, float(ranks[-1]), _SCORES)))
        ranks, scores = ranks[wanted], scores.take(wanted)
    values = [score if isinstance(score, int | float) else str(score) for score in scores.to_pylist()]
    return {"rank": ranks.tolist(), "score": values}
