"""What label tools export, each in the shape of a real export: which rows are votes, whose, and of which item."""

import csv
import importlib.util
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import account_of

import streameval
from streameval.errors import InputError
from streameval.labelling.issues import SCHEMA
from streameval.reporting.label_lines import label_lines
from streameval.study import Study


def small_study(folder):
    """A study of 20 items, all of them planned; tools have ids of their own."""
    items = pa.table({"item": range(20), "text": ["t"] * 20})
    streameval.plan(items, folder / "study", method="uniform", budget=20, seed=0)
    return folder / "study"


WORDS = {"positive": "positive", "negative": "negative"}
SAID = ["positive", "negative", "positive"]  # of ranks 1 to 3


def doccano(folder):
    """A list of categories each; rank is a column of the task."""
    lines = [{"id": 40 + i, "text": "t", "rank": i, "label": [word], "Comments": []} for i, word in enumerate(SAID, 1)]
    lines.append({"id": 44, "text": "t", "rank": 4, "label": [], "Comments": []})
    return json_lines(folder / "admin.jsonl", lines)


def mturk(folder):
    head = ["HITId", "HITTypeId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime", "Input.rank",
            "Input.text", "Answer.label", "Answer.comment"]  # fmt: skip
    rows = [["H", "T", f"A{i}", "W1", "Approved", "Mon Nov 23 04:05:06 PST 2026", i, "t", word, ""]
            for i, word in enumerate(SAID, 1)]  # fmt: skip
    rows.append(["H", "T", "A9", "W2", "Rejected", "Mon Nov 23 04:06:06 PST 2026", 1, "t", "negative", "spam"])
    return delimited(folder / "Batch_1_batch_results.csv", head, rows, ",")


def toloka(folder):
    head = ["INPUT:rank", "INPUT:text", "OUTPUT:answer", "GOLDEN:answer", "HINT:text", "ASSIGNMENT:link",
            "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started",
            "ASSIGNMENT:submitted"]  # fmt: skip
    when = ["2026-11-23T04:05:06.000", "2026-11-23T04:05:16.000"]
    rows = [[i, "t", word, "", "", "", f"A{i}", "W1", "ACCEPTED", *when] for i, word in enumerate(SAID, 1)]
    rows.append([1, "t", "negative", "", "", "", "A9", "W2", "REJECTED", *when])
    return delimited(folder / "assignments.tsv", head, rows, "\t")


def argilla_1(folder):
    def record(rank, responses):
        return {"fields": {"text": "t"}, "metadata": {"rank": rank}, "responses": responses, "external_id": None,
                "suggestions": []}  # fmt: skip

    def response(user, word, status="submitted"):
        return {"user_id": user, "status": status, "values": {"sentiment": {"value": word}}}

    records = [record(i, [response("ann", word)]) for i, word in enumerate(SAID, 1)]
    records[0]["responses"].append(response("bob", "negative", "discarded"))
    return array(folder / "records.json", [*records, record(4, [])])


def argilla_2(folder):
    def record(rank, answers):
        return {"id": f"r{rank}", "status": "completed", "_server_id": "x", "fields": {"text": "t"},
                "metadata": {"rank": rank}, "suggestions": {}, "vectors": {},
                "responses": {"sentiment": answers} if answers else {}}  # fmt: skip

    def answer(user, word, status="submitted"):
        return {"value": word, "user_id": user, "status": status}

    records = [record(i, [answer("ann", word)]) for i, word in enumerate(SAID, 1)]
    records[0]["responses"]["sentiment"].append(answer("bob", "negative", "discarded"))
    return array(folder / "records.json", [*records, record(4, [])])


def control(name, *choices):
    return {"value": {"choices": [*choices]}, "id": "x", "from_name": name, "to_name": "text", "type": "choices"}


def annotation(result, who=1, **more):
    return {"id": 7, "completed_by": {"id": who, "email": f"p{who}@example.org"}, "result": result,
            "was_cancelled": False, "updated_at": "2026-11-23T04:05:06.000000Z", "lead_time": 3.5, **more}  # fmt: skip


