"""Texts about a cut: what is proven of its items, and where they were written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streameval.reporting.sentences import estimate_sentence, misses_sentence
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
        cut_files = self.written
        if cut_files is None:
            return _proven_lines(self, "The first")
        again = ", as before" if cut_files.already_there else f" ({number_of(len(cut_files.files), 'file')})"
        again += "" if cut_files.replaced is None else ", in place of an earlier cut"
        return [
            *_proven_lines(self, "Kept: the first"),
            "",
            f"{number_of(cut_files.rows, 'item')} in {cut_files.folder}{again}",
        ]


def _proven_lines(cut: Cut, kept: str) -> list[Paragraph]:
    proven = math.floor(1000 * (cut.holds["precision_lower"] or 0.0)) / 10
    share = "all" if proven == 100 else f"at least {proven:g} %"
    positive = f"{share[0].upper()}{share[1:]} of them are positive."
    if cut.claim.about != TRUTH:
        positive = f"The annotators would call {share} of them positive."
    head = f"{kept} {cut.rank:,} of {cut.plan.n_items:,} items{_scores(cut)}. {positive}"
    if cut.promise:  # of this rank alone, of which nothing else is known
        return [head, cut.promise]
    missed = misses_sentence(int(cut.asked.get("misses", 0)))
    rows = [
        [name, *(_number(cut.holds[key], form) for key in (f"{name}_lower", name, f"{name}_upper"))]
        for name, form in (("precision", ".4f"), ("recall", ".4f"), ("f1", ".4f"), ("yield", ",.0f"))
        if name != "f1" or cut.asked["cutoff"].startswith("max_f")
    ]
    return [
        head,
        "",
        Columns(["", "lower", "estimate", "upper"], rows),
        cut.claim.promise,
        *filter(
            None,
            [cut.claim.caution, missed, estimate_sentence(cut.estimates)],
        ),
    ]


def _scores(cut: Cut) -> str:
    """Say which scores are kept; a cutoff that is no score may lie between items of one."""
    least, down = ("at most", "up") if cut.plan.ranking.get("ascending") else ("at least", "down")
    kind, _, score = cut.asked["cutoff"].partition(":")
    if kind == "score":
        return f", those with a score of {least} {score}"
    return "" if cut.score is None else f", {down} to a score of {cut.score}"


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)
