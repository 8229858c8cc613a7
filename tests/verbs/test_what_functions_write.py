"""What commands write and say beside their results, functions of the same names do too."""

import pytest

import streameval
from streameval.errors import InputError


@pytest.fixture
def pair(catalogue):
    return [catalogue.path(f"{name}-evaluated") for name in ("curve", "uniform")]


def test_a_report_draws_every_chart_beside_its_page(pair, tmp_path, monkeypatch):
    """No picture is drawn here: all take long, and test_charts draws every chart."""
    monkeypatch.setattr("streameval.verbs.report.picture", lambda chart, kind: kind.encode())
    page, *pictures = streameval.report(pair[0], out=tmp_path / "page.html", plot=tmp_path / "charts")
    assert page == tmp_path / "page.html"
    assert "<html" in page.read_text()
    assert {one.name for one in pictures} >= {"precision.svg", "precision.png", "recall.svg", "recall.png"}
    assert {*pictures} == {*(tmp_path / "charts").iterdir()}


def test_a_report_without_charts_is_one_path(pair, tmp_path):
    assert streameval.report(*pair, out=tmp_path / "both.html") == tmp_path / "both.html"


def test_a_comparison_writes_its_tables_and_its_picture(pair, tmp_path):
    found = streameval.compare(*pair, out=tmp_path / "tables", plot=tmp_path / "both.svg")
    assert {one.name for one in (tmp_path / "tables").iterdir()} == {"curves.parquet", "differences.parquet"}
    assert (tmp_path / "both.svg").read_text().startswith("<svg")
    assert found.differences.num_rows


def test_what_stands_there_and_differs_is_kept_until_it_may_be_replaced(pair, tmp_path):
    (tmp_path / "both.svg").write_text("mine")
    with pytest.raises(InputError, match="name another file, or replace it with existing='replaced'"):
        streameval.compare(*pair, plot=tmp_path / "both.svg")
    assert (tmp_path / "both.svg").read_text() == "mine"
    streameval.compare(*pair, plot=tmp_path / "both.svg", existing="replaced")
    assert (tmp_path / "both.svg").read_text().startswith("<svg")


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(pair, tmp_path):
    with pytest.raises(InputError, match=r"cannot draw a '\.gif'"):
        streameval.compare(*pair, plot=tmp_path / "both.gif")
    with pytest.raises(InputError, match=r"cannot draw a '\.gif'"):
        streameval.simulate("no-such-list.parquet", label="right", plot=tmp_path / "methods.gif")


def test_a_simulation_draws_its_first_bands(catalogue, tmp_path):
    known = {"label": "right", "method": ["uniform"], "replicates": 1, "budget": 200}
    streameval.simulate(catalogue.lists / "stored.parquet", plot=tmp_path / "methods.html", **known)
    assert "<html" in (tmp_path / "methods.html").read_text()


def test_a_cost_is_of_a_list_or_of_a_number_of_items():
    assert streameval.cost(items=1_000).n_items == streameval.cost(1_000).n_items == 1_000
    with pytest.raises(InputError, match="a list and a number of items were given"):
        streameval.cost("list.parquet", items=1_000)
    with pytest.raises(InputError, match="neither a list nor a number of items is given"):
        streameval.cost()


def test_a_cost_says_what_a_sample_is_worth_where_its_size_is_given():
    costs = streameval.cost(items=1_000_000, drawn="uniform(size=2_000)")
    assert (costs.adopted["labels"], costs.adopted["begins"]) == (2_000, 5_000)
    assert streameval.cost(items=1_000_000).adopted is None


def test_windows_are_those_of_methods(catalogue):
    stored = catalogue.lists / "stored.parquet"
    several = ["paula(window=50, epsilon=0.1)", "paula(epsilon=0.2)"]
    listed, typed = (streameval.exact(stored, label="right", method=methods).summary["diagnostics"]["windows"]
                     for methods in (several, ", ".join(several)))  # fmt: skip
    assert listed == typed
    assert [(row["window"], row["epsilon"]) for row in listed] == [(50, 0.1), (100, 0.2)]
    for method in ("uniform", "paula(window=50, tail=closed)"):
        with pytest.raises(InputError, match="exact tests what paula assumes of windows, by window and epsilon alone"):
            streameval.exact(stored, label="right", method=method)


def test_rows_of_many_rankings_may_be_left_out(catalogue):
    many = {"label": "label", "per": "query", "score": "score"}
    runs = catalogue.lists / "runs.parquet"
    assert streameval.exact(runs, **many).rankings.num_rows > 1
    assert streameval.exact(runs, rows="left out", **many).rankings is None


def test_words_extrapolate_as_numbers_do():
    words = ("precision@recall:0.8=0.6", "prevalence=0.03", "precision@recall:0.75")
    numbers = {"precision": 0.6, "recall": 0.8, "prevalence": 0.03, "target": 0.75}
    assert round(float(streameval.extrapolate(*words).precision), 4) == 0.6744
    assert float(streameval.extrapolate(**numbers).precision) == float(streameval.extrapolate(*words).precision)
    with pytest.raises(InputError, match="at names cutoffs of a study"):
        streameval.extrapolate(**numbers, at=100)


def test_documents_to_review_come_with_the_items_of_words_and_of_numbers():
    words = ("precision@recall:0.8=0.6", "prevalence=0.03", "precision@recall:0.75")
    for given in (words, (0.6, 0.8, 0.03, 0.75)):
        assert round(float(streameval.extrapolate(*given, items=100_000).documents)) == 3_336
        assert streameval.extrapolate(*given).documents is None


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((5,), {}, "a point is precision, recall, prevalence, target. Hint: give each of the four once"),
        ((0.6, 0.8, 0.03), {"precision": 0.6}, "a point is precision, recall, prevalence, target"),
        ((), {"precision": "x", "recall": 0.8, "prevalence": 0.03, "target": 0.5}, "precision is 'x', which is no num"),
        ((0.6, 0.8, 0.03, 0.75), {"items": 0}, "items is 0. Hint: give a whole number, 1 or more"),
    ],
)
def test_a_point_that_is_none_is_refused(given, named, message):
    with pytest.raises(InputError, match=message):
        streameval.extrapolate(*given, **named)


def test_a_study_is_extrapolated_from_by_words_too(pair):
    named, _ = streameval.extrapolate(pair[0], "precision@recall:0.75", at="100")
    assert named == streameval.extrapolate_study(pair[0], to=0.75, at=100)[0]


@pytest.mark.parametrize("none", [(), []])
def test_where_no_source_is_named_to_forget_the_labelling_is_shown(catalogue, none):
    shown = streameval.labels(catalogue.path("curve-evaluated"), forget=none)
    assert shown.account == streameval.labels(catalogue.path("curve-evaluated")).account
