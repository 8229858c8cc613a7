"""Metrics of many rankings: against trec_eval, scikit-learn, and every order of tied items written out."""

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import RECORDED
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
    roc_auc_score,
)
from suite_cases import examples, slow

import streameval
from streameval import InputError, RankingOptions
from streameval.calls import write_call
from streameval.per_query.options import PARAMETERS

BY_SCORE = RankingOptions(score="score")
TREC = RECORDED / "trec_eval.json"


def many(table, score="score", **options):
    """Rows by ranking, and the evaluation."""
    options = {"per": ["q"], "options": RankingOptions(score=score), **options}
    of_per = {name: options.pop(name) for name in PARAMETERS if name in options}
    options["per"] = [*options["per"][:-1], *(write_call(name, of_per) for name in options["per"][-1:])]
    found = streameval.exact(table, label="label", **options)
    return {row["q"]: row for row in found.rankings.to_pylist()}, found


def in_one_order(labels, never, cuts, gain):
    """Every metric of labels in their order, by its definition."""
    relevant, negatives = sum(one > 0 for one in labels) + len(never), sum(one == 0 for one in labels)
    ideal = sorted([*labels, *never], reverse=True)
    positive = [at for at, one in enumerate(labels, 1) if one > 0]
    precisions = [sum(other <= at for other in positive) / at for at in positive]
    before = [at - 1 - i for i, at in enumerate(positive)]

    def dcg(some):
        return sum(gain(one) / math.log2(at + 1) for at, one in enumerate(some, 1))

    def over(value, below):
        return value / below if below else math.nan

    bpref = sum(1 - min(b, relevant) / min(negatives, relevant) if b else 1 for b in before)
    lost = sum(before) + len(never) * negatives
    found = {
        "average_precision": over(sum(precisions), relevant),
        "reciprocal_rank": 1 / positive[0] if positive else 0.0,
        "ndcg": over(dcg(labels), dcg(ideal)),
        "r_precision": over(sum(at <= relevant for at in positive), relevant),
        "bpref": over(bpref, relevant),
        "roc_auc": 1 - over(lost, relevant * negatives),
    }
    for k in cuts:
        top = [at for at in positive if at <= k]
        found |= {
            f"average_precision_at_{k}": over(sum(precisions[: len(top)]), relevant),
            f"precision_at_{k}": len(top) / k,
            f"recall_at_{k}": over(len(top), relevant),
            f"reciprocal_rank_at_{k}": 1 / top[0] if top else 0.0,
            f"ndcg_at_{k}": over(dcg(labels[:k]), dcg(ideal[:k])),
            f"success_at_{k}": float(bool(top)),
        }
    return found


def every_order(scores, labels):
    groups = [[one for s, one in zip(scores, labels, strict=True) if s == score]
              for score in sorted(set(scores), reverse=True)]  # fmt: skip
    for combined in itertools.product(*(list(itertools.permutations(group)) for group in groups)):
        yield [one for group in combined for one in group]


def test_metrics_are_those_of_every_order_of_tied_items_written_out(tmp_path):
    rng = np.random.default_rng(4)
    lists = [(rng.integers(0, rng.integers(1, 7), n := int(rng.integers(1, 6))).tolist(),
              rng.integers(0, rng.choice([1, 2, 4]), n).tolist(),
              rng.integers(1, 4, rng.integers(0, 3)).tolist() if rng.random() < 0.4 else [])
             for _ in range(examples(40, 100))]  # fmt: skip
    table = pa.table({"q": [i for i, (scores, _, _) in enumerate(lists) for _ in scores],
                      "score": [s for scores, _, _ in lists for s in scores],
                      "label": [one for _, labels, _ in lists for one in labels]})  # fmt: skip
    never = pa.table({"q": [i for i, (_, _, gone) in enumerate(lists) for _ in gone],
                      "label": [one for _, _, gone in lists for one in gone]})  # fmt: skip
    pq.write_table(never, tmp_path / "never.parquet")
    for name, gain in (("linear", float), ("exponential", lambda one: 2.0**one - 1)):
        rows, _ = many(table, at=[1, 3, 8], gain=name, positives=tmp_path / "never.parquet")
        assert len(rows) == len(lists)
        for i, (scores, labels, gone) in enumerate(lists):
            values = [in_one_order(order, gone, (1, 3, 8), gain) for order in every_order(scores, labels)]
            for metric in values[0]:
                own = np.array([one[metric] for one in values])
                want = [own.min(), own.mean(), own.max()]
                got = [rows[i][metric + end] for end in ("_worst", "", "_best")]
                got = [math.nan if one is None else one for one in got]
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-12, err_msg=f"{metric} of {lists[i]}")


