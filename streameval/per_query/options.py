"""The options of an evaluation of many rankings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from math import ceil, floor
from typing import Any, Literal, get_args

from streameval.calls import read_column
from streameval.errors import InputError, did_you_mean
from streameval.labelling.options import LabelMeaning
from streameval.options import check_types, listed, option, parameter, types_of
from streameval.questions import Asked, Condition, Question, Width
from streameval.questions.asking import read_questions
from streameval.questions.cutoffs import plain
from streameval.questions.other_names import ELEVEN_POINTS, rank_biased, read_other
from streameval.text import number_of

_EXAMPLE = "query(ties=trec_eval, gain=exponential)"
_MOST_CUTOFFS, _MOST_OPTIONAL = 20, 40
_RANK_BIASED = re.compile(r"rbp(\.(?=\d*[1-9])\d{1,6})")
_RANKINGS, _ITEMS = 1_000, 10  # drawn of a list, and labelled of each, where nothing is said
_DEEPEST = 10**9
_SHARES = ("precision", "success", "mrr")  # whose width is that of a mean of numbers in [0, 1]
_MEANS = (*_SHARES, "dcg")
_OF_ALL_POSITIVES = ("recall", "ndcg", "map")  # of a ranking, whatever their ranks


@dataclass(frozen=True)
class PerRanking:
    """Options of evaluating a list of many rankings.

    Attributes:
        per: As it is typed, the parameters below in its parentheses; afterwards the columns alone.
        gain: Of a label in nDCG: the label, or 2^label - 1. Labels are whole numbers from 0 to 1,000.
        no_positives: Whether rankings without a positive count as 0 in the means, or are left out; results have both.
        ties: "all": every order of tied items. "trec_eval": by `key` as text, the largest first, and scores as 32-bit
            floats. "scikit-learn": thresholds for average precision, and for AUC and nDCG the mean over all orders.
        unjudged: Whether rankings of which the judgements name no item are left out, or count: nothing in them is
            positive.
        relevant: From which label on an item is positive (>=2.5 is >=3); nDCG takes every label as a gain.
        positive, negative: Words of labels, as of `LabelMeaning`.
        key: Column that names the item; on the command line that of `RankingOptions`.
    """

    per: tuple[str, ...] = option(
        (),
        'Columns a,b that name the ranking of a row: query, or "query(ties=trec_eval)" '
        "(`streameval guide many-rankings`).",
    )
    at: tuple[str, ...] = option(
        ("1", "10", "100"),
        "Cutoffs, separated by commas; and measures that have others: iprec@0.1 (interpolated precision at a recall), "
        "11pt (the mean of eleven of them), rbp@0.8 (rank-biased precision). With --sample-of scores: score:0.5 adds "
        "metrics of all items of that score or a better one.",
        shown="1,10,100",
    )
    gain: Literal["linear", "exponential"] = parameter("linear")
    no_positives: Literal["zero", "skip"] = parameter("zero")
    ties: Literal["all", "trec_eval", "scikit-learn"] = parameter("all")
    positives: Any = option(
        None,
        "Table (Parquet, CSV) with a row for each positive that a ranking never returned: its --per columns, --label; "
        "or of judgements, which has rows of grade 0 too, and names the items (--key).",
    )
    unjudged: Literal["skip", "zero"] = parameter("skip")
    relevant: str = ">=1"
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    key: str | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        _ = self.words
        for name, value in {**_read_per(self.per), "at": listed(self.at)}.items():
            object.__setattr__(self, name, value)
        if len(set(self.per)) < len(self.per):
            raise InputError(f"--per names a column twice: {', '.join(self.per)}", "name each once")
        refuse_ambiguous_item(self.key, self.per)
        if self.ties == "trec_eval" and self.key is None:
            raise InputError("trec_eval orders tied items by their names", "name their column with --key COL")
        _ = self.cutoffs, self.level, self.optional

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cutoffs as numbers, ascending; none where only other measures are named."""
        ranks = tuple(text for text in self.at if not _is_measure(text))
        return () if self.at and not ranks else cutoffs_of(ranks)

    @property
    def optional(self) -> OptionalMeasures:
        """Measures that `at` names beside cutoffs."""
        return OptionalMeasures.parse(text for text in self.at if _is_measure(text))

    @property
    def words(self) -> LabelMeaning:
        """Give what words of labels mean."""
        return LabelMeaning(self.positive, self.negative)

    @property
    def level(self) -> int:
        """The lowest label of a positive."""
        above, least = LabelMeaning(relevant=str(self.relevant)).level or (">=", 1.0)
        level = floor(least) + 1 if above == ">" else ceil(least)
        if level < 1:
            raise InputError(f"--relevant is {self.relevant!r}, and grade 0 is that of what is not relevant",
                             "such as --relevant '>=1'")  # fmt: skip
        return level


