"""Tasks go out to every tool whole, and what comes back is what people said."""

import base64
import csv
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from label_tables import account_of, judged, small_study
from places import RECORDED
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.labelling.exports import available, format_of, label_studio
from streameval.labelling.reading import read_votes
from streameval.parquet.account import Forecast
from streameval.rankings.ranking import Ranking
from streameval.study import Study
from streameval.verbs.select import rehearsal

ODD = st.sampled_from("=+-@\t\r\n\"'<>&,\u202e\u200f\0\x1b")
NASTY = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), ODD), max_size=12)
MARKUP = st.sampled_from(["<script>alert(1)</script>", "</script>", "=HYPERLINK(1)", "]]>"])
PAYLOADS = st.lists(st.one_of(NASTY, MARKUP), min_size=1, max_size=5)


def tasks_of(texts):
    n = len(texts)
    return pa.table({"se_study": ["s"] * n, "se_task": list(range(1, n + 1)), "text": texts, "label": texts,
                     "n": [-1.5] * n})  # fmt: skip


def written(suffix, tasks, folder):
    found = format_of("x" + suffix).files(tasks, folder / f"tasks{suffix}")
    for path, write in found.items():
        write(str(path))
    return list(found)


def shown_on(path):
    """The tasks as the page's script gets them."""
    page = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="tasks">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def texts_in(suffix, path):
    if suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as stream:
            return [(row["text"], row["label_item"]) for row in csv.DictReader(stream)]
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        return [(row["text"], row["label_item"]) for row in rows]
    if suffix == ".html":
        return [tuple(cells[:2]) for _, cells in shown_on(path)["tasks"]]
    return [(one["data"]["text"], one["data"]["label_item"]) for one in json.loads(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("suffix", list(available()))
@settings(max_examples=examples(8, 40), suppress_health_check=list(HealthCheck))
@given(texts=PAYLOADS)
def test_payloads_survive_every_export(suffix, texts, tmp_path_factory):
    path, *_ = written(suffix, tasks_of(texts), tmp_path_factory.getbasetemp())
    found = texts_in(suffix, path)
    expected = [text.replace("\0", "␀") for text in texts]
    for (text, label), said in zip(found, expected, strict=True):
        assert label == text
        assert text in (said, "'" + said) if suffix == ".csv" else text == said
        if suffix == ".csv":
            assert not text.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    if suffix == ".html":
        assert path.read_text(encoding="utf-8").count("<script") == 2


def test_numbers_in_csv_stay_numbers(tmp_path):
    (path,) = written(".csv", tasks_of(["x"]), tmp_path)
    assert path.read_bytes().startswith("\ufeffse_study".encode())  # by this Excel knows UTF-8
    assert path.read_text().splitlines()[1] == "s,1,x,x,-1.5,"


QUESTION = ["--ask", "Do both mean the same?", "--positive", "same <1>", "--negative", "different"]


def test_the_question_is_on_every_export_and_its_words_come_back_as_labels(tmp_path, capsys):
    study = small_study(tmp_path)
    for suffix in available():
        assert run(["select", str(study), "--export", str(tmp_path / f"t{suffix}"), *QUESTION]) == 0
    words = {"text": "Do both mean the same?", "yes": "same <1>", "no": "different", "images": [], "guidelines": ""}
    assert shown_on(tmp_path / "t.html")["question"] == words
    with open(tmp_path / "t.csv", newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["se_question"] == "Do both mean the same? 1: same <1>, 0: different"
    done = tmp_path / "done.csv"
    with open(done, "w", newline="") as stream:
        out = csv.DictWriter(stream, list(rows[0]))
        out.writeheader()
        out.writerows({**row, "label": "1"} for row in rows)
    assert account_of(study, done)["labelled"] == 60
    task = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])
    assert task["meta"]["question"] == "Do both mean the same? accept: same <1>, reject: different"
    view = ElementTree.parse(tmp_path / "t.label-studio.xml").getroot()
    assert view.findall("Header")[-1].get("value") == "Do both mean the same?"
    choices = [(one.get("value"), one.get("alias")) for one in view.findall("Choices/Choice")]
    assert choices == [("same <1>", "positive"), ("different", "negative")]
    assert run(["select", str(study), "--export", str(tmp_path / "x.csv"), "--ask", "Same?", "--positive", "no"]) == 2
    assert "both answers are called 'no'" in capsys.readouterr().err


PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


def test_pictures_and_guidelines_are_kept_and_on_every_export_that_shows_them(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    names = [str(tmp_path / "a.png"), "https://example.org/b.png", None, ""] * 15
    items = pa.table({"photo": names, "raw": [PNG] * 60, "text": ["one\ntwo"] * 60})
    pq.write_table(items, tmp_path / "list.parquet")
    streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "study", method="uniform", alpha=0.05, seed=1)
    (tmp_path / "how.md").write_text("# Rules\n\nNo <script>. [a](javascript:x) ![b](https://x.org/y.png)\n")
    asked = {"ask": "A bird?", "guidelines": str(tmp_path / "how.md"), "image": "photo,raw"}
    streameval.select(tmp_path / "study", export=tmp_path / "t.html", **asked)
    for suffix in (".label-studio.json", ".jsonl"):  # what is asked is in the study by now
        streameval.select(tmp_path / "study", export=tmp_path / f"t{suffix}")
    inside = "data:image/png;base64," + base64.b64encode(PNG).decode()
    shown = shown_on(tmp_path / "t.html")
    assert shown["question"]["images"] == ["photo", "raw"]
    assert {tuple(cells[:2]) for _, cells in shown["tasks"]} == {
        (inside, inside), ("https://example.org/b.png", inside), ("", inside)
    }  # fmt: skip
    rules = shown["question"]["guidelines"]
    assert "<h1>Rules</h1>" in rules
    assert not re.search("<script|href=.javascript|<img", rules)
    view = (tmp_path / "t.label-studio.xml").read_text()
    assert '<Image name="show_photo" value="$photo"/>' in view
    assert 'white-space: pre; overflow-x: auto"><Text name="show_text"' in view
    assert "# Rules" in ElementTree.fromstring(view).find("Collapse/Panel/View/Header").get("value")
    tasks = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert {task["image"] for task in tasks} == {inside, "https://example.org/b.png", ""}
    for task in tasks:
        task |= {"answer": "accept", "_input_hash": 1}
    (tmp_path / "back.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    assert account_of(tmp_path / "study", tmp_path / "back.jsonl")["labelled"] == 60


@pytest.mark.parametrize(
    ("value", "said"), [("none.png", "none.png: no picture in the folder"), (b"<svg/>", "is no image")]
)
def test_what_is_no_picture_is_refused(value, said, tmp_path):
    pq.write_table(pa.table({"photo": [value] * 60}), tmp_path / "list.parquet")
    streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "study", method="uniform", alpha=0.05, seed=1)
    with pytest.raises(streameval.InputError, match=said):
        streameval.select(tmp_path / "study", export=tmp_path / "t.html", image="photo")
    with pytest.raises(streameval.InputError, match="image: the tasks show no column 'phot'"):
        streameval.select(tmp_path / "study", export=tmp_path / "t.html", image="phot")
    with pytest.raises(streameval.InputError, match="name a Markdown file"):
        streameval.select(tmp_path / "study", export=tmp_path / "t.html", guidelines="nowhere.md")


def numbers_in(files):
    return [one["data"]["se_task"] for name in files for one in json.loads(name.read_text())]


def test_label_studio_files_are_cut_where_they_must_be(tmp_path, monkeypatch):
    tasks = tasks_of([f"text {i}" for i in range(25)])
    path, config = written(".label-studio.json", tasks, tmp_path)
    assert path.name == "tasks.label-studio.json"
    view = ElementTree.fromstring(config.read_text())
    assert [one.get("value") for one in view.findall("Text")] == ["$text", "$label_item", "$n"]
    assert [one.get("value") for one in view.findall("Choices/Choice")] == ["positive", "negative"]
    assert label_studio.configuration(["se_task", "odd name"]).count("$se_task") == 1
    monkeypatch.setattr(label_studio, "_MOST_TASKS", 10)
    *several, _ = written(".label-studio.json", tasks, tmp_path)
    assert [one.name for one in several] == [f"tasks-000{i}.label-studio.json" for i in (1, 2, 3)]
    assert numbers_in(several) == list(range(1, 26))
    monkeypatch.setattr(label_studio, "_MOST_BYTES", 300)
    *many, _ = written(".label-studio.json", tasks, tmp_path)
    assert all(one.stat().st_size <= 300 for one in many)
    assert numbers_in(many) == list(range(1, 26))
    with pytest.raises(InputError, match="task 1 alone has"):
        written(".label-studio.json", tasks_of(["x" * 400]), tmp_path)


def test_every_format_comes_back(tmp_path):
    study = small_study(tmp_path)
    plan = Study(study).plan()
    items = Study(study).items(plan)
    streameval.select(study, export=tmp_path / "t.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    answers = ["accept", "reject", "ignore"]
    back = [{**one, "answer": answers[one["se_task"] % 3], "_timestamp": 1_700_000_000 + i, "_annotator_id": "ann",
             "_input_hash": 1, "_task_hash": 2} for i, one in enumerate(lines)]  # fmt: skip
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, back)))
    votes = read_votes(tmp_path / "b.jsonl", plan, items).table.to_pylist()
    values = {0: 1.0, 1: 0.0, 2: None}
    assert [row["value"] for row in votes] == [values[row["task"] % 3] for row in votes]
    assert {row["state"] for row in votes} == {"answer", "skip"}
    assert {row["annotator"] for row in votes} == {"ann"}
    assert votes[0]["time"].year == 2023
    chosen = [{**one, "answer": answers[i % 3], "accept": [["positive"], ["negative"], []][i % 3], "_task_hash": 2}
              for i, one in enumerate(lines)]  # fmt: skip
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, chosen)))
    states = [row["state"] for row in read_votes(tmp_path / "c.jsonl", plan, items).table.to_pylist()]
    assert states == ["answer", "skip", "skip"] * 20


