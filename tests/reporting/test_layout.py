"""The one layout of all pages: a heading, paragraphs, then sections; whatever kind of study a page is of."""

from html.parser import HTMLParser

import pytest

import streameval

STUDIES = ("curve-evaluated", "curve-half-labelled", "slices-evaluated", "paula-evaluated", "gate-decided",
           "cut-first-round", "comparison-evaluated", "drawn-rankings-evaluated", "labelled-list",
           "labelled-rankings")  # fmt: skip
EMPTY = ("input", "line", "rect", "polyline", "polygon", "path")


class Outline(HTMLParser):
    """Elements that stand in `main`, and what each heading of a part is the first of."""

    def __init__(self, page):
        super().__init__()
        self.open, self.parts, self.headed, self.before = [], [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if self.open == ["main"]:
            self.parts.append(tag)
        if self.open and tag == "h2":
            self.headed.append((self.open[-1], self.before))
        if (self.open or tag == "main") and tag not in EMPTY:
            self.open.append(tag)
        self.before = tag

    def handle_endtag(self, tag):
        if self.open[-1:] == [tag]:
            self.open.pop()


def check_layout(page):
    """Check that all parts of a page are those of the layout, and that each has its heading first."""
    seen = Outline(page)
    after = seen.parts.index("section")
    assert (seen.open, seen.parts[0]) == ([], "h1")
    assert {*seen.parts[1:after]} == {"p"}
    assert {*seen.parts[after:]} == {"section"}
    assert {*seen.headed} == {("section", "section")}
    assert page.rpartition("<h2>")[2].startswith("Provenance</h2>")


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_any_kind_is_a_heading_paragraphs_and_sections(name, catalogue):
    check_layout((catalogue.path(name) / "report.html").read_text())


def test_so_is_the_page_of_several_studies(catalogue, tmp_path):
    studies = [catalogue.path(name) for name in ("curve-evaluated", "uniform-evaluated", "labelled-list")]
    check_layout(streameval.report(*studies, out=tmp_path / "page.html", examples="hidden").read_text())
