"""A curve from what its files hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Envelope
from streameval.curve.estimated import YieldEstimate
from streameval.types import Claim

_NOTHING = pa.table({"rank": pa.array([], pa.int64())})


def stored_curve(facts: Mapping[str, Any], envelope: pa.Table, curve: pa.Table | None) -> Curve:
    """Make a curve of its tables and of what evaluation.json says of it.

    Args:
        facts: `n_items`, `claim`, `diagnostics`, `findings`; `estimates`, `misses`, `misses_upper` where they are
            unusual.
        envelope, curve: See `Curve.envelope_table` and `Curve.table`; None: neither grid nor scores are needed.
    """
    curve = _NOTHING if curve is None else curve
    missed = facts.get("misses_estimate")
    return Curve(
        n_items=facts["n_items"],
        envelope=Envelope.from_table(envelope, facts["n_items"]),
        basis=facts.get("estimates", "labels"),
        estimated=YieldEstimate.from_table(envelope),
        grid=curve.column("rank").to_numpy(),
        claim=Claim(**facts["claim"]),
        diagnostics=facts["diagnostics"],
        findings=tuple(facts["findings"]),
        score=curve.select(["rank", "score"]) if "score" in curve.column_names else None,
        misses=facts.get("misses", 0),
        misses_upper=facts.get("misses_upper"),
        misses_estimate=float("nan") if missed is None else float(missed),
    )
