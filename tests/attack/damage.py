"""Ways to damage a file: of bytes, and of fields of Parquet's own structures that then lie.

Every way takes a random generator and says what it did, so that a seed gives the same damage again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attack import layout
from attack.layout import Parquet
from attack.thrift import BINARY, BYTE, DOUBLE, FALSE, INTEGERS, TRUE, Field, Items, Struct, encode, leaves

_TRIES = 100
# numbers that readers trip over
GIANT = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, -1, -(2**31), -(2**63))


@dataclass(frozen=True)
class Damage:
    """What was done to a file.

    Attributes
    ----------
    way : str
        How: "bit", "bytes", "cut off", "footer field", ...
    site : str
        What the bytes or the field were for.
    said : str
        The place and the change, in words.
    splices : list of (first byte, bytes removed, bytes put there)
        The change itself, from the end of the file to its beginning.
    """

    way: str
    site: str
    said: str
    splices: tuple[tuple[int, int, bytes], ...]

    def apply(self, raw: bytes) -> bytes:
        for at, gone, new in self.splices:
            raw = raw[:at] + new + raw[at + gone :]
        return raw


def flip_bit(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    bit = rng.randrange(8)
    return Damage("bit", site, f"bit {bit} of byte {at}", ((at, 1, bytes([raw[at] ^ 1 << bit])),))


def overwrite(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    size = min(rng.choice((1, 2, 4, 8, 16, 64)), len(raw) - at)
    new = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
    return Damage("bytes", site, f"{size} bytes at {at}", ((at, size, new),))


def cut_off(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    return Damage("cut off", site, f"ends at byte {at}", ((at, len(raw) - at, b""),))


def take_out(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    size = min(rng.choice((1, 3, 8, 100)), len(raw) - at)
    return Damage("taken out", site, f"{size} bytes from {at} on are gone", ((at, size, b""),))


def put_in(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    new = rng.randbytes(rng.choice((1, 3, 8)))
    return Damage("put in", site, f"{len(new)} bytes more at {at}", ((at, 0, new),))


def repeat(rng: random.Random, raw: bytes, at: int, site: str) -> Damage:
    """A stretch of the file once more elsewhere, as a lost write leaves it."""
    size, source = rng.choice((8, 64, 512)), rng.randrange(len(raw))
    new = raw[source : source + size][: len(raw) - at]
    return Damage("stale bytes", site, f"{len(new)} bytes of {source} at {at}", ((at, len(new), new),))


BYTES: tuple[Callable[[random.Random, bytes, int, str], Damage], ...] = (
    flip_bit, flip_bit, flip_bit, flip_bit, overwrite, overwrite, cut_off, take_out, put_in, repeat,
)  # fmt: skip


def of_bytes(rng: random.Random, file: Parquet) -> Damage:
    """Damage bytes; every kind of region is as likely as any other, however small it is."""
    regions = layout.regions(file)
    kind = rng.choice(sorted({kind for _, _, kind in regions}))
    first, stop, _ = rng.choice([one for one in regions if one[2] == kind])
    return rng.choice(BYTES)(rng, file.raw, rng.randrange(first, stop), kind)


def swap_pages(rng: random.Random, file: Parquet) -> Damage:
    """Two pages change places, headers included; of one column where that has two."""
    pages = [(chunk.path, page) for chunk in file.chunks for page in chunk.pages]
    path, one = rng.choice(pages)
    same = [p for q, p in pages if q == path and p.at != one.at and p.end - p.at == one.end - one.at]
    other = rng.choice(same or [p for _, p in pages if p.at != one.at] or [one])
    low, high = sorted((one, other), key=lambda page: page.at)
    a, b = file.raw[low.at : low.end], file.raw[high.at : high.end]
    said = f"pages at {low.at} and {high.at} have changed places"
    return Damage("swapped pages", "page", said, ((high.at, len(b), a), (low.at, len(a), b)))


def of_field(rng: random.Random, file: Parquet) -> Damage:
    """Change one field of the footer, of a page header or of an index, and encode it anew."""
    which = rng.choice(("footer", "footer", "footer", "page header", "page header", "index"))
    if which == "footer":
        return _of_footer(rng, file)
    if which == "index" and (found := _of_index(rng, file)) is not None:
        return found
    return _of_page_header(rng, file)


def _of_footer(rng: random.Random, file: Parquet) -> Damage:
    footer = file.footer.copy()
    name, said = _lie(rng, footer, "footer")
    return _new_footer("footer field", name, said, file, footer)


def _new_footer(way: str, name: str, said: str, file: Parquet, footer: Struct, before: bytes = b"") -> Damage:
    new = before + layout.with_footer(b"", 0, footer)
    return Damage(way, name, said, ((file.footer_at, len(file.raw) - file.footer_at, new),))


def _of_index(rng: random.Random, file: Parquet) -> Damage | None:
    """The changed index lies before the footer, which points to it."""
    places = [
        (chunk, kind, at, length)
        for chunk in file.chunks
        for kind, at, length in (
            ("offset index", layout.OFFSET_AT, layout.OFFSET_LENGTH),
            ("column index", layout.COLUMN_AT, layout.COLUMN_LENGTH),
        )
        if file.index(chunk, at, length)
    ]
    if not places:
        return None
    chunk, kind, at, length = rng.choice(places)
    found = file.index(chunk, at, length)
    assert found is not None
    name, said = _lie(rng, found[1], kind)
    new, footer = encode(found[1]), file.footer.copy()
    entry = footer.get(layout.GROUPS).values[chunk.group].get(layout.COLUMNS).values[chunk.column]
    entry.find(at).value, entry.find(length).value = file.footer_at, len(new)
    said = f"{said} (row group {chunk.group}, column {chunk.column})"
    return _new_footer(f"{kind} field", name, said, file, footer, new)


def _of_page_header(rng: random.Random, file: Parquet) -> Damage:
    """In its place if it is as long as before; else the whole chunk lies before the footer, which points to it."""
    chunk = rng.choice([chunk for chunk in file.chunks if chunk.pages])
    i = rng.randrange(len(chunk.pages))
    page = chunk.pages[i]
    header = page.header.copy()
    name, said = _lie(rng, header, "page header")
    said = f"{said} (row group {chunk.group}, column {chunk.column}, page {i})"
    new, old = encode(header), page.body - page.at
    if len(new) == old:
        return Damage("page header field", name, said, ((page.at, old, new),))
    first, delta = chunk.pages[0].at, len(new) - old
    body = file.raw[first : page.at] + new + file.raw[page.body : chunk.pages[-1].end]
    footer = file.footer.copy()
    entry = footer.get(layout.GROUPS).values[chunk.group].get(layout.COLUMNS).values[chunk.column]
    shift = file.footer_at - first
    for place in (layout.DATA_AT, layout.DICTIONARY_AT):
        if (at := entry.get(layout.META).find(place)) is not None:
            at.value += shift + (delta if at.value > page.at else 0)
    entry.get(layout.META).find(layout.COMPRESSED).value += delta
    index = file.index(chunk, layout.OFFSET_AT, layout.OFFSET_LENGTH)
    if index is not None:
        for one in index[1].get(1).values:
            size = delta if one.get(1) == page.at else 0
            one.find(2).value += size
            one.find(1).value += shift + (delta if one.get(1) > page.at else 0)
        entry.find(layout.OFFSET_AT).value = file.footer_at + len(body)
        entry.find(layout.OFFSET_LENGTH).value = len(encode(index[1]))
        body += encode(index[1])
    return _new_footer("page header field", name, said, file, footer, body)


def _lie(rng: random.Random, struct: Struct, root: str) -> tuple[str, str]:
    """Change one field below a struct; fields of one name are together as likely as those of another."""
    places: dict[str, list[tuple[tuple[Any, ...], Field]]] = {}
    for path, one in leaves(struct):
        places.setdefault(layout.name_of(root, path), []).append((path, one))
    name = rng.choice(sorted(places))
    path, chosen = rng.choice(places[name])
    where = ".".join(f"[{step[1]}]" if isinstance(step, tuple) else str(step) for step in path)
    return name, f"field {where} ({name}): {_change(rng, chosen, _owner(struct, path))}"


def _owner(struct: Struct, path: tuple[Any, ...]) -> Struct:
    value: Any = struct
    for step in path[:-1]:
        value = value.values[step[1]] if isinstance(step, tuple) else value.get(step)
    return value


def _change(rng: random.Random, chosen: Field, owner: Struct) -> str:
    if rng.random() < 0.08:
        owner.fields.remove(chosen)
        return "gone"
    before = chosen.value
    if chosen.kind in (TRUE, FALSE):
        chosen.value = not before
    elif chosen.kind in (*INTEGERS, BYTE):
        near = (0, 1, before + 1, before - 1, before + rng.randrange(2, 100), before * 2, before // 2)
        chosen.value = rng.choice((*near, *near, *GIANT))
    elif chosen.kind == DOUBLE:
        chosen.value = rng.randbytes(8)
    elif chosen.kind == BINARY:
        chosen.value = _other_bytes(rng, before)
    elif isinstance(before, Items):
        return _change_items(rng, before)
    else:
        return f"{_shuffle(rng, before)} of a struct"
    said, now = (repr(x)[:40] for x in (before, chosen.value))
    return f"{now} for {said}"


def _other_bytes(rng: random.Random, before: bytes) -> bytes:
    at = rng.randrange(len(before)) if before else 0
    flipped = before[:at] + bytes([before[at] ^ 1 << rng.randrange(8)]) + before[at + 1 :] if before else b"\0"
    return rng.choice((flipped, flipped, b"", before[:-1], before + b"\xff", rng.randbytes(len(before)), before * 50))


def _change_items(rng: random.Random, items: Items) -> str:
    if not items.values:
        return "still empty"
    at = rng.randrange(len(items.values))
    way = rng.choice(("dropped", "doubled", "exchanged", "other"))
    if way == "dropped":
        del items.values[at]
    elif way == "doubled":
        items.values.insert(at, items.values[at])
    elif way == "exchanged":
        other = rng.randrange(len(items.values))
        items.values[at], items.values[other] = items.values[other], items.values[at]
        way = f"exchanged with {other}"
    elif isinstance(items.values[at], bytes):
        items.values[at] = _other_bytes(rng, items.values[at])
    elif isinstance(items.values[at], int):
        items.values[at] = int(rng.choice((items.values[at] + 1, 0, 1, 2, 7, 2**31 - 1, -1)))
    return f"item {at} {way}"


def _shuffle(rng: random.Random, struct: Struct) -> str:
    if not struct.fields:
        struct.put(1, 5, 1)
        return "a field 1 more"
    struct.fields.remove(gone := rng.choice(struct.fields))
    return f"field {gone.number} gone"


def damage_parquet(rng: random.Random, file: Parquet) -> Damage:
    """One damage of a Parquet file, of any way."""
    way = rng.random()
    if way < 0.05:
        return swap_pages(rng, file)
    return of_field(rng, file) if way < 0.5 else of_bytes(rng, file)


def reduce(damage: Damage, raw: bytes, still: Callable[[Damage], bool]) -> Damage:
    """The smallest part of a damage of equally many bytes that still does it: halves, then bytes, then bits.

    What is the smallest after a hundred tries is small enough.
    """
    tries = iter(range(_TRIES))

    def still_so(smaller: Damage) -> bool:
        return next(tries, None) is not None and still(smaller)

    if any(gone != len(new) for _, gone, new in damage.splices):
        return damage
    changed = [(at + i, b) for at, _, new in damage.splices for i, b in enumerate(new) if raw[at + i] != b]
    size = len(changed) // 2
    while size >= 1:
        for first in range(0, len(changed), size):
            fewer = changed[:first] + changed[first + size :]
            if fewer and still_so(_of_changed(damage, fewer)):
                changed = fewer
                break
        else:
            size //= 2
        size = min(size, len(changed) // 2)
    for i, (at, byte) in enumerate(changed[:4]):
        for bit in range(8):
            flipped = raw[at] ^ 1 << bit
            fewer = [*changed[:i], (at, flipped), *changed[i + 1 :]]
            if byte != flipped and still_so(_of_changed(damage, fewer)):
                changed = fewer
                break
    return _of_changed(damage, changed)


def _of_changed(damage: Damage, changed: list[tuple[int, int]]) -> Damage:
    said = ", ".join(f"byte {at} is {byte}" for at, byte in changed[:8]) + (" …" if len(changed) > 8 else "")
    return Damage(damage.way, damage.site, said, tuple((at, 1, bytes([byte])) for at, byte in changed))
