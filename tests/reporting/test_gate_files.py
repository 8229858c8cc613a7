"""`check --out`: a page of Markdown that grows, and JUnit's XML as readers of test results take it."""

import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import junitparser
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.reporting import gate_files
from streameval.types import Claim

REQUIRED = {  # attributes by element that the schemas of Ant and of Jenkins ask for, and no others
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "package", "id"},
    "testcase": {"name", "classname", "time"},
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "skipped": {"type", "message"},
}


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """Results of a list of eight items, all of them labelled."""
    home = tmp_path_factory.mktemp("eight")
    pq.write_table(pa.table({"good": [1, 1, 0, 1, 0, 0, 1, 0]}), home / "list.parquet")
    streameval.exact(str(home / "list.parquet"), label="good", out=home / "exact")
    return home / "exact"


@pytest.fixture
def exact(eight, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(eight, "exact")


def suite_of(path="gate.xml"):
    """The one suite of a file, which holds what schemas ask for, in their order."""
    root = ET.parse(path).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        assert REQUIRED.get(element.tag, set()) == set(element.attrib), element.tag
    (suite,) = root
    tags = [child.tag for child in suite]
    assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name)) == len([*suite.iter(tag)])
    return suite


def outcomes(suite):
    return {case.get("name"): [(child.tag, child.get("message")) for child in case] for case in suite.iter("testcase")}


def test_each_check_is_a_test_that_passes_fails_or_is_skipped(exact, study):
    assert run(["check", exact, "precision@4 >= .75", "recall@4 > .8", "--out", "gate.xml"]) == 4
    assert outcomes(suite_of()) == {
        "precision@4 >= 0.75": [],
        "recall@4 > 0.8": [("failure", "fail: bounds 0.7500 to 0.7500")],
    }
    Path(study("curve-evaluated")).rename("study")
    (bounds,) = streameval.show("study", "precision@500").bounds.values()
    undecided = f"precision@500 >= {(bounds.lower + bounds.estimate) / 2:.6f}"
    assert run(["check", "study", undecided, "precision@500 > 0", "--out", "gate.xml"]) == 5
    suite = suite_of()
    (tag, message), = outcomes(suite)[undecided]  # fmt: skip
    (one, _) = streameval.check("study", [undecided, "precision@500 > 0"]).checked
    assert tag == "skipped"
    assert message.startswith(f"inconclusive: bounds {bounds.lower:.4f}"[:-1])
    assert message.endswith(f" (what may decide: {one.decides})")
    assert outcomes(suite)["precision@500 > 0"] == []
    assert {case.get("classname") for case in suite.iter("testcase")} == {"study"}


def test_the_claim_goes_with_the_outcomes(exact):
    assert run(["check", exact, "precision@4 > .1", "--about", "truth", "--out", "gate.xml"]) == 0
    suite, checks = suite_of(), streameval.check(exact, ["precision@4 > .1"], about="truth")
    assert suite.findtext("system-out") == f"{checks.promise} This is a claim about the truth."
    claimed = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert claimed == {name: str(value) for name, value in checks.claim.as_dict().items()}
    assert outcomes(suite) == {"precision@4 > 0.1": [], "about truth": []}


def test_where_nothing_can_be_told_every_test_is_skipped_and_says_why(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = str(study("curve-evaluated"))
    ranks = streameval.Study(study).evaluation().label_table.column("rank").slice(0, 3)
    streameval.evaluate(study, labels=pa.table({"rank": ranks, "label": [0, 0, 0]}), vote="any")
    for asked in ([], ["precision@1000 > 0"]):
        assert run(["check", study, *asked, "--about", "truth", "--out", "gate.xml"]) == 5
        found = outcomes(suite_of())
        assert len(found) == len(asked) + 1
        for ((tag, message),) in found.values():
            assert tag == "skipped"
            assert message.startswith("inconclusive: This is a claim about the truth only if every label is right. ")


def test_a_reader_of_test_results_counts_the_same(exact):
    assert run(["check", exact, "precision@4 >= .75", "recall@4 > .8", "--out", "gate.xml"]) == 4
    (suite,) = junitparser.JUnitXml.fromfile("gate.xml")
    assert (suite.name, suite.tests, suite.failures, suite.skipped, suite.errors) == (exact, 2, 1, 0, 0)
    passed, failed = suite
    assert passed.is_passed
    assert (failed.is_failure, failed.result[0].type) == (True, "fail")


def test_python_writes_the_same_files(exact, tmp_path):
    (checked,) = streameval.check(exact, "precision@4 >= .75", out="gate.xml")
    assert (checked.outcome, outcomes(suite_of())) == ("pass", {"precision@4 >= 0.75": []})
    streameval.check(exact, "precision@4 >= .75", out=tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text().splitlines()[0] == "### exact: pass"


def test_a_file_of_check_is_replaced_and_no_other(exact, capsys, tmp_path):
    asked = ["check", exact, "precision@4 >= .75", "--out"]
    for _ in range(2):
        assert run([*asked, "gate.XML"]) == 0
        assert len(suite_of("gate.XML").findall("testcase")) == 1
    (tmp_path / "empty.xml").touch()
    assert run([*asked, "empty.xml"]) == 0
    (tmp_path / "other.xml").write_text('<testsuites name="pytest tests"/>')
    assert run([*asked, "other.xml"]) == 2
    assert "other.xml exists already, and check did not write it. Hint: name another file" in capsys.readouterr().err
    assert (tmp_path / "other.xml").read_text() == '<testsuites name="pytest tests"/>'


def test_any_text_can_be_written(tmp_path, capsys):
    strange = "a\x00b\x1b[2J\ud800\ufffe\uffff<&\"'>]]>ä\n"
    claim = replace(Claim("exact", 1.0, "nothing"), about=strange)
    row = [strange, "bounds 0.1 to 0.2", "inconclusive", strange]
    gate_files.write_junit(tmp_path / "gate.xml", strange, claim, [row], strange, strange)
    ((_, message),) = next(iter(outcomes(suite_of(tmp_path / "gate.xml")).values()))
    assert message.startswith("inconclusive: a\\x00b\\x1b[2J\\ud800��<&\"'>]]>ä")
    gate_files.append_markdown(tmp_path / "page.md", strange, [["check"], [strange]], strange)
    assert "a\\x00b\\x1b[2J\\ud800" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_page_grows(exact, tmp_path):
    for status, condition in ((0, ">= .75"), (4, "> .75")):
        assert run(["check", exact, f"precision@4 {condition}", "--out", "page.md"]) == status
    page = (tmp_path / "page.md").read_text()
    assert page.count("### exact: ") == 2
    assert "| precision@4 > 0.75 | 0.7500 | 0.7500 | fail |" in page
    assert "what may decide" not in page


@pytest.mark.parametrize(("place", "says"), [
    (".", ".: is a folder. Hint: name a file, such as check.md"),
    ("made.xml", "made.xml: is a folder. Hint: name a file, such as made.xml/check.md"),
    ("new/gate.xml", "new: no such folder. Hint: check the spelling, or make it first"),
    ("new/page.md", "new: no such folder. Hint: check the spelling, or make it first"),
])  # fmt: skip
def test_a_place_where_no_file_can_be_is_refused_and_no_folder_made(exact, place, says, capsys):
    Path("made.xml").mkdir()
    assert says in refused(capsys, "check", exact, "precision@4 > .1", "--out", place)
    assert not Path("new").exists()
