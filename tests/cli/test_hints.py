"""Options that hints and other sentences name: each exists, and is said to be another verb's where it is."""

import ast
import functools
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import flags_of, run
from streameval.cli.hints import VERBS, of_verb, options_in

ROOT = Path(streameval.__file__).parent
PAGE = "<!DOCTYPE html>"


@functools.cache
def known_flags():
    return set().union(*map(flags_of, VERBS), {"--help", "--version"})


def text_of(node):
    """What a string says; a placeholder is one word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value


def names_option(text):
    return any(True for _ in options_in(text))


@functools.cache
def sentences():
    """Place and text of each string of several words, where any names an option or is said by an error, and whether."""
    sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    asked = {name: text for name, text in sources.items() if re.search(r"--[a-z]|Error\(", text)}
    return [one for name, text in asked.items() for one in _in_tree(ast.parse(text), name, False)]


@functools.cache
def naming_options():
    return [one for one in sentences() if names_option(one[1])]


def _in_tree(node, name, in_error):
    for child in ast.iter_child_nodes(node):
        called = getattr(child, "func", None)
        word = getattr(called, "id", getattr(called, "attr", ""))
        if word in ("option", "Parameter") or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            continue  # help of options, which the help of their verb shows, and docstrings
        if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            text = text_of(child)
            if " " in text.strip() and PAGE not in text:
                yield f"{name}:{child.lineno}", text, in_error
        else:
            yield from _in_tree(child, name, in_error or word.endswith("Error"))


def test_sentences_name_options_that_are_there():
    assert len(naming_options()) > 100
    for place, text, _ in naming_options():
        for option, verb in options_in(text):
            assert option in (flags_of(verb) if verb else known_flags()), (place, text, option, verb)


# hints that are kept in variables, and what one verb alone prints
PRINTED_BY = {
    "kinds/curve/cost.py": "cost",
    "kinds/paired/cost.py": "cost",
    "scans/spark.py": "select",
    "kinds/labelled_list/": "exact",
    "kinds/rankings/": "exact",
    "labelling/answers.py": "evaluate",
    "labelling/hints.py": "exact",
    "labelling/match_items.py": "select",
    "labelling/options.py": "exact",
    "labelling/reading.py": "evaluate",
    "labelling/rules.py": "evaluate",
    "judges/values.py": "plan",
    "methods/__init__.py": "plan",
    "methods/options.py": "plan",
    "methods/adopted/designs.py": "adopt",
    "methods/uniform/": "plan",
    "per_query/": "exact",
    "rankings/stored_order.py": "plan",
    "serving/": "label",
    "reporting/label_lines.py": "evaluate",
    "reporting/sentences.py": "evaluate",
    "kinds/side_by_side.py": "monitor",
    "kinds/curve/planned.py": "plan",
    "kinds/drawn_rankings/planned.py": "plan",
    "kinds/paired/planned.py": "plan",
    "kinds/question/plan.py": "plan",
    "kinds/question/planned.py": "plan",
    "kinds/paired/plan.py": "plan",
    "kinds/question/cost.py": "plan",
    "kinds/": "evaluate",
    "slices/files.py": "plan",
    "text/retired.py": "plan",
}


def test_other_sentences_say_whose_their_options_are():
    for place, text, in_error in naming_options():
        if not in_error and not place.startswith(("cli/", "text/retired.py")):  # which another test reads
            by_place = (verb for start, verb in PRINTED_BY.items() if place.startswith(start))
            printing = Path(place).stem if place.startswith("verbs/") else next(by_place, None)
            for option, verb in options_in(text):
                whose = verb or printing
                assert option in (flags_of(whose) if whose else ()), (place, text, option)


@pytest.mark.parametrize("verb", VERBS)
def test_hints_say_whose_options_they_name_where_the_running_verb_has_none(verb):
    for place, text, in_error in naming_options():
        told = of_verb(flags_of, verb, text) if in_error else ""
        for option, named in options_in(told.removesuffix(")").split(" (--")[0]):
            assert named or option in flags_of(verb) | {"--help"} or f"{option} is an option of `" in told, (
                place,
                told,
            )


def test_scores_that_are_missing_are_put_last_by_the_verb_that_can(tmp_path, capsys):
    score = np.array([np.nan, *np.linspace(1, 0, 999)])
    pq.write_table(pa.table({"item": range(1000), "score": score}), tmp_path / "list.parquet")
    plan = ["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "m"), "--score", "score"]
    assert run([*plan, "--seed", "1"]) == 0
    capsys.readouterr()
    assert run(["select", str(tmp_path / "m")]) == 2
    hint = "every item needs a score; plan with --nan last puts these last"
    assert capsys.readouterr().err.strip().endswith(hint)
    (tmp_path / "list.csv").write_text("score,label\n0.5,1\n,0\n")  # exact has no such option
    assert run(["exact", str(tmp_path / "list.csv"), "--score", "score"]) == 2
    assert capsys.readouterr().err.strip().endswith(f"(first: row 2, line 3). Hint: {hint}")
    assert run([*plan, "--seed", "1", "--nan", "last"]) == 0
    assert run(["select", str(tmp_path / "m")]) == 0


@pytest.mark.parametrize(("keywords", "flags", "said"), [
    ({"stages": "1:later"}, ["--stages", "1:later"],
     ("stages='1:later' leaves no later stage. Hint: stages='4:later' lets",
      "--stages 1:later leaves no later stage. Hint: --stages 4:later lets")),
    ({"per": "day", "budget": 9}, ["--per", "day", "--budget", "9"],
     ("of one ranking. Hint: questions says", "of one ranking. Hint: --for says")),
    ({"method": "paula", "stages": 4}, ["--method", "paula", "--stages", "4"],
     ("method paula has no parameter stages. Hint: method='loguniform'",
      "method paula has no parameter --stages. Hint: --method loguniform")),
])  # fmt: skip
def test_each_surface_names_options_its_own_way(tmp_path, capsys, keywords, flags, said):
    pq.write_table(pa.table({"day": np.arange(100) // 10}), tmp_path / "list.parquet")
    with pytest.raises(streameval.InputError) as refused:
        streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "s", **keywords)
    assert said[0] in str(refused.value)
    assert "--" not in str(refused.value)
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "s"), *flags]) == 2
    assert said[1] in capsys.readouterr().err


def test_what_is_wrong_with_an_option_names_it_as_a_flag():
    """An error that begins with the name of an option says its flag; Python is shown the keyword."""
    words = {name.strip("-").replace("-", form) for name in known_flags() if name.startswith("--") for form in "-_ "}
    begins = re.compile(rf"({'|'.join(sorted(words, key=len, reverse=True))}) (is '?X|names |cannot |does not )")
    arrays = ("metrics/", "order/count_at_score.py")  # of Python alone, and a score that a measure names
    wrong = [
        (place, text)
        for place, text, in_error in sentences()
        if in_error and begins.match(text) and not place.startswith(arrays)
    ]
    assert not wrong


@pytest.fixture
def two_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score = np.linspace(1, 0, 100)
    table = {"id": range(100), "score_a": score, "score_b": -score, "label": [1] * 50 + [0] * 50}
    pq.write_table(pa.table(table), "list.parquet")


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("plan list.parquet --study s --score scoreA", "did you mean 'score_a'?"),
        ("plan list.parquet --study s --score SCORE-B", "did you mean 'score_b'?"),
        ("plan list.parquet --study s --positive x", "--positive is an option of `select` and 6 other verbs"),
        ("show {study} base_rate", "we call it precision@100%"),
        ("show {study} auc", "we call it roc_auc"),
        ("show {study} gm_map", "gm_map of many rankings is what `streameval exact --per COL` gives"),
        (
            "show {study} ndcg@10",
            "did you mean 'dcg'?; ndcg of many rankings is what `streameval exact --per COL` gives",
        ),
        (
            "evaluate {study} --relevant >=2",
            "--vote 'mean>=2' says from which grade on an item is positive; --relevant is ",
        ),
        (
            "check {study} precision@10 .9",
            'quote a condition, "precision@10000 >= 0.9": without quotes the shell writes',
        ),
        ("evaluate {study} --label list.parquet", "`evaluate --labels list.parquet` takes files of labels"),
    ],
)
def test_a_slip_is_answered_by_what_was_meant(command, hint, two_scores, catalogue, capsys):
    assert run([word.format(study=catalogue.path("curve-evaluated")) for word in command.split()]) == 2
    assert f"Hint: {hint}" in capsys.readouterr().err


def test_a_list_that_is_read_the_wrong_way_round_is_said_to_be(two_scores, capsys):
    for score, said in (
        ("score_a", ""),
        ("score_b", "The list looks reversed: positives stand near its end (ROC AUC 0)"),
    ):
        assert run(["exact", "list.parquet", "--label", "label", "--score", score]) == 0
        assert said in (printed := capsys.readouterr().out)
        assert ("reversed" in printed) == bool(said)
    assert run(["exact", "list.parquet", "--label", "label", "--score=-score_b"]) == 0
    assert "reversed" not in capsys.readouterr().out


def test_a_selection_without_tasks_says_how_to_write_them(two_scores, capsys):
    assert run(["plan", "list.parquet", "--study", "s", "--seed", "1", "--budget", "20"]) == 0
    assert run(["select", "s"]) == 0
    assert capsys.readouterr().out.endswith("Next: streameval select s --export tasks.csv\n")
