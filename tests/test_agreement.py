"""Agreement against a kept library, and real votes against the label that was made of them."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import stored

import streameval
from streameval.labelling.agreement import agreement, krippendorff_alpha
from streameval.labelling.fates import fold
from streameval.labelling.rules import vote_rule


def library_alpha(item, value, level):
    library = pytest.importorskip("krippendorff", reason="alpha is compared with the package krippendorff")
    table = np.full((item.size, item.max() + 1), np.nan)
    for i, (unit, said) in enumerate(zip(item, value, strict=True)):
        table[i, unit] = said  # alpha does not care who said what
    return library.alpha(reliability_data=table, level_of_measurement=level)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25), st.booleans())
def test_alpha_is_the_librarys(votes, binary):
    item = np.unique(np.array([i for i, _ in votes]), return_inverse=True)[1]
    value = np.array([v > 1 if binary else v for _, v in votes], dtype=np.float64)
    found = krippendorff_alpha(item, value)
    pairable = np.bincount(item)[item] > 1
    if np.unique(value[pairable]).size < 2:
        assert math.isnan(found)
        return
    assert found == pytest.approx(library_alpha(item, value, "nominal" if binary else "interval"), abs=1e-12)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd"), st.integers(0, 1)), min_size=1, max_size=20,
                unique_by=lambda vote: vote[:2]))  # fmt: skip
def test_percent_is_counted_over_pairs(votes):
    rows = [{"rank": i + 1, "annotator": a, "value": v} for i, a, v in votes]
    found = agreement(fold(stored(rows), vote_rule("majority")).table)
    pairs = [(one, other) for one in votes for other in votes if one[0] == other[0] and one[1] != other[1]]
    for name in {a for _, a, _ in votes}:
        own = [p for p in pairs if p[0][1] == name]
        equal = sum(p[0][2] == p[1][2] for p in own)
        assert found.annotators[name]["pairs"] == len(own)
        assert not own or found.annotators[name]["percent"] == pytest.approx(equal / len(own))
    if pairs:
        assert found.percent == pytest.approx(sum(a[2] == b[2] for a, b in pairs) / len(pairs))


def test_repeats_and_controls_are_counted_by_annotator():
    extra = pa.table({"se_task": [10, 11], "rank": pa.array([1, None], pa.int64()), "kind": ["repeat", "control"],
                      "expected": pa.array([None, 1.0], pa.float64())})  # fmt: skip
    rows = [{"rank": 1, "annotator": a, "value": 1, "task": 1, "ours": True} for a in "xy"]
    rows += [{"rank": 1, "annotator": a, "value": v, "task": 10, "ours": True} for a, v in (("x", 1), ("y", 0))]
    rows += [{"annotator": a, "value": v, "task": 11, "ours": True} for a, v in (("x", 0), ("y", 1))]
    found = agreement(fold(stored(rows), vote_rule("majority"), extra=extra).table, extra).annotators
    x, y = found["x"], found["y"]
    assert (x["repeats"], x["repeats_equal"], x["controls"], x["controls_right"]) == (1, 1, 1, 0)
    assert (y["repeats"], y["repeats_equal"], y["controls"], y["controls_right"]) == (1, 0, 1, 1)
    assert x["votes"] == 1


def test_the_five_votes_of_real_items_give_their_label_back(real, tmp_path):
    path = real("ppdb_human")
    table = pq.read_table(path)
    votes = [[float(v) for v in text.strip("[] ").replace(",", " ").split()] for text in
             table.column("judgments").to_pylist()]  # fmt: skip
    each = np.array([len(v) for v in votes])
    exploded = pa.table({
        "rank": np.repeat(np.arange(1, each.size + 1), each),
        "label": np.concatenate(votes),
        "annotator": [f"a{i}" for n in each for i in range(n)],
    })  # fmt: skip
    study = tmp_path / "study"
    streameval.plan(str(path), study, epsilon=1.0, window=table.num_rows, method="paula", seed=0)
    found = streameval.evaluate(study, labels=exploded, vote="mean>=3")
    assert found.label_table.column("label").to_pylist() == table.column("label").to_pylist()
    assert found.summary["account"]["votes"] == each.sum()
    assert found.curve.claim.coverage == "exact"
    item = np.repeat(np.arange(each.size), each)
    some = item < 400  # the library's table has a cell for every vote and item
    value = np.concatenate(votes).astype(np.float64)
    assert krippendorff_alpha(item[some], value[some]) == pytest.approx(
        library_alpha(item[some], value[some], "interval"), abs=1e-12
    )
