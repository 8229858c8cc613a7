"""A Parquet schema as its leaves, and the Arrow types that items are returned in.

Each leaf column can be written as a file of its own: its chain of schema elements from the root, everything beside it
left out. Arrow then decodes it without its siblings, whose pages begin at other rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import length_hint

import numpy as np
import pyarrow as pa

from streameval.parquet import thrift
from streameval.parquet.thrift import Fields
from streameval.typing import Int64Array

_TYPE, _LENGTH, _NUM_CHILDREN, _NAME, _REPETITION, _CONVERTED, _LOGICAL = 1, 2, 5, 4, 3, 6, 10
_SCALE, _PRECISION = 7, 8
_REQUIRED, _OPTIONAL, _REPEATED = range(3)
_MAPS = (1, 2)  # converted types MAP, MAP_KEY_VALUE
_CONVERTED_LIST, _LOGICAL_MAP, _LOGICAL_LIST = 3, 2, 3
# converted types of logical ones that have one each; times have one for each unit, integers for each width and sign
_CONVERTED_OF = {1: 0, 4: 4, 5: 5, 6: 6, 12: 19, 13: 20}
_DECIMAL, _TIMES, _INTEGER, _FIRST_INTEGER = 5, {7: 7, 8: 9}, 10, {False: 11, True: 15}  # decimals have 5 as both
BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 6, 7
# bytes that one value takes at least where it is written out, by physical type; of booleans, 8 share one
_LEAST_BYTES = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, BYTE_ARRAY: 4}


@dataclass(frozen=True)
class Leaf:
    """A leaf column.

    Attributes:
        index: Its position among all leaves of the file.
        path: Names from the top-level field to it.
        column: Name under which it is read: that of the top-level field, or its own, parts joined by dots.
        chain: Schema elements of a file that holds nothing else, the root included, ready for a footer.
        max_rep, max_def: Highest repetition and definition level: 0 repetitions means one value per row.
        physical: Parquet's number of its physical type.
        least_bytes: Bytes that one of its values takes at least where it is written out; 0 for booleans.
    """

    index: int
    path: tuple[str, ...]
    column: str
    chain: bytes
    max_rep: int
    max_def: int
    physical: int
    least_bytes: int

    @cached_property
    def named(self) -> bytes:
        """Its path as a column chunk names it."""
        return thrift.write_list(thrift.BINARY, [name.encode() for name in self.path])

    @property
    def depth(self) -> int:
        """Tell how many structs there are above it, where it is read as a field of them; else 0."""
        return 0 if self.column == self.path[0] else len(self.path) - 1


@dataclass(frozen=True)
class Column:
    """A top-level field, or a field of a struct by itself.

    Attributes:
        elements: Its schema elements, as `thrift.read_list` gives them; the first has its name.
    """

    name: str
    leaves: tuple[Leaf, ...]
    elements: tuple[Fields, ...]

    @property
    def is_single(self) -> bool:
        """Tell whether it is one leaf, which is not within a list."""
        return len(self.leaves[0].path) == 1 + self.leaves[0].depth


@lru_cache(maxsize=64)
def columns_of(schema: bytes) -> tuple[Column, ...]:
    """Top-level fields of a schema, in file order.

    Args:
        schema: The list of schema elements as the footer holds it.

    Raises:
        ValueError: The bytes are no schema.
    """
    (_, elements), _ = thrift.read_list(schema)
    if not elements:
        raise ValueError("it has no elements")
    walk = iter(elements[1:])
    columns: list[Column] = []
    n_leaves, end = 0, len(elements)
    for _ in range(_children(elements[0])):
        begin = end - length_hint(walk)
        leaves = tuple(replace(leaf, index=n_leaves + i) for i, leaf in enumerate(_leaves(walk, (), 0)))
        n_leaves += len(leaves)
        columns.append(Column(leaves[0].path[0], leaves, tuple(elements[begin : end - length_hint(walk)])))
    if length_hint(walk):
        raise ValueError("it has elements that belong to no column")
    return tuple(columns)


@lru_cache(maxsize=64)
def named_columns(schema: bytes) -> dict[str, Column]:
    """Columns by name, and fields of structs as columns of their own (`streameval.struct_fields`)."""
    columns = columns_of(schema)
    by_name = {column.name: column for column in columns}
    for leaf in (leaf for column in columns for leaf in column.leaves if len(leaf.path) > 1 and not leaf.max_rep):
        name = ".".join(leaf.path)
        if name not in by_name:
            (_, (_, first, *rest)), _ = thrift.read_list(leaf.chain)
            elements = ({**first, _NAME: (thrift.BINARY, name.encode())}, *rest)
            by_name[name] = Column(name, (replace(leaf, column=name),), elements)
    return by_name


@dataclass(frozen=True, eq=False)
class SchemaLeaves:
    """All leaf columns of a schema.

    Attributes:
        names: Dotted paths.
        single: Leaves that are a column, or a field of structs, by its name.
        index: int64 array, shape (leaves,): 0, 1, ….
        levels (int64 array, shape (leaves, 3)): Physical type, highest repetition and definition level.
    """

    names: tuple[str, ...]
    single: Mapping[str | None, int]
    index: Int64Array
    levels: Int64Array


@lru_cache(maxsize=64)
def leaves_of_schema(schema: bytes) -> SchemaLeaves:
    """All leaf columns; see `columns_of`."""
    leaves = [leaf for column in columns_of(schema) for leaf in column.leaves]
    levels = [(leaf.physical, leaf.max_rep, leaf.max_def) for leaf in leaves]
    return SchemaLeaves(
        tuple(".".join(leaf.path) for leaf in leaves),
        {name: of.leaves[0].index for name, of in named_columns(schema).items() if of.is_single},
        np.arange(len(leaves), dtype=np.int64),
        np.array(levels, dtype=np.int64).reshape(-1, 3),
    )


@lru_cache(maxsize=64)
def schema_for(schema: bytes, names: Sequence[str]) -> bytes:
    """Write a schema of some columns of another (`named_columns`), ready for a footer."""
    columns = [named_columns(schema)[name] for name in names]
    root: Fields = {_NAME: (thrift.BINARY, b"schema"), _NUM_CHILDREN: (thrift.I32, len(columns))}
    return thrift.write_list(thrift.STRUCT, [root, *(element for column in columns for element in column.elements)])


def _children(element: Fields) -> int:
    return int(element.get(_NUM_CHILDREN, (thrift.I32, 0))[1])


def _leaves(walk: Iterator[Fields], above: tuple[Fields, ...], depth: int) -> Iterator[Leaf]:
    element = next(walk, None)
    if element is None or depth > 100:
        raise ValueError("the schema ends too early or nests too deeply")
    chain = (*above, element)
    if not _children(element):
        if _TYPE not in element:
            raise ValueError("a column has no physical type, or is a group without columns, such as an empty struct")
        yield _leaf(chain)
        return
    for _ in range(_children(element)):
        yield from _leaves(walk, chain, depth + 1)


def _leaf(chain: tuple[Fields, ...]) -> Leaf:
    names, physical = [element[_NAME][1] for element in chain], chain[-1][_TYPE][1]
    length = chain[-1].get(_LENGTH, (thrift.I32, 0))[1]
    if not all(isinstance(name, bytes) for name in names) or not all(isinstance(at, int) for at in (physical, length)):
        raise ValueError("its elements are not of the format")
    _refuse_two_types(chain[-1])
    kinds = [element.get(_REPETITION, (thrift.I32, None))[1] for element in chain]
    if None in kinds:
        raise ValueError("it does not say whether a column may be null")
    if not set(kinds) <= {_REQUIRED, _OPTIONAL, _REPEATED}:
        raise ValueError(f"a column has an unknown repetition type ({max(kinds)})")
    root: Fields = {_NAME: (thrift.BINARY, b"schema"), _NUM_CHILDREN: (thrift.I32, 1)}
    elements = [root, *(_only_child(element) for element in chain[:-1]), chain[-1]]
    return Leaf(
        index=0,
        path=tuple(name.decode() for name in names),
        column=names[0].decode(),
        chain=thrift.write_list(thrift.STRUCT, elements),
        max_rep=kinds.count(_REPEATED),
        max_def=kinds.count(_REPEATED) + kinds.count(_OPTIONAL),
        physical=physical,
        least_bytes=length if physical == FIXED_LEN_BYTE_ARRAY else _LEAST_BYTES.get(physical, 0),
    )


def _refuse_two_types(element: Fields) -> None:
    """Refuse a column that is of one type by its converted type, and of another by its logical type."""
    converted = element.get(_CONVERTED, (thrift.I32, None))[1]
    logical = element.get(_LOGICAL, (thrift.STRUCT, {}))[1]
    if element.get(_PRECISION, (thrift.I32, 0))[1] and _DECIMAL not in (converted, *logical):
        raise ValueError("a column has a precision, but is not decimal")
    if _LOGICAL in element and not logical:
        raise ValueError("a column has an unknown logical type")
    if converted is None or not logical:
        return
    ((number, (_, parameters)), *_) = logical.items()
    if converted != _converted_type(number, parameters):
        raise ValueError(f"a column has converted type {converted}, which is not that of its logical type")
    if number == _DECIMAL:
        stated = [
            [of.get(at, (thrift.I32, 0))[1] for at in ats]
            for of, ats in ((parameters, (1, 2)), (element, (_SCALE, _PRECISION)))
        ]
        if stated[0] != stated[1]:
            raise ValueError("a decimal column has two scales or precisions")


def _converted_type(number: int, parameters: Fields) -> int | None:
    """The converted type that a logical type has; None where it has none."""
    if number == _INTEGER:
        bits, signed = (parameters.get(at, (None, None))[1] for at in (1, 2))
        return _FIRST_INTEGER[bool(signed)] + int(bits or 0).bit_length() - 4
    if number in _TIMES:
        unit = next(iter(parameters.get(2, (thrift.STRUCT, {}))[1]), 0)
        return _TIMES[number] + unit - 1
    return _CONVERTED_OF.get(number)


def _only_child(group: Fields) -> Fields:
    """Write a group with one child; a map of one child would not be read, so it becomes a list of that child."""
    changed = {**group, _NUM_CHILDREN: (thrift.I32, 1)}
    if group.get(_CONVERTED, (0, None))[1] not in _MAPS and _LOGICAL_MAP not in group.get(_LOGICAL, (0, {}))[1]:
        return changed
    changed.pop(_CONVERTED, None)
    changed.pop(_LOGICAL, None)
    if group[_REPETITION][1] != _REPEATED:  # old writers mark the repeated group inside of the map as well
        changed[_CONVERTED] = (thrift.I32, _CONVERTED_LIST)
        changed[_LOGICAL] = (thrift.STRUCT, {_LOGICAL_LIST: (thrift.STRUCT, {})})
    return changed


def wide_type(kind: pa.DataType) -> pa.DataType:
    """Type that items of a column are returned in: no dictionaries, and offsets that 2 GB of text do not overflow.

    What may be null is no part of a type here: files of one ranking may differ in it.

    >>> wide_type(pa.list_(pa.dictionary(pa.int32(), pa.string())))
    LargeListType(large_list<element: large_string>)
    """
    if pa.types.is_dictionary(kind):
        return wide_type(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, wide_type(f.type)) for f in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(pa.field("element", wide_type(kind.value_type)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", wide_type(kind.value_type)), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(wide_type(kind.key_type), wide_type(kind.item_type))
    return kind


def leaves_of(values: pa.Array) -> Iterator[pa.Array]:
    """Leaves of an array, in the order of its schema; values under the nulls of lists are left out."""
    kind = values.type
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from leaves_of(values.field(i))
    elif pa.types.is_map(kind):
        yield from leaves_of(values.keys)
        yield from leaves_of(values.items)
    elif pa.types.is_nested(kind):
        yield from leaves_of(values.flatten())
    elif isinstance(values, pa.ExtensionArray):
        yield from leaves_of(values.storage)
    else:
        yield values