def label_studio(folder):
    """A second control that does not concern us, and a review that rejected an annotation."""
    tasks = [{"id": i, "data": {"rank": i, "text": "t"},
              "annotations": [annotation([control("label", word), control("quality", "blurry", "dark")])]}
             for i, word in enumerate(SAID, 1)]  # fmt: skip
    tasks[0]["annotations"].append(annotation([control("label", "negative")], 2, last_action="rejected"))
    tasks.append({"id": 4, "data": {"rank": 4, "text": "t"}, "annotations": [annotation([control("quality", "dark")])]})
    return array(folder / "project-1.json", tasks)


def prodigy(folder):
    lines = [{"text": "t", "rank": i, "accept": [word], "answer": "accept", "_input_hash": i, "_task_hash": i,
              "_timestamp": 1790000000, "_annotator_id": "ann"} for i, word in enumerate(SAID, 1)]  # fmt: skip
    return json_lines(folder / "annotations.jsonl", lines)


def parquet_lists(folder):
    table = {"rank": [1, 2, 3, 4], "label": [["positive"], ["negative"], ["positive"], []]}
    pq.write_table(pa.table(table), folder / "votes.parquet")
    return folder / "votes.parquet"


def json_lines(path, lines):
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def array(path, records):
    path.write_text(json.dumps(records))
    return path


def delimited(path, head, rows, mark):
    with open(path, "w", newline="") as stream:
        csv.writer(stream, delimiter=mark).writerows([head, *rows])
    return path


TOOLS = [doccano, mturk, toloka, argilla_1, argilla_2, label_studio, prodigy, parquet_lists]
REJECTED = {mturk, toloka, argilla_1, argilla_2, label_studio}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
def test_an_export_is_read_for_what_people_said_and_rejected_work_is_no_vote(tool, tmp_path):
    study, labels = small_study(tmp_path), tool(tmp_path)
    account = account_of(study, labels, **WORDS)
    found = {name: account[name] for name in ("labelled", "positive", "votes", "unreadable", "unknown", "rejected")}
    assert found == {"labelled": 3, "positive": 2, "votes": 3, "unreadable": 0, "unknown": 0,
                     "rejected": int(tool in REJECTED)}  # fmt: skip
    tallied = Study(study).labels.sources()[0].table
    said = "\n".join(label_lines(SCHEMA.empty_table(), {"account": account, "sources": []}))
    assert said == ("1 row of work that was rejected or discarded: no vote." if tool in REJECTED else "")
    people = {row["annotator"] for row in tallied.to_pylist() if row["state"] == "answer"}
    assert len(people) == 1


def test_of_two_controls_that_may_be_meant_one_has_to_be_named(tmp_path):
    study = small_study(tmp_path)
    tasks = [{"id": i, "data": {"rank": i}, "annotations": [annotation([control("a", word), control("b", "dark")])]}
             for i, word in enumerate(SAID, 1)]  # fmt: skip
    labels = array(tmp_path / "p.json", tasks)
    with pytest.raises(InputError, match=r'row 1 has several labels in one: \{"a": "positive", "b": "dark"\}.*label'):
        streameval.evaluate(study, labels=labels)
    assert account_of(study, labels, label="a")["positive"] == 2


def test_a_label_of_several_choices_needs_the_one_that_counts(tmp_path):
    study = small_study(tmp_path)
    labels = json_lines(tmp_path / "l.jsonl", [{"rank": 1, "label": ["sport", "news"]}, {"rank": 2, "label": ["news"]},
                                               {"rank": 3, "label": []}])  # fmt: skip
    with pytest.raises(InputError, match=r'row 1 has several labels in one: \["sport","news"\]\. Hint: positive=WORD'):
        streameval.evaluate(study, labels=labels)
    account = account_of(study, labels, positive="sport")
    assert (account["positive"], account["labelled"], account["blank"]) == (1, 2, 1)
    Study(study).labels.forget("l.jsonl")
    account = account_of(study, labels, positive="sport", negative="news")  # a row with both is neither
    assert (account["positive"], account["labelled"], account["unreadable"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        (["fraud", "ok", "ok"], {"positive": "fruad"}, "no label is 'fruad'; there are 'ok' (2), 'fraud' (1)"),
        (["fraud", "ok", "scam"], {"positive": "fraud,scamm"}, "--positive scamm: no label is 'scamm'"),
        (["fraud", "ok", "ok"], {"positive": "fruad", "negative": "ok"}, "--positive fruad: no label is 'fruad'"),
        (["fraud", "ok", "ok"], {"positive": "fraud", "negative": "okay"}, "--negative okay: no label is 'okay'"),
        (["ok", "ok", "ok"], {"positive": "fraud", "negative": "ok"}, ""),
        (["no", "no", "0"], {"positive": "fraud"}, ""),
        (["fraud", "ok", "maybe"], {"positive": "fraud,scam", "negative": "ok"}, ""),
    ],
)  # fmt: skip
def test_a_named_word_that_no_label_is_is_refused_where_another_is_misread(rows, words, message, tmp_path):
    study = small_study(tmp_path)
    labels = delimited(tmp_path / "l.csv", ["rank", "label"], enumerate(rows, 1), ",")
    if not message:
        account_of(study, labels, **words)
        return
    with pytest.raises(InputError) as refused:
        streameval.evaluate(study, labels=labels, **words)
    assert message in refused.value.line
    assert not (study / "votes").exists()


