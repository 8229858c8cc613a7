"""Put the leaves of a nested column together again: each was decoded as a column with no sibling."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streameval.parquet.chunks import UnfitError


def leaf_count(kind: pa.DataType) -> int:
    """How many leaf columns a type is stored in."""
    if isinstance(kind, pa.BaseExtensionType):
        return leaf_count(kind.storage_type)
    if pa.types.is_struct(kind):
        return sum(leaf_count(field.type) for field in kind)
    if pa.types.is_map(kind):
        return leaf_count(kind.key_type) + leaf_count(kind.item_type)
    return leaf_count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def assemble(kind: pa.DataType, leaves: list[pa.Array]) -> pa.Array:
    """Join leaves.

    Args:
        kind: Of the whole column, wide (`wide_type`).
        leaves: Of equal length, of wide types, one per leaf in file order: structs of one field and lists of these.

    Returns:
        pyarrow.Array: Of `kind`.

    Raises:
        UnfitError: The leaves do not make this type.
    """
    if leaf_count(kind) != len(leaves):
        raise UnfitError(f"{len(leaves)} leaf columns do not make a {kind}")
    try:
        joined = _join(kind, leaves) if len(leaves) > 1 else leaves[0]
        joined = joined if joined.type == kind else joined.cast(kind)
        joined.validate()
    except (pa.ArrowException, IndexError, TypeError, ValueError) as error:
        raise UnfitError(f"its leaf columns do not make a {kind}") from error
    return joined


def _join(kind: pa.DataType, leaves: list[pa.Array]) -> pa.Array:
    if len(leaves) == 1:
        return leaves[0]
    first = leaves[0]
    _same_shape(leaves)
    if pa.types.is_struct(kind):
        children = _fields(kind, [leaf.field(0) for leaf in leaves])
        # an explicit length: children of an empty struct column have none
        return pa.StructArray.from_arrays(children, names=[f.name for f in kind], mask=first.is_null())
    offsets, inner = first.offsets, [leaf.flatten() for leaf in leaves]
    nulls = first.is_null() if first.null_count else None
    if pa.types.is_map(kind):
        cut = leaf_count(kind.key_type)
        keys, items = _join(kind.key_type, inner[:cut]), _join(kind.item_type, inner[cut:])
        return pa.MapArray.from_arrays(offsets.cast(pa.int32()), keys, items, mask=nulls)
    if _is_list(kind):
        return pa.LargeListArray.from_arrays(offsets, _join(kind.value_type, inner), mask=nulls)
    raise UnfitError(f"{len(leaves)} leaf columns do not make a {kind}")


def _fields(kind: pa.StructType, leaves: list[pa.Array]) -> list[pa.Array]:
    children, begin = [], 0
    for field in kind:
        end = begin + leaf_count(field.type)
        children.append(_join(field.type, leaves[begin:end]))
        begin = end
    return children


def _same_shape(leaves: list[pa.Array]) -> None:
    """Siblings are null together, and their lists are equally long: else one of them was read from wrong rows."""
    first = leaves[0]
    for leaf in leaves[1:]:
        same = len(leaf) == len(first) and leaf.is_null().equals(first.is_null())
        if same and pa.types.is_large_list(first.type):
            same = np.array_equal(leaf.offsets.to_numpy(), first.offsets.to_numpy())
        if not same:
            raise UnfitError("its leaf columns have different shapes")
