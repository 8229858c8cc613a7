"""JSON is read whole or refused: rows are those of Python's own parser, whatever is put after one another."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

from streameval.errors import InputError
from streameval.labelling.duckdb_session import one_line_errors, open_session
from streameval.labelling.readers import open_source

OBJECTS = st.dictionaries(st.sampled_from(["id", "label"]), st.integers(0, 9), min_size=1)
SPACES = st.sampled_from(["", " ", "\n", "\r\n", "\t\n "])


@st.composite
def documents(draw):
    """Objects and arrays of objects, printed in one line or over several, with any space between."""
    parts = draw(st.lists(st.one_of(OBJECTS, st.lists(OBJECTS, max_size=3)), min_size=1, max_size=4))
    return "".join(json.dumps(part, indent=draw(st.sampled_from([None, 1]))) + draw(SPACES) for part in parts)


def rows_of_python(text):
    decode, at, rows = json.JSONDecoder().raw_decode, 0, []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decode(text, at)
        rows += document if isinstance(document, list) else [document]
    return [{name: str(value) for name, value in row.items()} for row in rows]


def rows_read(path):
    with open_session() as connection, one_line_errors(str(path)):
        opened = open_source(connection, str(path))
        rows = connection.sql("SELECT * FROM se_given ORDER BY se_row").to_arrow_table().drop_columns(["se_row"])
        assert not opened.rejected().table.num_rows
        return [{name: value for name, value in row.items() if value is not None} for row in rows.to_pylist()]


@settings(max_examples=examples(12, 1000))
@given(text=documents())
def test_rows_are_those_of_pythons_parser_or_the_file_is_refused(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "labels.json"
    path.write_text(text, newline="")
    with suppress(InputError):
        assert rows_read(path) == rows_of_python(text)


@pytest.mark.parametrize(("text", "rows"), [
    ('[{"id": 1}, {"id": 2}]\n[{"id": 3}]', 3),
    ('[{"id": 1}][{"id": 2}]', 2),
    ('[{"id": 1}]\n{"id": 2}\n{"id": 3}', 3),
    ('[{"id": 1}]\n\n[]\n', 1),
    ('[{"id": 1}]\n[{"id": 2}]\n[{"id": 3}]\n', 3),
])  # fmt: skip
def test_what_follows_an_array_is_read(tmp_path, text, rows):
    (tmp_path / "a.json").write_text(text)
    assert [row["id"] for row in rows_read(tmp_path / "a.json")] == [str(n + 1) for n in range(rows)]


@pytest.mark.parametrize(("text", "place"), [
    ('{"id": 1}\n\n{"id": 2, "label": 1, "label": 0}\n', "line 3 has the key 'label' twice"),
    ('{"id": 1, "id": 1}\n', "line 1 has the key 'id' twice"),
    ('[{"id": 1},\n{"id": 2, "label": 1, "label": 0}]', r"object 2 \(line 2\) has the key 'label' twice"),
    ('[{"data": {"id": 1, "id": 2}, "annotations": []}]', r"object 1 \(line 1\) has the key 'id' twice"),
])  # fmt: skip
def test_an_object_with_one_key_twice_is_refused_with_its_line(tmp_path, text, place):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=f"{place}. Hint: keep one of the two"):
        rows_read(tmp_path / "a.json")


@pytest.mark.parametrize("text", ['{\n"id": 1\n}\n{\n"id": 2\n}\n', '{"id": 1}\n{\n"id": 2\n}\n'])
def test_objects_that_go_over_lines_are_told_what_makes_one_line_of_each(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=r"jq -c \. FILE"), open_session() as connection:
        open_source(connection, str(tmp_path / "a.json")).rejected()


@pytest.mark.parametrize(("text", "line"), [
    ('[{"id": 1}],x', 1),
    ('[{"id": 1}]\n }}}', 2),
    ('[{"id": 1}]\n3', 2),
    ('[{"id": 1}\n', 2),
    ('{"id": 1}\n[{"id": 2}]\n', 2),
    ('{"id": 1}\n{\n"id": 2}\n', 2),
    ('{"id": 1}\n{"id": 2} {"id": 3}\n', 2),
])  # fmt: skip
def test_what_cannot_be_read_whole_is_refused_with_its_line(tmp_path, text, line):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=f"line {line}[^0-9]"):
        rows_read(tmp_path / "a.json")