def _read_per(per: str | Iterable[str]) -> dict[str, Any]:
    """Read columns, and the parameters behind the last of them.

    >>> _read_per("country, query(ties=trec_eval)")
    {'per': ('country', 'query'), 'ties': 'trec_eval'}
    """
    calls = [read_column(text, _EXAMPLE) for text in listed(per)]
    values: dict[str, Any] = {"per": tuple(call.name for call in calls)}
    for call in calls:
        for name, argument in call.keys_alone(PARAMETERS).items():
            words = get_args(types_of(PerRanking)[name])
            if argument.value not in words:
                raise InputError(f"{name} is '{argument.value}'", did_you_mean(argument.value, words))
            values[name] = argument.value
    return values


PARAMETERS = tuple(option.name for option in fields(PerRanking) if "parameter" in option.metadata)


@dataclass(frozen=True)
class OptionalMeasures:
    """Measures that only some evaluations have, without repeats, ascending.

    Attributes:
        recalls: At which there is interpolated precision.
        eleven: Whether the mean over recalls 0, .1 … 1 is measured, which are among `recalls` then.
        persistences: Of rank-biased precision.
    """

    recalls: tuple[Decimal, ...] = ()
    eleven: bool = False
    persistences: tuple[Decimal, ...] = ()

    @staticmethod
    def parse(measures: Iterable[str]) -> OptionalMeasures:
        """Read them; an `InputError` where one is no such measure, or there are too many."""
        recalls, persistences = set[Decimal](), set[Decimal]()
        eleven = False
        for question in map(_measure, measures):
            if rank_biased := _RANK_BIASED.fullmatch(question.metric):
                persistences.add(Decimal(rank_biased[1]))
            eleven = eleven or question.metric == ELEVEN_POINTS
            recalls.update(Decimal(cutoff.value) for cutoff in question.cutoffs)
        recalls.update(Decimal(tenth) / 10 for tenth in range(11) if eleven)
        if len(recalls) + len(persistences) > _MOST_OPTIONAL:
            raise InputError(
                f"--at names {len(recalls) + len(persistences)} measures", f"give {_MOST_OPTIONAL} at most"
            )
        return OptionalMeasures(tuple(sorted(recalls)), eleven, tuple(sorted(persistences)))

    @property
    def question_texts(self) -> list[str]:
        """All as they are asked for; those of the eleven recalls by the name of their mean."""
        apart = (recall for recall in self.recalls if not (self.eleven and 10 * recall % 1 == 0))
        at_recalls = [f"precision@recall:{plain(recall)}" for recall in apart]
        return [*[ELEVEN_POINTS] * self.eleven, *at_recalls, *map(rank_biased, self.persistences)]

    @property
    def names(self) -> list[tuple[str, str]]:
        """Metric and argument of each, in the order of the kernel's rows."""
        return [*(("precision_at_recall", plain(recall)) for recall in self.recalls),
                *((rank_biased(persistence), "") for persistence in self.persistences)]  # fmt: skip

    @property
    def following(self) -> list[tuple[str, str]]:
        """Metric and argument of what follows from them: the eleven-point mean, and the residual of each RBP."""
        residuals = [(f"{rank_biased(persistence)}_residual", "") for persistence in self.persistences]
        return [*[(ELEVEN_POINTS, "")] * self.eleven, *residuals]


def _is_measure(text: str) -> bool:
    """Tell whether an entry of `at` is a measure and no cutoff."""
    return text.strip()[:1].isalpha() or read_other(text) is not None


def _measure(text: str) -> Question:
    """Read an entry of `at` that is no cutoff."""
    question = Question.of(text)
    is_supported = question.metric == ELEVEN_POINTS or _RANK_BIASED.fullmatch(question.metric) is not None
    at_recalls = question.metric == "precision" and {cutoff.kind for cutoff in question.cutoffs} == {"recall"}
    if question != question.measure or not (at_recalls or (is_supported and not question.cutoffs)):
        raise InputError(
            f"--at is {text!r}, not a whole number from 1", "cutoffs, or iprec@0.1, 11pt, rbp@0.8, separated by commas"
        )
    return question


def refuse_ambiguous_item(item: str | None, per: Collection[str]) -> None:
    """Refuse one column as the name of the ranking and of the item."""
    if item in per:
        raise InputError(f"'{item}' names the ranking, and cannot name the item", "name the column of items with --key")


def cutoffs_of(at: tuple[str, ...]) -> tuple[int, ...]:
    """Read cutoffs; an `InputError` where one is not a whole number, or below 1."""
    cutoffs = set()
    for text in at:
        if not text.isdecimal():
            raise InputError(f"--at is {text!r}, not a whole number from 1", "such as --at 1,10,100")
        if int(text) < 1:
            raise InputError(f"--at is {text}, below 1", "the first item is at 1")
        if int(text) > _DEEPEST:
            raise InputError(f"--at is {text}, above {_DEEPEST:,}")
        cutoffs.add(int(text))
    if not cutoffs:
        raise InputError("--at names no cutoff", "such as --at 1,10,100")
    if len(cutoffs) > _MOST_CUTOFFS:
        raise InputError(f"--at names {len(cutoffs)} cutoffs", f"give {_MOST_CUTOFFS} at most")
    return tuple(sorted(cutoffs))


