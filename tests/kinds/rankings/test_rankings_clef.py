"""The thirty topics of CLEF 2017 through the command line, against trec_eval's definitions written out."""

import json
import math

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from suite_cases import slow

from streameval.cli import run

K = 10


def by_definition(scores, names, labels):
    """Four metrics as trec_eval has them: scores in 32 bits, then names, the largest first; 0 without a positive."""
    order = sorted(range(len(scores)), key=lambda i: (np.float32(scores[i]), str(names[i])), reverse=True)
    ranks = [rank for rank, i in enumerate(order, 1) if labels[i]]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, len(ranks) + 1))
    return {
        "average_precision": sum(n / rank for n, rank in enumerate(ranks, 1)) / max(1, len(ranks)),
        "reciprocal_rank": 1 / min(ranks, default=math.inf),
        f"precision_at_{K}": sum(rank <= K for rank in ranks) / K,
        "ndcg": sum(1 / math.log2(rank + 1) for rank in ranks) / (ideal or 1),
    }


@pytest.mark.parametrize(("score", "label"), [("score_uwaterloo", "label_content"), *slow(("score", "label"))])
def test_topics_have_the_values_of_trec_eval(score, label, tmp_path, capsys, real):
    path = real("clef_tar2017_amc")
    table = pq.read_table(path, columns=["topic", "pmid", score, label])
    pq.write_table(table.filter(table.column(score).is_valid()), tmp_path / "runs.parquet")
    command = [
        "exact",
        str(tmp_path / "runs.parquet"),
        "--per",
        "topic(ties=trec_eval)",
        "--score",
        score,
        "--label",
        label,
    ]
    command += ["--key", "pmid", "--at", str(K), "--json"]
    assert run([*command, "--out", str(tmp_path / "results")]) == 0
    means = {row["metric"]: row["estimate"] for row in json.loads(capsys.readouterr().out)["metrics"][:12]}
    found = {row["topic"]: row for row in pq.read_table(tmp_path / "results" / "rankings.parquet").to_pylist()}
    assert len(found) == 30
    wanted = {}
    for topic in found:
        own = table.filter(pc.equal(table.column("topic"), topic))
        wanted[topic] = by_definition(*(own.column(name).to_pylist() for name in (score, "pmid", label)))
        for metric, value in wanted[topic].items():
            assert (found[topic][metric] or 0.0) == pytest.approx(value, rel=0, abs=1e-12)
    mean = np.mean([one["average_precision"] for one in wanted.values()])
    assert means["mean_average_precision"] == pytest.approx(mean, rel=0, abs=1e-12)