@pytest.mark.parametrize(
    ("grades", "vote", "message"),
    [
        ([1, 2, 2], "majority", "--positive 2 --negative 1"),
        ([-1, -1, 1, 1], "majority", "--positive 1 --negative -1"),
        ([1, 3, 5], "majority", "--vote 'mean>=5'"),
        ([0.2, 0.9, 0.7, 0.4], "majority", "--vote 'mean>=0.7'"),
        ([1, 2, 2], "mean>=3", "vote rule 'mean>=3': none of 3 answers reaches 3, they go from 1 to 2"),
        ([0.2, 0.2], "mean>=3", "vote rule 'mean>=3': none of 2 answers reaches 3, all are 0.2"),
    ],
)
def test_hints_about_grades_take_values_that_occur_and_a_threshold_above_all_is_refused(
    grades, vote, message, tmp_path
):
    study = small_study(tmp_path)
    labels = delimited(tmp_path / "l.csv", ["rank", "label"], enumerate(grades, 1), ",")
    with pytest.raises(InputError) as refused:
        streameval.evaluate(study, labels=labels, vote=vote)
    assert message in refused.value.line
    assert account_of(study, labels, vote=f"mean>={max(grades)}")["positive"] > 0


def workbook(path, rows):
    """The first sheet of a workbook as Excel writes it, of texts and numbers, and an empty second one."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"

    def cell(value):
        text = f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return text if isinstance(value, str) else "<c/>" if value is None else f"<c><v>{value}</v></c>"

    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{office}/'
                       'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="answers" sheetId="1" '
                           'r:id="s1"/><sheet name="notes" sheetId="2" r:id="s2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">' + "".join(
            f'<Relationship Id="s{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in (1, 2)
        ) + "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{main}"><sheetData/></worksheet>',
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_the_first_sheet_of_a_workbook_is_a_table_of_labels(tmp_path):
    study = small_study(tmp_path)
    rows = [["rank", "label", "note"], [1, "yes", "a & b".replace("&", "&amp;")], [2, 0, None], [3, "skip", None]]
    labels = workbook(tmp_path / "labels.xlsx", rows)
    if importlib.util.find_spec("fastexcel") is None:
        with pytest.raises(InputError, match="Excel workbooks need fastexcel, which is not installed"):
            streameval.evaluate(study, labels=labels)
        return
    account = account_of(study, labels)
    assert (account["labelled"], account["positive"], account["skipped"]) == (2, 1, 1)


def test_numbers_of_a_workbook_that_may_be_another_are_no_keys(tmp_path):
    pytest.importorskip("fastexcel")
    study = small_study(tmp_path)
    labels = workbook(tmp_path / "labels.xlsx", [["rank", "label"], [2**53 + 2, 1]])
    with pytest.raises(InputError, match=r"labels\.xlsx.*9007199254740994"):
        streameval.evaluate(study, labels=labels)


def test_an_archive_that_is_no_workbook_is_refused(tmp_path):
    study = small_study(tmp_path)
    with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
        archive.writestr("labels.csv", "rank,label\n1,1\n")
    cut = workbook(tmp_path / "whole.xlsx", [["rank", "label"], [1, 1]]).read_bytes()[:200]
    (tmp_path / "cut.xlsx").write_bytes(cut)
    for name in ("labels.zip", "cut.xlsx"):
        with pytest.raises(InputError, match="this is a ZIP archive, and no whole Excel workbook"):
            streameval.evaluate(study, labels=tmp_path / name)
