"""A user's script, checked by mypy: names that are not there and arguments of another type are found."""

import tomllib

import mypy.api
from places import HOME

STUB = HOME / "streameval" / "__init__.pyi"
CALLS = {
    'streameval.plan("list.parquet", "study", budget=100, stages="2:later", alpha=None)': "",
    'streameval.evalute("study")': 'maybe "evaluate"?',
    'streameval.plan("list.parquet", "study", budget="many")': 'Argument "budget" to "plan"',
    'streameval.simulate("list.parquet", label="y", alpha="small")': 'Argument "alpha" to "simulate"',
    "streameval.cost(10**9, budjet=3)": 'did you mean "budget"?',
}


def test_mypy_finds_the_mistakes_of_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("\n".join(["import streameval", *CALLS]) + "\n")
    # of the package only the stub, so that the check takes a second
    flags = ["--strict", "--follow-imports=skip", "--config-file=", f"--cache-dir={tmp_path}"]
    said, _, _ = mypy.api.run([*flags, str(STUB), str(script)])
    for number, expected in enumerate(CALLS.values(), 2):
        found = "".join(line for line in said.splitlines() if f"script.py:{number}:" in line)
        assert expected in found
        assert bool(found) == bool(expected)


def test_every_function_says_what_it_returns():
    assert "-> Any" not in STUB.read_text()


def test_the_package_says_that_it_is_typed_and_how_to_cite_it():
    assert (HOME / "streameval" / "py.typed").exists()
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    assert "Typing :: Typed" in project["classifiers"]
    cited = (HOME / "CITATION.cff").read_text()
    assert project["authors"][0]["name"] in cited