NAMES = {"map": "average_precision", "recip_rank": "reciprocal_rank", "ndcg": "ndcg", "Rprec": "r_precision",
         "map_cut": "average_precision_at", "P": "precision_at", "recall": "recall_at", "ndcg_cut": "ndcg_at",
         "success": "success_at"}  # fmt: skip


@pytest.mark.parametrize("stored", ["together", "apart"])
def test_equal_to_what_trec_eval_says(stored, tmp_path):
    known = json.loads(TREC.read_text())
    q, item, score, label = zip(*known["rows"], strict=True)
    table = pa.table({"q": q, "item": item, "score": np.array(score), "label": label})
    if stored == "apart":
        table = table.take(np.random.default_rng(0).permutation(len(table)))
    pq.write_table(pa.table(dict(zip(("q", "item", "label"), zip(*known["never"], strict=True), strict=True))),
                   tmp_path / "never.parquet")  # fmt: skip
    rows, _ = many(table, at=[1, 5, 10, 100], ties="trec_eval", key="item", positives=tmp_path / "never.parquet")
    assert set(rows) == set(known["results"])
    compared = 0
    for q, said in known["results"].items():
        for name, value in said.items():
            metric, _, k = name.rpartition("_") if name not in ("recip_rank",) else (name, "", "")
            metric, k = (metric, k) if k.isdecimal() and metric else (name, "")
            if name == "bpref":
                assert rows[q]["bpref"] in (None, pytest.approx(value, abs=1e-7))  # trec_eval divides in 32 bits
                continue
            own = rows[q][f"{NAMES[metric]}_{k}" if k else NAMES[metric]]
            assert (0.0 if own is None else own) == pytest.approx(value, rel=0, abs=1e-12), (q, name)
            compared += 1
    assert compared == 42 * 24


def test_equal_to_scikit_learn():
    rng = np.random.default_rng(7)
    lists = {}
    for q, (n, levels, grades) in enumerate([(40, 10**6, 2), (40, 5, 2), (60, 12, 5), (7, 1, 3), (300, 20, 4)] * 4):
        lists[q] = rng.integers(0, levels, n) / 7, np.r_[0, 1, rng.integers(0, grades, n - 2)]
    table = pa.table({"q": np.repeat(list(lists), [s.size for s, _ in lists.values()]),
                      "score": np.concatenate([s for s, _ in lists.values()]),
                      "label": np.concatenate([y for _, y in lists.values()])})  # fmt: skip
    rows, _ = many(table, at=[5], ties="scikit-learn")
    spread = 0
    for q, (scores, labels) in lists.items():
        row, positive = rows[q], labels > 0
        exactly = {"rel": 0, "abs": 1e-12}
        assert row["ndcg"] == pytest.approx(ndcg_score([labels], [scores]), **exactly)
        assert row["ndcg_at_5"] == pytest.approx(ndcg_score([labels], [scores], k=5), **exactly)
        assert row["roc_auc"] == pytest.approx(roc_auc_score(positive, scores), **exactly)
        assert row["average_precision"] == pytest.approx(average_precision_score(positive, scores), **exactly)
        ranked = label_ranking_average_precision_score([positive], [scores])
        assert row["average_precision"] == pytest.approx(ranked, **exactly)
        for name in ("ndcg", "ndcg_at_5", "roc_auc", "average_precision"):
            assert row[name] == row[f"{name}_worst"] == row[f"{name}_best"]
        spread += row["reciprocal_rank_worst"] < row["reciprocal_rank_best"]
    assert spread > 5


