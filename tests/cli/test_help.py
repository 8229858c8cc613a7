"""Help: verbs in the order of the journey, flags where they belong, and defaults that a file gives."""

import itertools
import re

import pytest

from streameval.cli import app, commands, flags_of, run
from streameval.cli.hints import RETIRED, VERBS, options_in
from streameval.cli.methods import METHODS
from streameval.cli.panels import flowing
from streameval.study import Study


@pytest.fixture
def shown(capsys):
    def ask(*words):
        assert run([*words, "--help"]) == 0
        return capsys.readouterr().out

    return ask


def panels(text):
    """Flags and verbs by the panel that shows them."""
    found = {}
    for line in text.splitlines():
        if line.startswith("╭─"):
            found[title := line.strip("╭─╮ ")] = []
        elif named := re.match(r"│ (?:\*|  )? ?(--)?([a-z][\w-]*) ", line):
            found[title].append(named[2])
    return found


def test_verbs_are_shown_in_the_order_of_the_journey(shown):
    found = panels(shown())
    assert [*found][:3] == ["The journey", "What a study says", "Before a study"]
    assert found["The journey"] == ["plan", "select", "label", "labels", "evaluate", "cut", "grow"]
    verbs = {name for title, names in found.items() if title != "Options" for name in names}
    assert verbs == {name for names in commands.PANELS.values() for name in names} == set(app.resolved_commands()) - {
        "--help", "-h", "--version", "-V", "--install-completion"}  # fmt: skip


def test_help_of_plan_shows_what_concerns_every_plan(shown):
    found = panels(shown("plan"))
    assert [*found] == [
        "Arguments", "Parameters", "Ranking", "Another ranking (all with --against --help)",
        "One question (all with --for --help)", "Many rankings (all with --per --help)",
        "Reading (all with --memory --help)",
        "Labelling in stages (all with --stages --help)", "A judge (all with --judge --help)",
        "The same items again (all with --reuse --help)", "All methods", "Running",
    ]  # fmt: skip
    assert found["Ranking"][:2] == ["score", "ascending"]
    assert found["Running"] == ["dry-run", "time-limit", "json", "log", "quiet"]
    assert sum(map(len, found.values())) <= 25


@pytest.mark.parametrize(("words", "panel", "flags"), [
    (["--method", "paula"], "Method: paula", ["window", "assume"]),
    (["--method=paula"], "Method: paula, stratified", ["epsilon", "head", "tail"]),
    (["--per"], "Many rankings", ["per", "rankings", "at"]),
    (["--for"], "One question", ["for", "zone", "expect", "round", "together"]),
    (["--against"], "Another ranking", ["against", "against-score", "engine", "within", "look"]),
    (["--stages"], "Labelling in stages", ["stages", "growing", "adaptive"]),
    (["--judge", "llm"], "A judge", ["judge", "judge-classes", "judge-sample", "judge-accuracy"]),
    (["--on"], "The same items again", ["on", "reuse", "label", "labels-unseen-by-model"]),
    (["--memory"], "Reading", ["memory", "threads", "verify"]),
])  # fmt: skip
def test_help_for_a_method_or_a_topic_shows_its_flags(shown, words, panel, flags):
    found = panels(shown("plan", *words))
    assert sorted(found[panel]) == sorted(flags)
    assert "Method: uniform" not in found


