"""Options for reading labels, aggregating votes and exporting tasks."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from streameval.errors import InputError
from streameval.options import listed, option

if TYPE_CHECKING:
    from streameval.labelling.rules import VoteRule
    from streameval.typing import AnyArray, BoolArray


def is_finite(word: str) -> bool:
    """Tell whether a word is a number."""
    try:
        return isfinite(float(word))
    except ValueError:
        return False


def check_label_words(options: Any, of_grades: Literal["vote", "relevant"]) -> None:
    """Read the words of the fields `positive` and `negative` of options, in small letters.

    Args:
        of_grades: The option that takes grades.

    Raises:
        InputError: A word is named as both, or a number is positive and none is negative.
    """
    for name in ("positive", "negative"):
        object.__setattr__(options, name, tuple(word.lower() for word in listed(getattr(options, name))))
    if both := set(options.positive) & set(options.negative):
        raise InputError(f"'{min(both)}' is named as positive and as negative", "leave out one of them")
    if not options.negative and (numbers := [word for word in options.positive if is_finite(word)]):
        other = "1" if 0 in map(float, numbers) else "0"
        named = f"such as --positive {shlex.quote(','.join(options.positive))} --negative {other}"
        graded = len(numbers) == len(options.positive) and getattr(options, "relevant", None) is None
        level = f"'{'majority' if of_grades == 'vote' else ''}>={min(numbers, key=float)}'"
        raise InputError(
            f"label {numbers[0]} is positive, and it is not said which numbers are negative",
            f"{named}, or --{of_grades} {level} for grades" if graded else named,
        )


@dataclass(frozen=True)
class NamedWords:
    """Words that people used for an answer.

    They are compared without regard to capitals; those that are understood anyway (yes, no, 1, 0 and so on) keep their
    meaning unless they are named.
    """

    positive: tuple[str, ...] = option(
        (), "Words that are a positive label; others are negative, or --negative names them."
    )
    negative: tuple[str, ...] = option((), "Words that are a negative label; others are then unreadable.")


@dataclass(frozen=True)
class AnswerColumns(NamedWords):
    """Columns of a table of answers, and the meaning of its words.

    `on` is a rank column, or columns of the items that tell them apart.
    """

    on: str | tuple[str, ...] | None = option(
        None,
        "Columns a,b that say which item a row is about (default: se_task, se_rank, rank, or the list's --key); "
        "LIST_COLUMN=LABEL_COLUMN where names differ.",
    )
    label: str = option("label", "Column with the label: 1/0, true/false, yes/no or a grade; blank for none.")

    def __post_init__(self) -> None:
        """Check what can be checked without a source."""
        if self.on is not None and not isinstance(self.on, str):
            object.__setattr__(self, "on", ",".join(listed(self.on)))
        check_label_words(self, "vote")


_LEVEL = re.compile(r"\s*(>=?)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*", re.IGNORECASE)


LabelsAre = Literal["answers", "positives"]


@dataclass(frozen=True)
class LabelMeaning(NamedWords):
    """Meaning of the labels of a fully labelled list: words, as of `AnswerColumns`, and grades."""

    relevant: str | None = option(
        None,
        "From which label on an item is positive, as '>=2'; nDCG takes every label as a gain (trec_eval -l).",
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_label_words(self, "relevant")
        _ = self.level

    @property
    def level(self) -> tuple[str, float] | None:
        """Tell which grades are positive: those that are ">" or ">=" a number."""
        if self.relevant is None:
            return None
        if (match := _LEVEL.fullmatch(str(self.relevant))) is None or not is_finite(match[2]):
            raise InputError(f"--relevant is {str(self.relevant)!r}, not >=GRADE", "such as --relevant '>=2'")
        return match[1], float(match[2])

    def is_positive(self, values: AnyArray) -> BoolArray:
        """Tell which labels, as numbers, are positive where a grade says so."""
        above, least = self.level or (">=", 1.0)
        positive: BoolArray = values > least if above == ">" else values >= least
        return positive

    def as_named(self) -> dict[str, Any]:
        """Give what was asked for, by name."""
        return {name: value for name, value in vars(self).items() if value not in ((), None)}


@dataclass(frozen=True)
class LabelColumns(AnswerColumns):
    """Besides, who answered and when.

    `study` is whose tasks rows may be. "any": they are about items, joined by `on`, and `se_study` and `se_task` say
    nothing. `labels_are` is that of `Judging`.
    """

    annotator: str | None = option(
        None,
        "Column that names who answered (default: annotator); file: the name of each file.",
    )
    time: str | None = option(
        None,
        "Column with the time, in UTC where it names no zone: later answers replace earlier ones (default: time).",
    )
    source: str | None = option(None, "Column with the kind of annotator, for --prefer (default: source).")
    key: str | None = None  # columns a,b that name an item of the list
    study: Literal["this", "any"] = "this"
    labels_are: LabelsAre = "answers"


@dataclass(frozen=True)
class Judging:
    """Options of counting votes as labels, and of believing labels.

    `label_error` is of an item's label after the vote rule. What `strict` refuses (`streameval.labelling.issues`) is
    not stored. Without a threshold, `vote` takes votes of 0 or 1.
    """

    vote: str = option(
        "majority", "majority, mean, any, all or latest; with >=X for grades, such as 'mean>=3' (quote it)."
    )
    prefer: tuple[str, ...] = option(
        (),
        "Sources, best first: on each item only the best one's votes count. As the column source names them, or as "
        "files are named.",
    )
    label_error: float = option(0.0, "Widen every bound for labels that are wrong with at most this probability.")
    assume: Literal["a2", "independent", "complete"] | None = option(
        None,
        "Of paula: another assumption than the plan's. complete: --positives has every positive of the drawn rankings "
        "beyond the items to label.",
    )
    labels_are: LabelsAre = option(
        "answers",
        "answers: items that a table does not name have no label. positives: a table lists positives alone, and all "
        "other items are negative.",
    )
    strict: bool = option(False, "Exit with 2 if anything is missing, doubled, contradictory or unreadable.")

    def __post_init__(self) -> None:
        """Read the rule, and sources that are separated by commas; an `InputError` where there is no such rule."""
        object.__setattr__(self, "prefer", listed(self.prefer))
        object.__setattr__(self, "vote", str(self.rule))

    @cached_property
    def rule(self) -> VoteRule:
        """The rule that `vote` names, which is written in one way from here on."""
        from streameval.labelling.rules import vote_rule

        return vote_rule(self.vote)


@dataclass(frozen=True)
class AskOptions:
    """Question to annotators; kept in the study once it is given."""

    ask: str | None = option(None, "What to ask about every item, such as 'Do both mean the same?'.")
    positive: str | None = option(None, "Word for a positive answer (default: yes, where something is asked).")
    negative: str | None = option(None, "Word for a negative answer (default: no, where something is asked).")
    guidelines: str | os.PathLike[str] | None = option(
        None, "Markdown file that says how to answer; on the page, key g shows it."
    )
    image: tuple[str, ...] = option((), "Columns that hold pictures: paths, web addresses or bytes.")
    image_root: str | os.PathLike[str] | None = option(
        None, "Folder that pictures have to be in (default: that of the list)."
    )

    def __post_init__(self) -> None:
        """Read columns that are separated by commas."""
        object.__setattr__(self, "image", listed(self.image))


@dataclass(frozen=True)
class TaskOptions(AskOptions):
    """Content of an export besides one task per planned item, and the question to annotators.

    What `remaining` leaves out is judged as in the last evaluation; undecided items stay. A task that is shown twice
    has another number then, and the second answer is no vote. `controls` is a path, address or table, with the items'
    columns and `label`.
    """

    remaining: bool = option(False, "Export only items that have no label yet.")
    repeats: int = option(0, "Show this many tasks twice, to see whether people agree with themselves.")
    controls: Any = option(
        None, "Table of items with a known label, put among the tasks to see whether people are right."
    )

    def __post_init__(self) -> None:
        """Check what can be checked without a study."""
        super().__post_init__()
        if self.repeats < 0:
            raise InputError(f"--repeats is {self.repeats:,}, below 0")


@dataclass(frozen=True)
class Misses:
    """Positives that the ranking never returned: how many, or the study that bounds them."""

    misses: Any = option(
        None,
        "Positives that the ranking never returned: how many, or an evaluated study of the other items.",
    )


@dataclass(frozen=True)
class KnownPositives:
    """Positives of drawn rankings that are known from elsewhere."""

    positives: Any = option(
        None,
        "Of many rankings: Parquet file with a row for each known positive (--per columns and --key): bounds recall, "
        "AP and nDCG from above, with --assume complete on both sides.",
    )
    key: str | None = option(
        None,
        "Columns a,b that name the item: in the list, in labels and in --positives.",
    )


@dataclass(frozen=True)
class ReuseOptions:
    """Drawing the same items in every version of a ranking, and which labels they bring."""

    on: str | tuple[str, ...] | None = option(
        None,
        "loguniform: column, or columns a,b, that tell items apart. Their hash draws the items, so that another "
        "version draws nearly the same (needs --seed), and labels are joined by the first.",
    )
    reuse: Any = option(
        None,
        "Labels of an earlier version, with --on and --seed; or its study, which knows both. With --dry-run: how many "
        "are left.",
    )
    label: str | None = option(None, "Column with the label (default label).")
    labels_unseen_by_model: Literal["yes", "no"] | None = option(
        None, "With --reuse: whether the model was made without these labels; with no, bounds promise nothing."
    )

    def __post_init__(self) -> None:
        """Check what can be checked without the files."""
        if self.reuse is None and self.labels_unseen_by_model is not None:
            raise InputError("no labels are reused, so the model has seen none", "give them with --reuse FILE")
        if self.reuse is None and self.label is not None:
            raise InputError(f"--label {self.label} is a column of reused labels, and no labels are reused",
                             "give them with --reuse FILE, or leave out --label")  # fmt: skip
