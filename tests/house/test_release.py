"""What a release shows: one version, a change log that names it, a page without links to files that are not there."""

import re
import tomllib

from places import HOME

import streameval

PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text())
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]


def shown_on_an_index():
    text = "".join((HOME / fragment["path"]).read_text() for fragment in HOOK["fragments"])
    for substitution in HOOK["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    return text


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert (HOME / PROJECT["tool"]["hatch"]["version"]["path"]).samefile(streameval.__file__)
    assert f"version: {streameval.__version__}\n" in (HOME / "CITATION.cff").read_text()


def test_the_change_log_says_what_is_new_in_this_version():
    assert re.search(rf"^## {re.escape(streameval.__version__)} \(", (HOME / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_an_index_shows_no_link_and_no_picture_that_lies_beside_the_readme():
    shown = shown_on_an_index()
    assert "](" in (HOME / "README.md").read_text()
    assert not re.search(r"\]\((?!https?:)", shown)
    assert "Begin with concepts, labels and Python." in " ".join(shown.split())


def test_examples_in_the_guide_name_this_version():
    for path in (HOME / "streameval" / "guide").glob("*.md"):
        for named in re.findall(r"streameval-(\d+\.\d+\.\d+)", path.read_text()):
            assert named == streameval.__version__, path.name


def test_the_source_distribution_holds_what_its_tests_read():
    sources = "".join(path.read_text() for path in (HOME / "tests").rglob("*.py"))
    read = set(re.findall(r'HOME / "([\w.-]+)"', sources)) - {"pyproject.toml", "kernels"}
    assert read <= {*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
