"""What `exact` calls exact is, and ties are named only where there are any."""

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import streameval
from streameval.cli import run
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import scans as here


@pytest.fixture
def short_of_memory(monkeypatch):
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 64)
    monkeypatch.setattr(scored, "_WORDS", 0.0)  # as if the list were too long to be ordered in memory


def scored_items(tmp_path, score, stored="shuffled"):
    rng = np.random.default_rng(11)
    n = 3_000
    label = (rng.random(n) < 0.4).astype(np.int8)
    own = {"different": rng.normal(size=n) + label, "tied": np.round(4 * (rng.normal(size=n) + label))}[score]
    if stored == "sorted":
        order = np.argsort(-own, kind="stable")
        own, label = own[order], label[order]
    path = tmp_path / f"{stored}.parquet"
    pq.write_table(pa.table({"score": own, "label": label}), path)
    return path, own, label


@pytest.mark.parametrize(("score", "stored"), [("different", "sorted"), ("different", "shuffled"), ("tied", "sorted")])
def test_ties_are_named_only_where_there_are_some(score, stored, short_of_memory, tmp_path, capsys):
    path, _, _ = scored_items(tmp_path, score, stored)
    flags = ["--label", "label", "--score", "score", "--memory", "0.05"]
    assert run(["exact", str(path), *flags, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert ("Items with the same score have no order" in told) == (score == "tied")
    assert ("ordered range by range" in told) == (stored == "shuffled")
    assert "every number here is exact" in (tmp_path / "out" / "report.html").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("Of items with the same score, lower and upper are" in page) == (score == "tied")


def test_people_see_one_line_a_metric_and_the_value_of_scikit_learn(tmp_path, capsys):
    path, score, label = scored_items(tmp_path, "tied")
    out = tmp_path / "out"
    assert run(["exact", str(path), "--label", "label", "--score", "score", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    expected = {"average_precision": average_precision_score(label, score), "roc_auc": roc_auc_score(label, score)}
    shown = (out / "report.html").read_text().split("<details>")[0]
    for name, value in expected.items():
        (line,) = [line for line in lines if line[:1] == [name]]
        assert line[1] == f"{value:.6g}"
        assert float(line[2]) < float(line[3])
        (row,) = streameval.sql(
            out,
            f"""SELECT lower, estimate, upper FROM metrics
                                         WHERE metric = '{name}' AND argument IN ('', 'positives')""",
        ).to_pylist()
        assert list(row.values()) == pytest.approx([value] * 3, rel=1e-12)
        label_of = {"average_precision": "average precision", "roc_auc": "ROC AUC"}[name]
        cells = re.findall(r"<td>([\d.]+)</td>", shown.split(f'<th scope="row">{label_of}</th>')[1])[:3]
        assert cells == [f"{float(line[at]):.4f}" for at in (2, 1, 3)]
    assert told.count("average_precision") == told.count("roc_auc") == 1
    assert told.count("as scikit-learn does") == shown.count("as scikit-learn does") == 1


def test_missing_scores_cannot_be_put_last(tmp_path, capsys):
    pq.write_table(pa.table({"score": [0.3, None], "label": [1, 0]}), tmp_path / "items.parquet")
    exact = ["exact", str(tmp_path / "items.parquet"), "--label", "label", "--score", "score"]
    assert run([*exact, "--nan", "last"]) == 2
    assert "--nan" in capsys.readouterr().err
    assert run(exact) == 2
    assert "every item needs one" in capsys.readouterr().err
    assert run(["plan", str(tmp_path / "items.parquet"), "--study", str(tmp_path / "s"), "--score", "score",
                "--nan", "last"]) == 0  # fmt: skip


def test_decimals_are_not_offered_and_the_way_out_works(tmp_path, capsys):
    score = pa.array([Decimal(i) / 100 for i in range(1_000)], pa.decimal128(9, 2))
    items = pa.table({"score": score, "label": np.arange(1_000) % 2})
    pq.write_table(items, tmp_path / "decimal.parquet")
    exact = ["exact", "--label", "label", "--score", "score"]
    assert run([*exact, str(tmp_path / "decimal.parquet")]) == 2
    refused = capsys.readouterr().err
    assert refused.count("\n") == 1
    assert "cast it to float64" in refused
    pq.write_table(items.set_column(0, "score", score.cast(pa.float64())), tmp_path / "float.parquet")
    assert run([*exact, str(tmp_path / "float.parquet")]) == 0
    capsys.readouterr()
    assert run(["exact", "--help"]) == 0
    assert "decimal" not in capsys.readouterr().out
