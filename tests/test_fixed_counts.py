"""Studies that were planned with fixed counts of each stratum are read as they were planned."""

import shutil
from pathlib import Path

import pyarrow.csv as csv
import pytest

import streameval
from streameval.cli import run
from streameval.study.weights import weights

RECORDED = Path(__file__).parent / "recorded" / "fixed_counts"


@pytest.mark.parametrize("name", ["one", "grown"])
def test_a_study_planned_with_fixed_counts_has_the_bounds_that_it_had(name, tmp_path):
    study = shutil.copytree(RECORDED / name, tmp_path / name)
    found = streameval.evaluate(study, labels=study / "labels.csv")
    then = csv.read_csv(study / "envelope.csv")
    for column in then.column_names:
        assert found.curve.envelope.table.column(column).to_pylist() == then.column(column).to_pylist()
    assert found.curve.claim.coverage == "simultaneous"
    assert weights(streameval.Study(study).plan()).sum() == pytest.approx(3_000)


def test_it_grows_no_further_and_says_so(tmp_path, capsys):
    study = shutil.copytree(RECORDED / "grown", tmp_path / "grown")
    assert run(["plan", "--study", str(study), "--labels-more", "900"]) == 2
    assert "its plan cannot grow" in capsys.readouterr().err