@pytest.mark.parametrize(("name", "skips"), [("full.json", True), ("min.json", False), ("rows.csv", False)])
def test_exports_recorded_from_label_studio(name, skips, tmp_path):
    decided = {int(task): said for task, said in json.loads((RECORDED / "decided.json").read_text()).items()}
    study = tmp_path / "study"
    n = len(decided)
    pq.write_table(pa.table({"text": ["t"] * n}), tmp_path / "items.parquet")
    streameval.plan(str(tmp_path / "items.parquet"), study, method=f"paula(epsilon=1.0, window={n})", seed=0)
    streameval.select(study)
    recorded_selection(study / "selection.parquet")
    plan, path = Study(study).plan(), tmp_path / name
    old = re.search(r"[0-9a-f]{16}", (RECORDED / "study").read_text()).group()
    path.write_text((RECORDED / name).read_text(encoding="utf-8").replace(old, plan.plan_id), encoding="utf-8")
    found = judged(study, path)
    task_of = dict(zip(*(Study(study).selection(plan).column(c).to_pylist() for c in ("rank", "se_task")), strict=True))
    for row in found.label_table.to_pylist():
        said = [one for one in decided[task_of[row["rank"]]] if one is not None]
        assert (row["votes"], row["positive_votes"]) == (len(said), sum(said))
    people = found.summary["agreement"]["annotators"]
    assert len(people) == 2
    assert "" not in people
    assert sum(one["skips"] for one in people.values()) == skips * sum(
        one is None for v in decided.values() for one in v
    )
    assert found.summary["account"]["skipped"] == skips * sum({*v} == {None} for v in decided.values())


