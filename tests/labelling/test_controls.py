"""Control items are shown as they are, and none whose key may have been another item's."""

import pyarrow as pa
import pytest

import streameval
from streameval.errors import InputError
from streameval.labelling.controls import read_controls

LIST = pa.schema([("id", pa.int64()), ("score", pa.float64()), ("text", pa.string())])


@pytest.mark.parametrize(("known", "said"), [
    ({"id": [1.0, float(2**53 + 1)]}, r"id '9007199254740992.0' is a float that is no exact whole number, in 1 row"),
    ({"id": pa.array([2**24 + 1.0], pa.float32())}, r"id '16777216.0' is a float that is no exact whole number"),
    ({"id": [0.5]}, r"id '0.5' is a float that is no exact whole number"),
    ({"id": ["9007199254740993.0"]}, r"id '9007199254740993.0' lost its last digits, in 1 row"),
])  # fmt: skip
def test_a_control_item_whose_key_may_have_been_anothers_is_refused(known, said):
    source = pa.table({**known, "label": [1] * len(next(iter(known.values())))})
    with pytest.raises(InputError, match=said):
        read_controls(source, ["id"], LIST, [])


def test_fractions_are_keys_of_no_control_item_whatever_type_the_key_has():
    source = pa.table({"score": [0.5], "text": [1.5], "label": [1]})
    for key in ("score", "text"):
        with pytest.raises(InputError, match=f"{key} '[01].5' is a float that is no exact whole number"):
            read_controls(source, ["score", "text"], LIST, [key])


def test_whole_floats_and_other_columns_are_shown_as_the_list_has_them():
    source = pa.table({"id": [7.0], "score": [0.5], "text": ["so"], "label": [1]})
    shown = read_controls(source, LIST.names, LIST, ["id"]).select(LIST.names)
    assert shown.to_pylist() == [{"id": 7, "score": 0.5, "text": "so"}]


@pytest.mark.parametrize("label", [[[1], [0]], [["yes"], ["no"]], ['["yes"]', '["no"]'], ["[1]", "0"]])
def test_a_label_that_is_a_list_of_one_is_its_element(label):
    source = pa.table({"id": [7, 8], "label": label})
    assert read_controls(source, ["id"], LIST, ["id"]).column("expected").to_pylist() == [1, 0]
    with pytest.raises(InputError, match="row 1 has no answer in 'label'"):
        read_controls(pa.table({"id": [7], "label": [[1, 0]]}), ["id"], LIST, ["id"])


def test_select_refuses_control_items_by_the_key_of_the_list(tmp_path):
    items = pa.table({"id": ["1", "2", "3"], "score": [0.3, 0.2, 0.1]})
    streameval.plan(items, tmp_path / "s", score="score", key="id", budget=3, seed=1)
    known = pa.table({"id": [1.5], "label": [1]})
    with pytest.raises(InputError, match=r"id '1.5' is a float that is no exact whole number"):
        streameval.select(tmp_path / "s", ranking=items, columns="id", export=tmp_path / "t.csv", controls=known)


@pytest.mark.parametrize("written", ["14", "14.0", " 14 ", "1.4e1"])
def test_texts_of_whole_numbers_are_the_items_they_name(written):
    source = pa.table({"id": [written], "score": ["0.5"], "text": ["14.0"], "label": ["1"]})
    shown = read_controls(source, LIST.names, LIST, ["id"]).select(LIST.names)
    assert shown.to_pylist() == [{"id": 14, "score": 0.5, "text": "14.0"}]


def test_a_text_that_is_no_whole_number_is_refused_as_it_stands():
    source = pa.table({"id": ["14.5"], "label": ["1"]})
    with pytest.raises(InputError, match=r"column 'id' of the control items is not int64 .*'14\.5'"):
        read_controls(source, ["id"], LIST, ["id"])