def runs(seed, n=1_000, rankings=40):
    rng = np.random.default_rng(seed)
    q = np.sort(rng.integers(0, rankings, n)) - 5
    return pa.table({"q": q, "name": [f"user {one}" for one in q], "score": rng.integers(0, 30, n).astype(np.float32),
                     "label": np.where(q % 7 == 0, 0, rng.random(n) < 0.1).astype(int)})  # fmt: skip


def test_storage_order_names_and_memory_change_nothing(tmp_path):
    table = runs(1)
    shuffled = table.take(np.random.default_rng(2).permutation(len(table)))
    rows, found = many(table)
    for given in (table, shuffled):
        for per in (["q"], ["name"], ["name", "q"]):
            again = streameval.exact(given, label="label", options=BY_SCORE, per=per)
            assert again.metrics.equals(found.metrics)
            assert again.rankings.num_rows == len(rows)
    whole = shuffled.append_column("row", pa.array(range(len(table)), pa.int64()))
    by_row, _ = many(whole, score="row")
    stored = streameval.exact(shuffled.sort_by([("q", "ascending")]), label="label", per="q").summary["how"]
    assert stored == "one pass, rankings stored together"
    upside = streameval.exact(shuffled, label="label", per="q")
    assert len(by_row) == upside.rankings.num_rows


@pytest.mark.parametrize(("tied", "level"), [(3, ">=1"), (3, ">=2"), *slow((10**6, ">=1"))])
def test_rankings_longer_than_memory_are_parted_by_score(tied, level, monkeypatch):
    from streameval.per_query import scattered

    rng = np.random.default_rng(3)
    n = 2_200
    table = pa.table({"q": np.where(rng.random(n) < 0.6, 7, rng.integers(0, 300, n)), "label": rng.integers(0, 3, n),
                      "score": rng.integers(0, tied, n) / 7})  # fmt: skip
    _, whole = many(table, relevant=level)
    monkeypatch.setattr(scattered, "_BYTES_PER_ROW", 10**6)  # a part of 1,024 rows
    _, parted = many(table, relevant=level)
    assert parted.metrics.equals(whole.metrics)
    assert parted.rankings.sort_by("q").equals(whole.rankings.sort_by("q"))


def test_means_with_and_without_rankings_that_have_no_positive(tmp_path):
    table = pa.table({"q": [1, 1, 2, 2, 3], "score": [2.0, 1, 2, 1, 1], "label": [0, 1, 0, 0, 1]})
    _, found = many(table, at=[1])
    assert found.mean("average_precision") == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.summary["without_positives"] == 1
    means = {(row["metric"], row["no_positives"]): row for row in found.metrics.to_pylist()}
    assert means["mean_average_precision", "skip"]["estimate"] == pytest.approx(0.75)
    assert [means["mean_roc_auc", "zero"][name] for name in ("rankings", "estimate")] == [1, 0]
    _, skipped = many(table, at=[1], no_positives="skip")
    assert skipped.mean("average_precision") == pytest.approx(0.75)
    pq.write_table(pa.table({"q": [2, 9]}), tmp_path / "never.parquet")
    rows, found = many(table, at=[1], positives=tmp_path / "never.parquet")
    assert [rows[9]["items"], rows[9]["average_precision"], rows[2]["misses"]] == [0, 0, 1]
    assert found.summary["without_positives"] == 0


