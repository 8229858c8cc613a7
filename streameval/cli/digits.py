"""The whole journey on scikit-learn's bundled digits: do both pictures of a pair show the same digit?"""

from __future__ import annotations

import importlib.util
import shutil
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.curve import Curve
from streameval.errors import InputError, installed_by
from streameval.stores import atomic
from streameval.study import Study
from streameval.typing import Int8Array, Int64Array
from streameval.verbs.evaluate import evaluate
from streameval.verbs.plan import plan
from streameval.verbs.select import select

_FILES = 16
_MARK = ".streameval-demo"
_MADE = {_MARK, "ranking", "study", "study-paula", "truth.parquet", "tasks.html"}
_STUDIES = {"loguniform": "study", "paula": "study-paula"}  # ours, the default, and the paper's
_CUTOFFS = (10_000, 100_000)
_SEED = 0  # the same for everybody: the list is always the same, and was made before anything was drawn from it
_QUESTION = "Do both show the same digit?"
_SIDES = ("left_picture", "right_picture")


def run(folder: Path, tell: Callable[[str], None]) -> tuple[dict[str, Any], list[str]]:
    """Make the ranking; plan, select and evaluate by our method and by the paper's; compare both with the truth.

    Args:
        folder: Gets `ranking/`, `truth.parquet`, `study/` and `study-paula/`; what an earlier demo left there is
            replaced.
        tell: Takes what is done next, a line each.

    Returns:
        result: JSON-ready.
        lines: What a newcomer reads.
    """
    started = time.monotonic()
    atomic.refuse_address(folder)
    _check_extra()
    _clear(folder)
    with _removed_if_it_fails(folder):
        tell(f"Ranking the pairs of 1,797 handwritten digits by their similarity, into {folder / 'ranking'} …")
        truth = write_ranking(folder)
        cutoffs, yields = [*_CUTOFFS, truth.size], np.cumsum(truth, dtype=np.int64)
        methods = []
        for method in _STUDIES:
            tell(f"Planning labels by {method}, fetching the items, and evaluating, in {folder / _STUDIES[method]} …")
            methods.append(_run_method(folder, method, yields, cutoffs))
    result = {
        "n_items": int(truth.size),
        "seconds": round(time.monotonic() - started, 1),
        "methods": methods,
    }
    lines = [
        f"A model ranked {truth.size:,} pairs of handwritten digits by similarity. {_QUESTION}",
        "Precision of its first k pairs, by the labels of few, in two ways; the demo knows the truth.",
        "",
        *_table(methods),
        "",
        *(f"{method['method']}: {sentence}" for method in methods for sentence in method["findings"]),
        "",
        *(f"Report of {method['method']}: {method['report']}" for method in methods),
        f"Tasks as people would get them: {folder / 'tasks.html'}",
    ]
    return result, lines


def _run_method(folder: Path, method: str, yields: Int64Array, cutoffs: list[int]) -> dict[str, Any]:
    """Plan, select and evaluate by a method at its defaults, as JSON-ready facts."""
    study = folder / _STUDIES[method]
    planned = plan(str(folder / "ranking"), study, method=method, seed=_SEED)  # in stored order, as the truth is
    if study.name == "study":
        select(study, columns=_SIDES, export=folder / "tasks.html", ask=_QUESTION, image=_SIDES)
    else:
        select(study, columns=_SIDES)
    evaluate(study, labels=folder / "truth.parquet")
    curve = Study(study).evaluation().curve
    return {
        "method": method,
        "labels": planned.table.num_rows,
        "coverage": curve.claim.coverage,
        "confidence": curve.claim.confidence,
        "precision_at": _compare(curve, yields, cutoffs),
        "findings": list(curve.findings),
        "report": str(study / "report.html"),
    }


