"""`streameval guide`: topics are listed and read, and any other word is searched for."""

import json
import re
from collections import Counter
from pathlib import Path

from places import HOME

from streameval.cli import run

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (HOME / "streameval" / "guide").glob("*.md")}


def test_guide_lists_topics_and_shows_one(capsys):
    assert run(["guide"]) == 0
    listed = capsys.readouterr().out
    assert "methods" in listed
    assert re.search("(?m)^  digits +A worked example", listed)
    assert run(["guide", "digits"]) == 0
    notebook = capsys.readouterr().out
    assert Path(re.search("`jupyter lab (.*?)`", notebook)[1].strip("'")).is_file()
    assert "```python" in notebook
    assert run(["guide", "sql"]) == 0
    assert capsys.readouterr().out == PAGES["sql"]


def test_guide_searches_for_what_is_no_topic(capsys):
    assert run(["guide", "CSV"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = ["CSV" in line.partition(";")[0] for line in lines]  # the best section of each guide
    assert named[0]
    assert named == sorted(named, reverse=True)
    assert {line.split()[2] for line in lines} == {
        name for name, text in PAGES.items() if re.search(r"(?i)\bcsv", text)
    }
    assert run(["guide", "--json", "postgres"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["word"] == "postgres"
    assert found["sections"][0]["section"] == "PostgreSQL and Spark"  # a heading that names it comes first
    times = Counter()
    for one in found["sections"]:
        times[one["topic"]] += one["times"]
    counts = {name: len(re.findall(r"(?i)\bpostgres", text)) for name, text in PAGES.items()}
    assert times == Counter(counts)
    assert run(["guide", "bounds   hold"]) == 0  # also where a line breaks between the two
    assert "streameval guide claims" in capsys.readouterr().out
    for word in ("zymurgy", " ", "ecall"):
        assert run(["guide", word]) == 2
        err = capsys.readouterr().err
        said = "and no section has all these words. Hint: there are adopt, "
        assert err.startswith(f"streameval: no guide is named '{word}', {said}")
        assert err.count("\n") == 1


def test_words_that_stand_apart_are_found(capsys):
    for words in (["tie", "hash"], ["hash", "ties"]):
        assert run(["guide", *words]) == 0
        assert "streameval guide order" in capsys.readouterr().out


def test_words_need_no_quotes(capsys):
    assert run(["guide", "exit", "status"]) == 0
    apart = capsys.readouterr().out
    assert run(["guide", "exit status"]) == 0
    assert capsys.readouterr().out == apart
