"""A result says in a line of Python and in a notebook what its command prints: the same sentences and numbers."""

import re
from html.parser import HTMLParser

import pytest
from catalogue import ROWS

import streameval
from streameval.cli import run
from streameval.cli.picture import result_lines
from streameval.verbs.evaluate import printed

EVALUATED = [name for name in ROWS if re.search("-evaluated|-decided|-half-labelled|-round|-misses", name)]


class Lines(HTMLParser):
    """Paragraphs and rows of tables."""

    def __init__(self, page):
        super().__init__()
        self.lines, self.inside = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.inside.append(tag)
        if tag in ("p", "tr"):
            self.lines.append("")

    def handle_endtag(self, tag):
        del self.inside[len(self.inside) - 1 - self.inside[::-1].index(tag) :]  # lines of a picture are not closed

    def handle_data(self, text):
        assert "script" not in self.inside
        if "svg" not in self.inside:
            self.lines[-1] += f" {text}"


def words(line):
    """Words of a line, with four digits of its numbers; of what to run next the command."""
    line = re.sub("^Next: `(.*?)`.*", r"Next: \1", line.strip())
    whole = [word.replace(",", "") for word in line.split()]
    return [f"{float(word):.4f}" if re.fullmatch(r"-?\d+(\.\d+)?", word) else word for word in whole]


def all_words(lines):
    return [found for found in map(words, lines) if found]


def check_said(found, out):
    """Check that a result says no other sentence or number than its command, in either form."""
    said = all_words(repr(found).splitlines())
    assert said
    assert all_words(Lines(found._repr_html_()).lines) == said
    whole = " ".join(word for line in all_words(out.splitlines()) for word in line)
    assert [line for line in said if " ".join(line) not in whole] == []
    return said


@pytest.mark.parametrize("name", EVALUATED)
def test_results_of_any_kind_say_what_evaluate_prints(name, study):
    folder = study(name)
    found = streameval.evaluate(folder)
    lines = result_lines(printed(found, folder).lines)
    said = check_said(found, "\n".join(lines))
    following = [line for line in all_words(lines) if line[0] == "Next:"]
    assert [line for line in said if line[0] == "Next:"] == following


def test_lists_whose_every_item_has_a_label_say_what_exact_prints(catalogue, capsys):
    one, many = catalogue.lists / "stored.parquet", catalogue.lists / "runs.parquet"
    assert run(["exact", str(one), "--label", "right"]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.exact(str(one), label="right"), out) == all_words(out.splitlines())
    assert run(["exact", str(many), "--label", "label", "--per", "query", "--at", "5", "--score", "score"]) == 0
    means = streameval.exact(str(many), label="label", per="query", at=[5], score="score")
    said = check_said(means, capsys.readouterr().out)
    assert ["map", f"{means.mean('map'):.4f}"] in [line[:2] for line in said]


@pytest.mark.parametrize("name", ["curve-half-labelled", "gate-decided", "labelled-list", "drawn-rankings-evaluated"])
def test_show_says_where_a_study_stands(name, catalogue, capsys):
    path = str(catalogue.path(name))
    assert run(["show", path]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.show(path), out) == all_words(out.splitlines())


def test_measures_and_gates_say_what_their_commands_print(catalogue, capsys):
    path = str(catalogue.path("curve-evaluated"))
    run(["show", path, "precision@1000", "recall@precision:0.9"])
    out = capsys.readouterr().out
    bounds = streameval.show(path, "precision@1000", "recall@precision:0.9")
    assert check_said(bounds, out) == all_words(out.splitlines())
    conditions = ["precision@1000 >= 0.8", "precision@3000 >= 0.7"]
    run(["check", path, *conditions, "--about", "truth"])
    out = capsys.readouterr().out
    assert check_said(streameval.check(path, conditions, about="truth"), out) == all_words(out.splitlines())


@pytest.mark.parametrize(("flags", "options"), [
    (["--items", "1e6"], {"items": 1_000_000}),
    (["--items", "1e6", "--price-per-label", "0.1"], {"items": 1_000_000, "price_per_label": 0.1}),
    (["--items", "1e6", "--drawn", "uniform(size=500)"], {"items": 1_000_000, "drawn": "uniform(size=500)"}),
    (["--items", "1e6", "--for", "precision@1000 >= 0.9"], {"items": 1_000_000, "questions": "precision@1000 >= 0.9"}),
])  # fmt: skip
def test_costs_say_what_their_command_prints(flags, options, capsys):
    assert run(["cost", *flags]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.cost(**options), out) == all_words(out.splitlines())


def test_comparisons_say_what_their_command_prints(catalogue, capsys):
    studies = [str(catalogue.path(name)) for name in ("curve-evaluated", "uniform-evaluated")]
    assert run(["compare", *studies]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.compare(*studies), out) == all_words(out.splitlines())


@pytest.mark.parametrize(("name", "cutoff"), [("curve-evaluated", "precision:0.9"), ("cut-decided", "precision:0.8")])
def test_cuts_say_what_their_command_prints(name, cutoff, study, tmp_path, capsys):
    path = str(study(name))
    assert run(["cut", path, cutoff]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.cut(path, cutoff), out) == all_words(out.splitlines())
    assert run(["cut", path, cutoff, "--out", str(tmp_path / "one")]) == 0
    out = capsys.readouterr().out.replace(str(tmp_path / "one"), str(tmp_path / "two"))
    assert check_said(streameval.cut(path, cutoff, out=tmp_path / "two"), out) == all_words(out.splitlines())


@pytest.mark.parametrize("name", ["curve-planned", "curve-half-labelled", "comparison-half-labelled", "gate-decided"])
def test_progress_says_what_its_command_prints(name, catalogue, capsys):
    path = str(catalogue.path(name))
    assert run(["labels", path]) == 0
    out = capsys.readouterr().out
    assert check_said(streameval.labels(path), out) == all_words(out.splitlines())


def test_a_history_says_what_its_command_prints(catalogue, capsys):
    nights = sorted(str(path) for path in catalogue.path("three-nights").iterdir() if path.is_dir())
    run(["monitor", *nights, "precision@score:0.5 >= 0.7"])
    out = capsys.readouterr().out
    history = streameval.monitor(nights, "precision@score:0.5 >= 0.7")
    assert check_said(history, out) == all_words(out.splitlines())
