"""Argilla's exports as JSON: records of versions 1 and 2, with the responses of each person within."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from streameval.labelling.tools import answers

_STATUS = "response_status"


def recognises(names: Collection[str]) -> bool:
    """Tell whether a table has the columns that `flatten` makes."""
    return {_STATUS, "user_id"} <= set(names)


def columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Name the columns that `flatten` makes."""
    return {"label": ("label", "choice"), "annotator": ("user_id",), "time": ("updated_at",), "status": (_STATUS,)}


def flatten(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """One row per response: the record's id, metadata and fields, what was answered to each question, and who did.

    A record without a response is one row.
    """
    fields, responses = record.get("fields"), record.get("responses")
    if not isinstance(fields, Mapping) or not isinstance(responses, Mapping | list):
        return None
    metadata = record.get("metadata")
    item_metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    item = {"id": record.get("id"), "external_id": record.get("external_id"), **item_metadata, **fields}
    mine = {_STATUS: None, "user_id": None, "updated_at": None, "choice": None}
    by_person = _of_questions(responses) if isinstance(responses, Mapping) else _of_people(responses)
    item = {name: value for name, value in item.items() if name not in mine and name != "label"}
    return [item | mine | row for row in by_person] or [item | mine]


def _of_people(responses: list[Any]) -> Iterator[dict[str, Any]]:
    """Version 1: a response of each person, with a value of each question."""
    for response in responses:
        values = response.get("values") or {}
        answered = {question: answer.get("value") for question, answer in values.items() if isinstance(answer, Mapping)}
        moment = response.get("updated_at") or response.get("inserted_at")
        yield {
            **answers(answered),
            "user_id": _text(response.get("user_id")),
            _STATUS: response.get("status"),
            "updated_at": moment,
        }


def _of_questions(responses: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Version 2: of each question the answers, each with its person."""
    people: dict[str | None, dict[str, Any]] = {}
    status: dict[str | None, Any] = {}
    for question, responded in responses.items():
        for response in responded if isinstance(responded, list) else []:
            person = _text(response.get("user_id"))
            people.setdefault(person, {})[question] = response.get("value")
            status[person] = response.get("status") or status.get(person)
    for person, responded in people.items():
        yield {**answers(responded), "user_id": person, _STATUS: status[person]}


def _text(person: Any) -> str | None:
    return None if person is None else str(person)
