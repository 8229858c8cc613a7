"""The attack's own reader and writer of Parquet: what it calls undamaged is, and what it calls damaged is not."""

import pytest
from attack import golden, layout
from attack.consistent import contradictions
from attack.thrift import encode
from attack.writers import WRITERS, write


@pytest.mark.parametrize("name", WRITERS)
def test_an_undamaged_file_does_not_contradict_itself(tmp_path, name):
    raw = write(name, tmp_path).read_bytes()
    file = layout.read(raw)
    assert contradictions(raw) == []
    assert layout.with_footer(raw, file.footer_at, file.footer) == raw
    for page in (page for chunk in file.chunks for page in chunk.pages):
        assert encode(page.header) == raw[page.at : page.body]


@pytest.mark.parametrize("make", golden.DAMAGED, ids=lambda one: one.__name__)
def test_a_damaged_file_contradicts_itself(make):
    file, raw = make()
    assert contradictions(file.raw) == []
    assert contradictions(raw) != []