@dataclass(frozen=True)
class RankingsDraw:
    """Options of drawing rankings without replacement from a list of many; each from its first item on.

    Attributes:
        questions: Cutoffs whose means are bounded together, of each ranking the items up to the last of them labelled;
            and how near bounds are to lie, which says how many rankings are drawn. By default precision@10.
        budget: Labels at most: as many rankings are drawn as stay within it however long they are. By default 1,000
            are, or what a width takes.
    """

    per: tuple[str, ...] = option(
        (),
        "Columns that name the ranking of a row (a query, a user): rankings are drawn, and means over all are bounded.",
    )
    confidence: float = option(0.95, "With which the bounds on all means hold together.")
    judge: str | None = option(None, "Column that says of every item whether it is positive; it may be wrong.")
    questions: Asked = ()
    budget: int | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        check_types(self)
        object.__setattr__(self, "per", listed(self.per))
        object.__setattr__(self, "questions", read_questions(self.questions))
        for question in self.parsed:
            _refuse_unplanned(question)
        if not 0 < self.confidence < 1:
            raise InputError(f"--confidence is {self.confidence}, outside (0, 1)", "0.95 is usual")
        if self.half_width is not None and self.budget is not None:
            raise InputError("a width and --budget were both given, and a plan is made for one", "leave one out")
        if self.budget is not None and self.budget < self.cutoffs[-1]:
            first = f"the first {number_of(self.cutoffs[-1], 'item')} of one ranking"
            raise InputError(f"a budget of {number_of(self.budget, 'label')} is below {first}",
                             "--for says how many items: precision@10")  # fmt: skip

    @property
    def parsed(self) -> tuple[Question, ...]:
        """The questions."""
        return read_questions(self.questions)

    @property
    def half_width(self) -> float | None:
        """Half of the distance between the bounds on a mean, as it is wanted; None where nothing is said."""
        widths = {question.demand.value for question in self.parsed if isinstance(question.demand, Width)}
        return float(min(widths)) if widths else None

    def drawn_of(self, total: int) -> int:
        """Tell how many rankings to draw of so many, where no width says it: all, if the list holds fewer."""
        return min(total, _RANKINGS if self.budget is None else int(self.budget) // self.cutoffs[-1])

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cutoffs as numbers, ascending: so many items of each ranking are labelled as the last of them says."""
        ranks = (int(cutoff.value) for question in self.parsed for cutoff in question.cutoffs)
        return tuple(sorted({*ranks})) or (_ITEMS,)


def _refuse_unplanned(question: Question) -> None:
    """Refuse what no draw of rankings is planned for."""
    if question.metric in _OF_ALL_POSITIVES:
        at = str(question.measure).removeprefix(question.metric)
        raise InputError(f"{question}: {question.metric} depends on every positive of a ranking, and only its first "
                         "items are labelled",
                         f"plan precision{at}; evaluate it with --positives TABLE for {question.metric}")  # fmt: skip
    if question.metric not in _MEANS:
        raise InputError(f"{question}: no rankings are drawn for this", f"ask for {', '.join(_MEANS)} at @10, say")
    deep = [cutoff for cutoff in question.cutoffs if cutoff.kind != "rank" or int(cutoff.value) > _DEEPEST]
    if deep or not question.cutoffs or len(question.cutoffs) > _MOST_CUTOFFS:
        raise InputError(f"{question}: rankings are labelled down to a number of items",
                         f"ask at 1 to {_MOST_CUTOFFS} of them, such as precision@5, 10")  # fmt: skip
    if str(question.terms):
        raise InputError(f"{question}: rankings are drawn at once, by no{question.terms}", "leave it out")
    if isinstance(question.demand, Condition):
        raise InputError(f"{question}: rankings are drawn for a width, and conditions are checked",
                         f"plan '{question.measure} within 0.05', and then check the condition")  # fmt: skip
    if isinstance(question.demand, Width) and (question.demand.of == "value" or question.metric not in _SHARES):
        relative = question.demand.of == "value" and question.metric in _SHARES
        what = "depends on the labels" if relative else f"of {question.metric} cannot be planned"
        wide = plain(question.demand.value)
        raise InputError(f"{question}: how many rankings such a width takes {what}",
                         f"the width is relative to the mean; else it is {question.measure} within {wide}" if relative
                         else "a width is one of precision, success or mrr, such as 'precision@10 within 0.02'; "
                         "else --budget says how many labels")  # fmt: skip