def _table(methods: list[dict[str, Any]]) -> list[str]:
    """Labels, what the bounds promise, and bounds at every cutoff, a column for each method."""
    heads = ["ours (loguniform)", "the paper's (PAULA)"]
    rows = [
        ["", *heads, "truth"],
        ["labels", *(f"{method['labels']:,}" for method in methods), ""],
        ["bounds", *(_promise(method) for method in methods), ""],
    ]
    for at in zip(*(method["precision_at"] for method in methods), strict=True):
        bounds = [f"{r['lower']:.4f} .. {r['upper']:.4f}{'' if _inside(r) else ' (missed)'}" for r in at]
        rows.append([f"k = {at[0]['rank']:,}", *bounds, f"{at[0]['truth']:.4f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = (zip(row, widths, strict=True) for row in rows)
    return ["  " + "   ".join(cell.rjust(width) for cell, width in row).rstrip() for row in cells]


def _promise(method: dict[str, Any]) -> str:
    if method["coverage"] == "simultaneous":
        return f"hold with probability {method['confidence']:g}"
    return "hold if its assumption does" if method["coverage"] == "conditional" else "promise nothing"


def _inside(row: dict[str, Any]) -> bool:
    return bool(row["lower"] <= row["truth"] <= row["upper"])


def write_ranking(folder: Path) -> Int8Array:
    """Write all pairs by falling cosine similarity as `ranking/part-00.parquet` …, and `truth.parquet` beside them."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    left, right = (side.astype(np.int16) for side in np.triu_indices(len(digits.data), 1))
    similarity = _cosines(digits.data)[left, right]
    order = np.argsort(-similarity, kind="stable")
    left, right, similarity = left[order], right[order], similarity[order]
    truth: Int8Array = (digits.target[left] == digits.target[right]).astype(np.int8)
    pictures = pa.array([_png(image) for image in digits.images], pa.binary())
    (folder / "ranking").mkdir(parents=True, exist_ok=True)
    for index, rows in enumerate(np.array_split(np.arange(order.size), _FILES)):
        table = pa.table(
            {
                "left": left[rows],
                "right": right[rows],
                "similarity": similarity[rows],
                "left_picture": pa.DictionaryArray.from_arrays(left[rows], pictures),
                "right_picture": pa.DictionaryArray.from_arrays(right[rows], pictures),
            }
        )
        path = folder / "ranking" / f"part-{index:02d}.parquet"
        pq.write_table(table, path, row_group_size=32_768, compression="zstd", write_page_index=True)
    ranks = np.arange(1, truth.size + 1, dtype=np.int64)
    pq.write_table(pa.table({"rank": ranks, "label": truth}), folder / "truth.parquet")
    return truth


def _cosines(shades: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Cosine similarity of all pairs of rows of small whole numbers, the same on every machine.

    Products of whole numbers are exact in any order of summation, and one division and one square root are rounded
    alike everywhere; with rows divided by their norms, what a library adds up first would decide who is first.
    """
    products = shades @ shades.T
    squares = np.diag(products)
    return np.sqrt(products * products / np.outer(squares, squares)).astype(np.float32)


def _png(image: npt.NDArray[np.float64]) -> bytes:
    """A digit as a PNG of 64 by 64 pixels in 16 shades, dark on white."""
    shades = np.kron(15 - np.minimum(image, 15).astype(np.uint8), np.ones((8, 8), np.uint8))
    rows = (shades[:, ::2] << 4 | shades[:, 1::2]).astype(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", *shades.shape, 4, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
              for kind, body in parts)  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _compare(curve: Curve, yields: Int64Array, cutoffs: list[int]) -> list[dict[str, Any]]:
    bounds = curve.at(cutoffs).to_pylist()
    return [
        {
            "rank": row["rank"],
            "lower": row["precision_lower"],
            "precision": row["precision"],
            "upper": row["precision_upper"],
            "truth": float(yields[row["rank"] - 1] / row["rank"]),
        }
        for row in bounds
    ]


def _check_extra() -> None:
    """Refuse before anything is written."""
    if importlib.util.find_spec("sklearn") is None:
        raise InputError("the demo needs scikit-learn", installed_by("demo"))


@contextmanager
def _removed_if_it_fails(folder: Path) -> Iterator[None]:
    """Make the demo's folder and mark it; where what follows fails, leave no part of a demo behind."""
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
    try:
        yield
    except BaseException:
        _clear(folder)
        (folder / _MARK).unlink()
        if not there:
            folder.rmdir()
        raise


def _clear(folder: Path) -> None:
    """Remove what an earlier demo made in a folder that it marked as its own; refuse any other with something in it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    names = [path.name for path in folder.iterdir()]
    foreign = [name for name in names if name not in _MADE] if _MARK in names else names
    if foreign:
        raise InputError(f"{folder}: holds other files ({foreign[0]})", "give the demo a folder of its own")
    for name in set(names) & _MADE - {_MARK}:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
