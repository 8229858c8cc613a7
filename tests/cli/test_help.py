"""Help: verbs in the order of the journey, flags where they belong, and defaults that a file gives."""

import itertools
import re
import shlex

import pytest

from streameval.cli import app, commands, flags_of, run
from streameval.cli.declared import read_declaration, verbs
from streameval.cli.hints import VERBS, options_in
from streameval.cli.panels import flowing
from streameval.cli.rewritten import whole_command
from streameval.study import Study
from streameval.text.options import with_flags
from streameval.text.retired import RETIRED, now_spelt

PLAN = "How many labels, and how"
LEADING = "With options of their own (--help beside one shows them)"


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


def verbs_of(text):
    """Verbs by the group that shows them, in the order of its first column and then its second."""
    found, title = {}, ""
    for line in text.split("╭─")[0].splitlines()[4:]:
        if not line.startswith("  "):
            found[title := line] = []
        else:
            found[title] += re.findall(r"(?:^|  )([a-z]+)  +[A-Z]", line)
    return {title: names for title, names in found.items() if names}


def test_the_list_of_verbs_fits_a_screen_of_24_lines_the_eight_of_the_journey_first(shown, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown()
    found = verbs_of(text)
    assert [*found] == [*commands.PANELS]
    assert found["The journey"] == ["plan", "select", "label", "evaluate", "show", "check", "cut", "report"]
    assert {title: {*names} for title, names in found.items()} == {
        title: {*names} for title, names in commands.PANELS.items()}  # fmt: skip
    assert {name for names in found.values() for name in names} == set(app.resolved_commands()) - {
        "--help", "-h", "--version", "-V", "--install-completion"}  # fmt: skip
    lines = text.split("╭─")[0].splitlines()
    assert len(lines[4:]) <= 24
    assert max(map(len, lines)) <= 80


def test_options_of_every_command_are_listed_once(shown):
    text = shown()
    for name in ("--json", "--log", "--quiet", "--memory", "--threads", "--verify"):
        assert f"\n  {name} " in text
        assert f"│ {name} " not in shown("select")
    assert "`streameval --help`" in shown("select")


def test_help_of_plan_shows_what_concerns_every_plan(shown):
    found = panels(shown("plan"))
    assert [*found] == ["Arguments", "Parameters", "Ranking", LEADING, PLAN]
    assert found["Ranking"][:2] == ["score", "key"]
    assert "for" in found["Parameters"]
    assert sorted(found[LEADING]) == ["against", "per", "reuse"]
    assert sum(map(len, found.values())) <= 24


@pytest.mark.parametrize(("words", "panel", "flags"), [
    (["--against"], "Another ranking", ["against-score", "engine"]),
    (["--on"], "The same items again", ["on", "label", "labels-unseen-by-model"]),
])  # fmt: skip
def test_help_for_a_topic_shows_its_flags(shown, words, panel, flags):
    found = panels(shown("plan", *words))
    assert sorted(found[panel]) == sorted(flags)


TOPICS = {  # verbs that do not show all of their flags at once, and with what they show the others
    "plan": ["--against", "--per", "--reuse", "--alpha"],
    "cost": ["--against", "--score", "--alpha"],
    "simulate": ["--score", "--alpha"],
    "exact": ["--per", "--score", "--sample-of"],
    "adopt": ["--score"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_is_shown_with_some_topic_and_no_help_is_longer_than_a_screen(verb, shown, monkeypatch):
    """A screen of 60 lines; with a topic, whose options come to it, of 80."""
    monkeypatch.setenv("COLUMNS", "80")
    pages = [shown(verb), *(shown(verb, words) for words in TOPICS.get(verb, []))]
    assert len(pages[0].splitlines()) <= 60
    assert max(len(page.splitlines()) for page in pages) <= 80
    listed = shown()
    for one in app[verb].assemble_argument_collection():
        if one.name.startswith("--"):
            in_all = f"\n  {one.name} " in listed
            assert in_all or any(f"{one.name} " in page for page in pages), one.name


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_help_are_commands(verb):
    about = read_declaration(verb, "verbs" if verb != "sql" and verb in verbs() else "cli/commands").about
    examples = [line.removeprefix("Example: streameval ") for line in about.splitlines() if "Example: " in line]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[0] == verb
        app.parse_args(words, exit_on_error=False, print_error=False)


def test_the_number_of_listed_options_is_bounded(shown):
    """What helps list, that of all verbs among them: it goes up here before there is one more to read."""
    in_panels = re.compile(r"│ (?:\*  |   )?(--[a-z-]+)")
    listed = [name for verb in VERBS for name in in_panels.findall(shown(verb))]
    assert len(listed) + 6 <= 170


def test_the_names_of_flags_are_bounded():
    """A name of a flag is a word to learn: it has to go up here before the command line has one more."""
    names = {name for verb in VERBS for name in flags_of(verb) if name.startswith("--")}
    assert len(names) <= 80, sorted(names)
    assert len(VERBS) <= 25


def test_labels_and_tasks_have_panels_in_other_verbs(shown):
    assert "vote" in panels(shown("evaluate"))["Labels"]
    assert "remaining" in panels(shown("select"))["Tasks"]
    assert "engine" in panels(shown("select"))["Parameters"]


def test_the_version_has_a_short_name(capsys):
    assert run(["-V"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_completion_is_installed_where_the_shell_looks_for_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["--install-completion", "--shell", "bash"]) == 0
    (script,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert script == tmp_path / ".local/share/bash-completion/completions/streameval"
    assert "--budget" in script.read_text()


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
        for old, now in retired.items():
            for name, named in options_in(now):
                assert name in known[named or verb], (verb, now)
            assert run([verb, "here", f"{old}=7"]) == 2
            hint = whole_command([verb, "here", f"{old}=7"]) or f"it is {with_flags(now_spelt(verb, old, 7))}"
            assert capsys.readouterr().err == f"streameval: {verb} has no option {old} any more. Hint: {hint}\n"
    assert run(["sql", "my-study", "FROM curve", "--csv"]) == 2
    said = capsys.readouterr().err
    assert said == "streameval: sql has no option --csv any more. Hint: it is --out FILE.csv, or --out - to print it\n"


@pytest.mark.parametrize(("command", "said"), [
    ("select s --csv a.csv", "select has no option --csv. Hint: `streameval select --help` lists those that there are"),
    ("plan l.parquet --study s --looks 3", "plan has no option --looks any more. Hint: it is --stages 3, or "),
    ("plan l.parquet --study s --labels-more=3", "it is a verb: streameval grow STUDY --budget N"),
    ("cost --items 1e6 --at 100", "where 80 % of the tops are the same: --against 80% --for 'gain@100'\n"),
    ("select s --format csv", "the ending of the file says the format: --export tasks.label-studio.json; `streameval "),
    ("select s --frobnicate", "`streameval select --help` lists those that there are"),
    ("select s --ask what --quit", "did you mean --quiet?"),
    ("evaluate s --labls a.csv", "did you mean --labels?"),
    ("plan l.parquet --study s --misses 3", "--misses is an option of `evaluate`"),
    ("plan l.parquet --out s", "has no option --out. Hint: the folder of the study is named by --study; --out is "),
    ("evaluate s pyproject.toml", "nothing takes 'pyproject.toml'. Hint: labels are given by name: --labels pyproject"),
    ("evaluate s extra", "nothing takes 'extra'. Hint: labels are given by name: --labels extra"),
    ("labels s extra", "nothing takes 'extra'. Hint: options go by name; `streameval labels --help` lists them"),
    ("select s extra", "nothing takes 'extra'. Hint: options go by name; `streameval select --help` lists them"),
])  # fmt: skip
def test_an_unknown_option_is_answered_by_what_its_own_verb_has(capsys, command, said):
    assert run(command.split()) == 2
    assert said in capsys.readouterr().err


def test_help_with_per_shows_no_flag_that_is_refused_there(shown):
    found = panels(shown("plan", "--per", "user"))
    flags = {name for names in found.values() for name in names}
    assert {"seed", "per", "for", "budget", "confidence", "score", "judge"} <= flags
    assert not {"method", "by", "key", "nan", "stages", "alpha", "on", "dry-run"} & flags
    for command, there in ((["plan"], True), (["plan", "--for", "map"], False), (["plan", "--against", "x"], False)):
        assert ("dry-run" in {name for names in panels(shown(*command)).values() for name in names}) == there
    alone = {name for names in panels(shown("exact", "--per", "user")).values() for name in names}
    assert not {"labels", "on", "misses", "method", "dry-run"} & alone
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
    (here / "streameval.toml").write_text('[plan]\nseed = 7\nbudget = 300\nstages = "3:later"\n[cost]\nitems = 10\n')
    assert run(["plan", items, "--study", "a"]) == 0
    assert run(["plan", items, "--study", "b", "--seed", "8"]) == 0
    first, second = (Study(here / name).plan() for name in "ab")
    assert (first.seed, second.seed) == (7, 8)
    assert first.parameters["budget"] == second.parameters["budget"] == 300
    assert run(["grow", "a", "--budget", "500"]) == 0  # it grows as it was planned
    assert Study(here / "a").plan().table.num_rows > first.table.num_rows


def test_a_file_says_what_is_wanted(here, items):
    (here / "streameval.toml").write_text('[plan]\nfor = ["precision@100 >= 0.5 zone 0.02", "precision@500 >= 0.4"]\n')
    assert run(["plan", items, "--study", "a"]) == 0
    plan = Study(here / "a").plan()
    assert (plan.questions, plan.parameters["zone"]) == (("precision@100 >= 0.5", "precision@500 >= 0.4"), "0.02")


@pytest.mark.parametrize(("text", "said"), [
    ("[plan\n", "streameval: streameval.toml: Expected ']'"),
    ("[plan]\nmetod = 1\n", "streameval.toml, line 2: plan has no option --metod. Hint: did you mean --method?"),
    ("[plan]\nseed = 7\n\nsed = 7\n", "streameval.toml, line 4: plan has no option --sed. Hint: did you mean --seed?"),
    ("[cost]\nsed = 1\n[ plan ]\n'sed' = 7\n", "streameval.toml, line 4: plan has no option --sed."),
    ("[plan.seed]\na = 7\n", "streameval.toml: plan has no option --seed.a. Hint: did you mean --seed?"),
    ("seed = 7\n", "streameval.toml, line 1: 'seed' stands in no table. Hint: [plan] above it, say"),
    ("[plan]\nseed = 7\n[evalute]\nvote = 'all'\n",
     "streameval.toml, line 3: there is no command 'evalute'. Hint: did you mean 'evaluate'?"),
    ("plan = 3\n", "streameval.toml, line 1: 'plan' is no table. Hint: [plan] and below it options of plan"),
    ("[[plan]]\nseed = 3\n", "streameval.toml: 'plan' is no table. Hint: [plan] and below it options of plan"),
    ("[plan]\nquestions = ['precision@10 >= 0.9']\n",
     "streameval.toml, line 2: plan has no option questions. Hint: here it is 'for'"),
    ("[plan]\nzone = 0.02\n", "streameval.toml, line 2: plan has no option --zone any more. Hint: it is said behind"),
    ("[plan]\nconfidence = 'x'\n", "streameval.toml, line 2: Invalid value for confidence"),
    ("[plan]\nbudget = 9\n", "--alpha and --budget were both given, and a plan is made for one. Hint: leave out one"),
])  # fmt: skip
def test_a_file_that_cannot_be_meant_is_refused_and_named(here, items, capsys, text, said):
    (here / "streameval.toml").write_text(text)
    assert run(["plan", items, "--study", "a", "--alpha", "0.1"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert (err.count("\n"), err.count("streameval.toml")) == (1, 1)
    assert not (here / "a").exists()