def recorded_selection(path):
    """Make a selection that of the recorded tasks: their texts, numbered from 1 as tasks were then."""
    texts = {one["data"]["se_task"]: one["data"]["text"] for one in json.loads((RECORDED / "full.json").read_text())}
    table = pq.read_table(path)
    numbers = table.column("se_task").to_pylist()
    tasks = [number - min(numbers) + 1 for number in numbers]
    for column, values in (("se_task", tasks), ("text", [texts[task] for task in tasks])):
        table = table.set_column(table.column_names.index(column), column, pa.array(values))
    kept = {key: value for key, value in table.schema.metadata.items() if key != b"streameval_checksum"}
    pq.write_table(table.replace_schema_metadata(kept), path)


def test_the_next_batch_holds_what_has_no_label(tmp_path):
    study = small_study(tmp_path)
    account_of(study, pa.table({"rank": [1, 2, 3, 3], "label": [1, 0, 1, 0]}))
    made = streameval.select(study, export=tmp_path / "next.csv", remaining=True)
    assert made.tasks == 58
    selection = pq.read_table(study / "selection.parquet")
    labelled = {row["se_task"] for row in selection.to_pylist() if row["rank"] in (1, 2)}
    with open(tmp_path / "next.csv", newline="") as stream:
        numbers = [int(row["se_task"]) for row in csv.DictReader(stream)]
    assert numbers == sorted(numbers)
    assert not labelled & set(numbers)
    assert selection.num_rows == 60