BAD = [
    ({"q": [1, None]}, {}, "1 row without q (null"),
    ({"label": [0, -1]}, {}, "label -1 is not a whole number from 0 to 1,000"),
    ({"label": [0, 1_001]}, {}, "label 1001 is not a whole number"),
    ({"label": [0.5, 1]}, {}, "label 0.5 is not a whole number"),
    ({"label": [None, 1]}, {}, "1 label missing"),
    ({"score": [1.0, None]}, {}, "1 item has no score"),
    ({"item": ["a", "a"]}, {"key": "item"}, "at least 1, with 1 row too many (first: q=1)"),
    ({}, {"at": [0]}, "at is 0, below 1"),
    ({}, {"at": ["x"]}, "at is 'x', not a whole number"),
    ({}, {"ties": "trec_eval"}, "trec_eval orders tied items by their names"),
    ({}, {"ties": "dice"}, "ties is 'dice'"),
    ({}, {"gain": "square"}, "gain is 'square'"),
    ({}, {"per": ["quarry"]}, "the ranking has no column 'quarry'"),
    ({}, {"key": "itm"}, "the ranking has no column 'itm'"),
    ({}, {"per": []}, "per names no column"),
    ({}, {"misses": 3}, "does not go with misses"),
    ({}, {"engine": "sparc"}, "there is no engine 'sparc'"),
    ({}, {"gain": "linear", "at": [1, 0]}, "at is 0, below 1"),
    ({}, {"relevant": "2"}, "relevant is '2', not >=GRADE"),
    ({"items": [1, 2]}, {"per": ["items"]}, "a column of rankings.parquet has that name"),
    ({}, {"at": ","}, "nothing stands on one side of a comma"),
    ({}, {"at": ()}, "at names no cutoff"),
    ({}, {"labels": "judged.txt"}, "labels are a column of the list, named by label. Hint: judgements of a TREC run"),
    ({}, {"at": 2.5}, "at is '2.5', not a whole number"),
    ({}, {"options": RankingOptions("score", key=("item", "q"))}, "key names 2 columns"),
    ({}, {"options": RankingOptions("score", nan="last")}, "nan is 'last', which is for one ranking"),
]


@pytest.mark.parametrize(("change", "options", "said"), BAD, ids=[said for _, _, said in BAD])
def test_bad_input_is_one_line(change, options, said):
    table = pa.table({"q": [1, 1], "score": [1.0, 2], "label": [0, 1], "item": ["a", "b"], **change})
    with pytest.raises(InputError) as caught:
        many(table, **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ties", ["all", "trec_eval", "scikit-learn"])
def test_what_is_said_of_tied_items_is_what_was_done(ties):
    from streameval.kinds.rankings.page import claim_sentence

    table = pa.table({"q": [1, 1], "score": [1.0, 1], "label": [0, 1], "item": ["a", "b"]})
    rows, found = many(table, ties=ties, key="item")
    spread = rows[1]["reciprocal_rank_worst"] < rows[1]["reciprocal_rank_best"]
    assert spread == ("between the worst and the best order" in claim_sentence(found.summary))
    assert ("stored position" in found.summary["ranking"]["tie_rule"]) is False
    with pytest.raises(InputError, match="there is no mean of 'recal_at@10'"):
        found.mean("recal_at", 10)


def test_means_by_size_are_summed_as_the_means_are():
    table = runs(3)
    rows, found = many(table, no_positives="skip")
    small = [q for q, row in rows.items() if row["items"] < 10**2]
    assert len(small) == len(rows)
    (size,) = found.by_size.to_pylist()
    for row in found.metrics.to_pylist():
        name = f"{row['metric']}_{row['argument']}".rstrip("_")
        if row["no_positives"] == "skip" and row["metric"] not in ("mean_roc_auc", "mean_judged_at", "gm_map"):
            assert size[name] == pytest.approx(row["estimate"], rel=1e-15)


def test_lower_grades_are_no_positives_but_gains():
    rng = np.random.default_rng(1)
    table = pa.table({"q": [0] * 400, "score": rng.integers(0, 90, 400), "label": rng.integers(0, 4, 400)})
    graded, _ = many(table, relevant=">1")
    plain, _ = many(table)
    binary, _ = many(table.set_column(2, "label", pa.array(table["label"].to_numpy() > 1)))
    for name, value in graded[0].items():
        assert value == (plain if "ndcg" in name else binary)[0][name], name


def test_means_without_rankings_that_have_no_positive_take_every_gain():
    table = pa.table({"q": [1, 1, 2, 2], "score": [2.0, 1, 2, 1], "label": [2, 0, 0, 1]})
    rows, found = many(table, relevant=">=2", no_positives="skip", at=[1])
    assert (rows[2]["positives"], rows[2]["average_precision"]) == (0, None)
    assert rows[2]["ndcg"] == pytest.approx(1 / math.log2(3))
    assert found.mean("ndcg") == pytest.approx((1 + 1 / math.log2(3)) / 2)
    (size,) = found.by_size.to_pylist()
    assert (size["mean_ndcg"], size["without_positives"]) == (1.0, 1)
