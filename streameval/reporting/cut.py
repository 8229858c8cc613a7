"""What is proven of the items above a cutoff, and where they were written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Columns, Paragraph
from streameval.study.cut_files import Cut
from streameval.text import number_of
from streameval.types import TRUTH


@dataclass(frozen=True, repr=False)
class CutResult(ShowsItself, Cut):
    """A cutoff, with what is said of it."""

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say what is proven; and where the items lie, where they were asked for."""
        made = self.written
        if made is None:
            return _known(self, "The first")
        again = ", as before" if made.already_there else f" ({number_of(len(made.files), 'file')})"
        again += "" if made.replaced is None else ", in place of an earlier cut"
        return [*_known(self, "Kept: the first"), "", f"{number_of(made.rows, 'item')} in {made.folder}{again}"]


def _known(found: Cut, kept: str) -> list[Paragraph]:
    proven = math.floor(1000 * (found.holds["precision_lower"] or 0.0)) / 10
    whose = "" if found.claim.about == TRUTH else f" by {found.claim.about}"
    share = "All" if proven == 100 else f"At least {proven:g} %"
    head = (
        f"{kept} {found.rank:,} of {found.plan.n_items:,} items{_scores(found)}. {share} of them are positive{whose}."
    )
    if found.promise:  # of this rank alone, of which nothing else is known
        return [head, found.promise]
    rows = [
        [name, *(_number(found.holds[key], form) for key in (f"{name}_lower", name, f"{name}_upper"))]
        for name, form in (("precision", ".4f"), ("recall", ".4f"), ("f1", ".4f"), ("yield", ",.0f"))
        if name != "f1" or found.asked["cutoff"].startswith("max_f")
    ]
    return [
        head,
        "",
        Columns(["", "lower", "estimate", "upper"], rows),
        found.claim.promise,
        *filter(None, [found.claim.caution, estimate_sentence(found.estimates)]),
    ]


def _scores(found: Cut) -> str:
    """Say which scores are kept; a cutoff that is no score may lie between items of one."""
    least, down = ("at most", "up") if found.plan.ranking.get("ascending") else ("at least", "down")
    kind, _, score = found.asked["cutoff"].partition(":")
    if kind == "score":
        return f", those with a score of {least} {score}"
    return "" if found.score is None else f", {down} to a score of {found.score}"


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)