def test_a_second_export_reads_nothing_of_the_list_again(tmp_path, capsys, monkeypatch):
    study = small_study(tmp_path)
    first = (study / "selection.parquet").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Ranking, "fetch", None)  # nothing may call it
        assert run(["select", str(study), "--export", str(tmp_path / "again.jsonl")]) == 0
        assert "60 items fetched before are used again" in capsys.readouterr().out
        made = streameval.select(study, columns=["text"], export=tmp_path / "texts.csv", remaining=True)
        assert rehearsal(study).would_read == Forecast()
    assert made.table.column_names == ["rank", "stratum", "draw_weight", "se_task", "text"]
    assert made.already
    assert (study / "selection.parquet").read_bytes() == first
    assert streameval.select(study, columns=["id"]).table.column_names[-1] == "id"
    pq.write_table(
        pq.read_table(study / "selection.parquet"), study / "selection.parquet"
    )  # no longer as it was written
    assert streameval.select(study, columns=["id"]).fetched.rows_read > 0
    assert streameval.select(study, columns=["id", "text"]).fetched.rows_read > 0, "it held no texts"
    where = Path(Study(study).plan().location["source"][0])
    listed = where.read_bytes()  # of all small studies
    pq.write_table(pa.table({"id": [1]}), where)
    try:
        with pytest.raises(streameval.StudyError, match="fingerprint"):
            streameval.select(study)
    finally:
        where.write_bytes(listed)


def test_repeats_and_controls_tell_of_people_and_never_vote(tmp_path, capsys):
    study = small_study(tmp_path)
    known = tmp_path / "known.csv"
    known.write_text("id,name,text,label\n1000,c1,surely,1\n1001,c2,never,0\n")
    export = ["select", str(study), "--export", str(tmp_path / "t.csv"), "--repeats", "5", "--controls", str(known)]
    assert run(export) == 0
    first = (tmp_path / "t.csv").read_bytes()
    assert run(export) == 0
    assert (tmp_path / "t.csv").read_bytes() == first
    with open(tmp_path / "t.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len({row["se_task"] for row in rows}) == len(rows) == 67
    assert sum(row["name"] == "c1" for row in rows) == 1
    done = tmp_path / "done.csv"
    with open(done, "w", newline="") as stream:
        out = csv.DictWriter(stream, [*rows[0], "annotator"])
        out.writeheader()
        out.writerows({**row, "label": "1", "annotator": "ann"} for row in rows)
    found = streameval.evaluate(study, labels=done)
    assert (found.summary["account"]["votes"], found.summary["account"]["labelled"]) == (60, 60)
    ann = found.summary["agreement"]["annotators"]["ann"]
    assert (ann["repeats"], ann["repeats_equal"], ann["controls"], ann["controls_right"]) == (5, 5, 2, 1)
    capsys.readouterr()
    known.write_text("id,name,text,label\n1000,c1,surely,\n")
    assert run(export) == 2
    assert "row 1 has no answer" in capsys.readouterr().err
    known.write_text("id,text,label\n1000,surely,1\n")
    assert run(export) == 2
    assert "no column 'name'" in capsys.readouterr().err
    assert run(["select", str(study), "--remaining"]) == 2
    assert "--export" in capsys.readouterr().err


DRIVEN = """{
const said = {}, who = document.getElementById("who");
const name = text => { who.value = text; who.dispatchEvent(new Event("change")); };
let saved = null;
URL.createObjectURL = blob => { saved = blob; return "data:,"; };
window.confirm = () => true;
const press = id => document.getElementById(id).click(), count = () => document.getElementById("count").textContent;
(async () => {
  press("one"); press("save");
  said.nameless = [count(), saved, document.getElementById("trouble").textContent];
  name("Anna"); press("one"); press("zero");
  name("=Bob"); said.bob = count(); press("skip"); press("save");
  said.bobs = await saved.text();
  name("Anna"); said.anna = count(); press("save"); said.annas = await saved.text();
  press("again"); said.over = count();
  name("Bob"); said.after = count();
  const pre = document.createElement("pre"); pre.id = "found"; pre.textContent = JSON.stringify(said);
  document.body.append(pre);
})();
}"""


@pytest.mark.slow
def test_people_who_share_a_computer_do_not_share_their_answers(tmp_path):
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium here")
    (path,) = written(".html", tasks_of(["a", "b", "c"]), tmp_path)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text(encoding="utf-8"))
    path.write_text(text.replace("</body>", f"<script>{DRIVEN}</script></body>"), encoding="utf-8")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=5000",
               f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{path}"]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert said["nameless"] == ["0 of 3 answered", None, "Enter your name first: answers are saved under it."]
    assert (said["bob"], said["anna"], said["over"], said["after"]) == (
        "0 of 3 answered", "2 of 3 answered", "0 of 3 answered", "1 of 3 answered")  # fmt: skip
    assert [line.split(",")[1:4] for line in said["annas"].split()[1:]] == [["1", "1", '"Anna"'], ["2", "0", '"Anna"']]
    assert [line.split(",")[1:4] for line in said["bobs"].split()[1:]] == [["1", "skip", '"Bob"']]
