"""Files of a study and copies of lists are read only as they were written, and where: damage and swaps are one line."""

import random
import shutil
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from refusals import refused
from suite_cases import examples

import streameval
from streameval.errors import InputError, StreamevalError, StudyError
from streameval.parquet.own_tables import read_table
from streameval.parquet.schema import BYTE_ARRAY
from streameval.parquet.statistics import Statistics, check_values


@pytest.mark.parametrize("name", ["grown-evaluated", "gate-half-labelled", "slices-evaluated"])
def test_a_file_in_anothers_place_is_refused(catalogue, tmp_path, name):
    files = sorted(catalogue.path(name).rglob("*.parquet"))
    for put, place in zip(files, files[1:] + files[:1], strict=True):
        shutil.copy(put, tmp_path / place.name)
        with pytest.raises(StudyError, match=f"{place.name}: .*it was written as {put.name}"):
            read_table(tmp_path / place.name, "restore it")


def test_results_in_the_place_of_votes_are_refused_by_every_verb_that_counts(study, capsys):
    folder = study("curve-half-labelled")
    (votes,) = (folder / "votes").glob("*.parquet")
    shutil.copy(folder / "metrics.parquet", votes)
    for verb in ("evaluate", "labels"):
        assert "it was written as metrics.parquet" in refused(capsys, verb, folder)


def test_a_history_may_be_renamed(catalogue, tmp_path):
    shutil.copy(catalogue.path("nights-watched") / "watch.parquet", tmp_path / "watch-2026.parquet")
    assert read_table(tmp_path / "watch-2026.parquet", "restore it").table.num_rows


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A study of a list that is a text, and what is selected of it."""
    home = tmp_path_factory.mktemp("copied")
    score = np.random.default_rng(1).permutation(1_000) / 1_000
    table = pa.table({"id": np.arange(1_000), "text": [f"item {i % 50}" for i in range(1_000)], "score": score})
    csv.write_csv(table, home / "list.csv")
    streameval.plan(home / "list.csv", home / "study", score="score", budget=100, seed=1)
    return home / "study", streameval.select(home / "study").table


def test_bits_that_flip_in_the_copy_of_a_list_are_never_passed_over(copied, tmp_path):
    study, expected = copied
    part, rng = next((study / "ranking").glob("part-*.parquet")), random.Random(3)
    content = part.read_bytes()
    for _ in range(examples(8, 500)):
        flipped = bytearray(content)
        for at in rng.sample(range(8 * len(content)), rng.choice([1, 2])):
            flipped[at // 8] ^= 1 << (at % 8)
        part.write_bytes(flipped)
        shutil.rmtree(tmp_path / "s", ignore_errors=True)
        shutil.copytree(
            study, tmp_path / "s", ignore=shutil.ignore_patterns("ranking", "selection.parquet", "thresholds*")
        )
        (tmp_path / "s" / "ranking").symlink_to(study / "ranking")
        with suppress(StreamevalError):
            assert streameval.select(tmp_path / "s").table.equals(expected)
    part.write_bytes(content)


def test_a_number_beyond_the_dictionary_is_one_line():
    damaged = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a", "b"]), safe=False)
    fields = np.array([[0, 0, 1, 1, 1]])  # no null, and the bounds "a" and "b"
    stated = [Statistics("its page index", np.array([0]), np.array([2]), memoryview(b"ab"), fields)]
    leaf = SimpleNamespace(order="bytes", physical=BYTE_ARRAY)
    with pytest.raises(InputError, match="here: cannot be decoded"):
        check_values(pa.chunked_array([damaged]), 0, stated, leaf, "here")
