"""Labels of a column of the list as numbers: words are understood as in a table of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.labelling.hints import naming_word
from streameval.labelling.options import LabelMeaning, is_finite
from streameval.labelling.votes import BLANK, NEGATIVE, POSITIVE, SKIPPED
from streameval.text import row_of

_SHOWN = 6  # words in a message


def label_values(column: pa.ChunkedArray, meaning: LabelMeaning, place: str, name: str) -> pa.ChunkedArray:
    """Turn words into 1 and 0, and what was named as positive or negative; numbers and booleans stay what they are.

    A list of one is its element; an empty list and NaN are no answer.

    Args:
        place, name: Of the column, for messages.

    Returns:
        pyarrow.ChunkedArray: float64 in place of text, null where there is no answer.

    Raises:
        InputError: A word that means nothing.
    """
    if pa.types.is_dictionary(column.type):  # as a file is read
        column = column.cast(column.type.value_type)
    column = _only_elements(column, place, name)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_float32(column.type) or pa.types.is_float64(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if not is_text(column.type) and not (meaning.positive or meaning.negative):
        return column
    coded = _texts(column).dictionary_encode()
    values = [_value(text, meaning) for text in coded.dictionary.to_pylist()]
    if None in values:
        strange = pa.array([at for at, value in enumerate(values) if value is None], coded.indices.type)
        row = pc.is_in(coded.indices, value_set=strange).index(True).as_py()
        raise InputError(
            f"{row_of(place, row)}: {name} is '{coded[row].as_py()[:40]}', neither 0/1, yes/no nor a number",
            naming_word(coded[row].as_py().strip(), meaning),
        )
    decided = pa.array(values, pa.float64(), from_pandas=True)
    return pa.chunked_array([decided.take(coded.indices)], pa.float64())


def _only_elements(column: pa.ChunkedArray, place: str, name: str) -> pa.ChunkedArray:
    """Give the element of each list of one, null for one without any; what is no column of lists as it is."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return column
    lists = column.combine_chunks()
    several = pc.greater(pc.list_value_length(lists), 1)
    if pc.any(several).as_py():
        row = several.index(True).as_py()
        raise InputError(f"{row_of(place, row)}: {name} is a list of {len(lists[row].as_py())} labels",
                         "give one label per item")  # fmt: skip
    at = np.full(len(lists), -1)
    at[pc.list_parent_indices(lists).to_numpy()] = np.arange(len(lists.flatten()))
    return pa.chunked_array([lists.flatten().take(pa.array(at, mask=at < 0))])


def refuse_words_of_no_row(columns: Iterable[pa.ChunkedArray], meaning: LabelMeaning, place: str) -> None:
    """Refuse (InputError) words that were named and do not occur, where others do that nobody named: they are misspelt.

    Reads no further than it has to: until every word that has to occur did.

    Args:
        columns: The labels, part by part.
    """
    there: Counter[str] = Counter()
    wanted = _that_have_to_occur(meaning)
    for column in columns if wanted else ():
        for pair in pc.value_counts(_texts(_only_elements(column, place, "the label")).drop_null()).to_pylist():
            there[pair["values"]] += pair["counts"]
        wanted = [words for words in wanted if not any(_is_one(text, words) for text in there)]
        if not wanted:
            return
    named = LabelMeaning(negative=(*meaning.positive, *meaning.negative))
    if not wanted or all(_value(text, named) is not None for text in there):
        return
    option = "--positive" if wanted[0][0] in meaning.positive else "--negative"
    shown = ", ".join(f"'{text[:40]}' ({rows:,})" for text, rows in there.most_common(_SHOWN))
    raise InputError(
        f"{place}: {option} {','.join(wanted[0])}: no label is {' or '.join(map(repr, wanted[0]))}; there are {shown}",
        "check the spelling",
    )


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds words, and not numbers or booleans."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _that_have_to_occur(meaning: LabelMeaning) -> list[tuple[str, ...]]:
    """Give words of which one has to occur: each positive one where all others are negative, else one of an option."""
    if meaning.negative:
        return [words for words in (meaning.positive, meaning.negative) if words]
    return [(word,) for word in meaning.positive]


def _texts(column: pa.ChunkedArray) -> pa.Array:
    return column.cast(pa.large_string()).combine_chunks()


def _value(text: str | None, meaning: LabelMeaning) -> float | None:
    """Value of a label: NaN where there is no answer, None where it means nothing."""
    word = (text or "").strip().lower()
    for among, value in ((meaning.positive, 1.0), (meaning.negative, 0.0), (POSITIVE, 1.0), (NEGATIVE, 0.0)):
        if _is_one(word, among):
            return value
    if word in BLANK or word in SKIPPED:
        return float("nan")
    if is_finite(word):
        return float(word)
    return 0.0 if meaning.positive and not meaning.negative else None


def _is_one(text: str, words: Sequence[str]) -> bool:
    """Tell whether a label is one of some words; a number is, however it is written."""
    word = text.strip().lower()
    return word in words or (
        is_finite(word) and float(word) in [float(accepted) for accepted in words if is_finite(accepted)]
    )