BY_METHOD = [f"--method={name}" for name in METHODS]
TOPICS = {  # verbs that do not show all of their flags at once, and with what they show the others
    "plan": ["--for", "--against", "--per", "--stages", "--judge", "--reuse", "--memory", *BY_METHOD],
    "cost": ["--for", "--against", "--stages", "--judge", *BY_METHOD],
    "simulate": ["--stages", "--judge", "--memory", *BY_METHOD],
    "exact": ["--per", "--memory"],
    "adopt": ["--memory"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_is_shown_with_some_topic_and_no_help_is_longer_than_two_screens(verb, shown, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pages = [shown(verb), *(shown(verb, words) for words in TOPICS.get(verb, []))]
    assert max(len(page.splitlines()) for page in pages) <= 2 * 48
    for one in app[verb].assemble_argument_collection():
        if one.name.startswith("--"):
            assert any(f"{one.name} " in page for page in pages), one.name


def test_the_names_of_flags_are_bounded():
    """A name of a flag is a word to learn: it has to go up here before the command line has one more."""
    names = {name for verb in VERBS for name in flags_of(verb) if name.startswith("--")}
    assert len(names) <= 115, sorted(names)
    assert len(VERBS) <= 25


def test_labels_tasks_and_running_have_panels_in_other_verbs(shown):
    assert "vote" in panels(shown("evaluate"))["Labels"]
    assert "remaining" in panels(shown("select"))["Tasks"]
    assert "engine" in panels(shown("select"))["Running"]


def test_the_version_has_a_short_name(capsys):
    assert run(["-V"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_completion_is_installed_where_the_shell_looks_for_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["--install-completion", "--shell", "bash"]) == 0
    (script,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert script == tmp_path / ".local/share/bash-completion/completions/streameval"
    assert "--half-width" in script.read_text()


@pytest.mark.parametrize(("verb", "name"), [("show", "MEASURES"), ("check", "CONDITIONS"), ("cut", "CUTOFF")])
def test_a_paragraph_of_help_is_one_flowing_text(shown, monkeypatch, verb, name):
    """A line is as long as the next word allows; examples and lists keep their lines."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = shown(verb).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("│") and f" {name} " in line)
    start = len(re.match(rf"│\W+{name} +", lines[first])[0])
    text = [line[start:-2].rstrip() for line in itertools.takewhile(lambda line: line[0] == "│", lines[first:])]
    assert len(text) > 3
    for line, following in itertools.pairwise(text):
        assert len(f"{line} {following.split()[0]}") > len(lines[first][start:-2])
    assert '\nExample: streameval check my-results "map >= 0.3" "ndcg@10 >= 0.4"\n' in shown("check")
    assert flowing("One\ntext.\n\n- a list\n- stays\n    as it is") == "One text.\n\n- a list\n- stays\n    as it is"


def test_a_retired_flag_names_what_says_the_same(capsys):
    known = {verb: flags_of(verb) for verb in VERBS}
    for verb, retired in RETIRED.items():
        assert not retired.keys() & known[verb]
        for now in retired.values():
            for name, named in options_in(now):
                assert name in known[named or verb], (verb, now)
    assert run(["sql", "my-study", "FROM curve", "--csv"]) == 2
    said = capsys.readouterr().err
    assert said == "streameval: sql has no option --csv any more. Hint: it is --out FILE.csv, or --out - to print it\n"


@pytest.mark.parametrize(("command", "said"), [
    ("select s --csv a.csv", "select has no option --csv. Hint: `streameval select --help` lists those that there are"),
    ("plan l.parquet --study s --looks 3", "plan has no option --looks any more. Hint: it is --stages N, with "),
    ("plan l.parquet --study s --labels-more=3", "it is a verb: streameval grow STUDY --labels N"),
    ("select s --format csv", "the ending of the file says the format: --export tasks.label-studio.json; `streameval "),
    ("select s --frobnicate", "`streameval select --help` lists those that there are"),
    ("select s --ask what --quit", "did you mean --quiet?"),
    ("evaluate s --labls a.csv", "did you mean --labels?"),
    ("plan l.parquet --study s --misses 3", "--misses is an option of `evaluate`"),
    ("plan l.parquet --out s", "has no option --out. Hint: the folder of the study is named by --study; --out is "),
    ("evaluate s pyproject.toml", "nothing takes 'pyproject.toml'. Hint: labels are given by name: --labels pyproject"),
    ("evaluate s extra", "nothing takes 'extra'. Hint: options go by name; `streameval evaluate --help` lists them"),
    ("select s extra", "nothing takes 'extra'. Hint: options go by name; `streameval select --help` lists them"),
])  # fmt: skip
def test_an_unknown_option_is_answered_by_what_its_own_verb_has(capsys, command, said):
    assert run(command.split()) == 2
    assert said in capsys.readouterr().err


def test_help_with_per_shows_no_flag_that_is_refused_there(shown):
    found = panels(shown("plan", "--per", "user"))
    flags = {name for names in found.values() for name in names}
    assert {"seed", "per", "rankings", "budget", "at", "confidence", "score", "judge"} <= flags
    assert not {"method", "by", "key", "nan", "stages", "alpha", "on", "dry-run"} & flags
    for command, there in ((["plan"], True), (["plan", "--for", "map"], False), (["plan", "--against", "x"], False)):
        assert ("dry-run" in {name for names in panels(shown(*command)).values() for name in names}) == there
    alone = {name for names in panels(shown("exact", "--per", "user")).values() for name in names}
    assert not {"labels", "on", "misses", "window", "epsilon", "dry-run"} & alone
    assert "--per" not in shown("plan").split("--nan")[0].split("--key STR")[-1]
    assert "with --per the one that names the item" in " ".join(shown("exact").replace("│", " ").split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def items(catalogue):
    """The path of a list of 3,000 items."""
    return str(catalogue.lists / "list.parquet")


def test_a_file_gives_defaults_and_the_command_line_goes_before(here, items):
    (here / "streameval.toml").write_text(
        "[plan]\nseed = 7\nbudget = 300\nstages = 3\ngrowing = true\n[cost]\nitems = 10\n"
    )
    assert run(["plan", items, "--study", "a"]) == 0
    assert run(["plan", items, "--study", "b", "--seed", "8"]) == 0
    first, second = (Study(here / name).plan() for name in "ab")
    assert (first.seed, second.seed) == (7, 8)
    assert first.parameters["budget"] == second.parameters["budget"] == 300
    assert run(["grow", "a", "--labels", "500"]) == 0  # it grows as it was planned
    assert Study(here / "a").plan().table.num_rows > first.table.num_rows


@pytest.mark.parametrize(("text", "said"), [
    ("[plan\n", "streameval.toml: Expected ']'"), ("[plan]\nmetod = 1\n", "metod"), ("plan = 3\n", "must be a mapping"),
    ("[plan]\nconfidence = 'x'\n", "streameval.toml"), ("[plan]\nbudget = 9\n", "--alpha and --budget were both given"),
])  # fmt: skip
def test_a_file_that_cannot_be_meant_is_refused_and_named(here, items, capsys, text, said):
    (here / "streameval.toml").write_text(text)
    assert run(["plan", items, "--study", "a", "--alpha", "0.1"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert (err.count("\n"), "(defaults come from streameval.toml)" in err) == (1, True)
    assert not (here / "a").exists()
