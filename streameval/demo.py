"""The whole journey on scikit-learn's bundled digits: do both pictures of a pair show the same digit?"""

from __future__ import annotations

import importlib.util
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from streameval import atomic
from streameval.curve import Curve
from streameval.errors import InputError
from streameval.verbs.evaluate import evaluate
from streameval.verbs.plan import plan
from streameval.verbs.select import select

_FILES = 16
_MARK = ".streameval-demo"
_MADE = {_MARK, "ranking", "study", "truth.parquet", "tasks.csv"}
_INK = np.frombuffer(b" .:-=+*#%@", dtype=np.uint8)


def run(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Make the ranking, plan, select and evaluate at the defaults, and compare with the truth.

    Parameters
    ----------
    folder : Path
        Gets `ranking/`, `truth.parquet` and `study/`; a ranking or study left there by an earlier demo is replaced.

    Returns
    -------
    result : dict
        JSON-ready.
    lines : list of str
        What a newcomer reads.
    """
    started = time.monotonic()
    atomic.refuse_address(folder)
    _check_extra()
    _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
    truth = write_ranking(folder)
    study = folder / "study"
    planned = plan(str(folder / "ranking"), study)  # in stored order, to which the truth belongs
    select(study, export=folder / "tasks.csv")
    found = evaluate(study, labels=folder / "truth.parquet")
    cutoffs = [10_000, 100_000, truth.size]
    rows = _compare(found.curve, np.cumsum(truth), cutoffs)
    report = study / "report.html"
    result = {
        "n_items": int(truth.size),
        "labels": planned.table.num_rows,
        "seconds": round(time.monotonic() - started, 1),
        "coverage": found.curve.claim.coverage,
        "precision_at": rows,
        "report": str(report),
    }
    lines = [
        f"A model ranked {truth.size:,} pairs of handwritten digits by similarity: do both show the same digit?",
        f"streameval labelled {planned.table.num_rows:,} of them ({planned.table.num_rows / truth.size:.1%}).",
        "",
        "  first k        precision, estimated (from .. to)      truth",
        *(
            f"  {r['rank']:>9,}    {r['precision']:.4f}  ({r['lower']:.4f} .. {r['upper']:.4f})    {r['truth']:.4f}"
            for r in rows
        ),
        "",
        *found.curve.findings,
        "",
        f"Report: {report}",
        f"Tasks as people would get them: {folder / 'tasks.csv'}",
    ]
    return result, lines


def write_ranking(folder: Path) -> npt.NDArray[np.int8]:
    """Write all pairs by falling cosine similarity as `ranking/part-00.parquet` …, and `truth.parquet` beside them.

    Returns
    -------
    int8 array, shape (1613706,)
        1 where both show the same digit, in rank order.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    vectors = digits.data.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    left, right = (side.astype(np.int16) for side in np.triu_indices(len(vectors), 1))
    similarity = (vectors @ vectors.T)[left, right]
    order = np.argsort(-similarity, kind="stable")
    left, right, similarity = left[order], right[order], similarity[order]
    truth: npt.NDArray[np.int8] = (digits.target[left] == digits.target[right]).astype(np.int8)
    art = _INK[(digits.images * (len(_INK) - 1) / 16).round().astype(np.int64)]
    (folder / "ranking").mkdir(parents=True, exist_ok=True)
    for index, rows in enumerate(np.array_split(np.arange(order.size), _FILES)):
        table = pa.table(
            {
                "left": left[rows],
                "right": right[rows],
                "similarity": similarity[rows],
                "picture": _pictures(art, left[rows], right[rows]),
            }
        )
        path = folder / "ranking" / f"part-{index:02d}.parquet"
        pq.write_table(table, path, row_group_size=32_768, compression="zstd", write_page_index=True)
    ranks = np.arange(1, truth.size + 1, dtype=np.int64)
    pq.write_table(pa.table({"rank": ranks, "label": truth}), folder / "truth.parquet")
    return truth


def _pictures(art: npt.NDArray[np.uint8], left: npt.NDArray[np.int16], right: npt.NDArray[np.int16]) -> pa.Array:
    """Draw both digits of each pair side by side, eight lines of text each."""
    rows, side = left.size, art.shape[2]
    canvas = np.full((rows, art.shape[1], 2 * side + 4), ord(" "), dtype=np.uint8)
    canvas[:, :, :side] = art[left]
    canvas[:, :, side + 3 : -1] = art[right]
    canvas[:, :, -1] = ord("\n")
    length = canvas.shape[1] * canvas.shape[2]
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(canvas))


def _compare(curve: Curve, yields: npt.NDArray[np.int64], cutoffs: list[int]) -> list[dict[str, Any]]:
    found = curve.at(cutoffs).to_pylist()
    return [
        {
            "rank": row["rank"],
            "lower": row["precision_lower"],
            "precision": row["precision"],
            "upper": row["precision_upper"],
            "truth": float(yields[row["rank"] - 1] / row["rank"]),
        }
        for row in found
    ]


def _check_extra() -> None:
    """Refuse before anything is written."""
    if importlib.util.find_spec("sklearn") is None:
        raise InputError("the demo needs scikit-learn", "pip install 'streameval[demo]'")


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
