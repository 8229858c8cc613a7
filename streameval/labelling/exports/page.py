"""The labelling page: one HTML file, for those who have no tool; `streameval label` serves the same.

Keys 1, 0 and s (skip), back with the arrow or b; as a file, progress is kept in the browser, under the name of whoever
answers, so that people who share a computer do not share their answers; these are saved as a CSV with who said what and
when. The name is remembered while the tab is open. Items are data and never markup: they are put in as texts, and the
page's policy lets no script run but its own. No request leaves a file, but for pictures that the items name by address.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import pyarrow as pa

from streameval.labelling.exports import OURS, TaskQuestion, unambiguous
from streameval.labelling.exports.cells import address, dumps, records, text

SUFFIX = ".html"
HOW = "people open it in a browser and save their answers as CSV"
BACK = "labels-*.csv"


def as_html(markdown: str) -> str:
    r"""Turn Markdown into HTML: markup in it stays text, and links lead to the web or nowhere.

    >>> as_html("Say *yes* <script>")
    '<p>Say <em>yes</em> &lt;script&gt;</p>\n'
    """
    if not markdown:
        return ""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(markdown))


def write(tasks: pa.Table, path: str, question: TaskQuestion) -> None:
    """Write one self-contained file."""
    shown = unambiguous(tasks)
    question = question.with_columns(shown.column_names)
    names = [name for name in shown.column_names if name not in OURS]
    study = shown.column("se_study")[0].as_py() if shown.num_rows else ""
    page, _ = page_and_policy()
    head, tail = page.split("%TASKS%")
    with open(path, "w", encoding="utf-8", newline="\n", errors="replace") as stream:
        stream.write(head)
        before = {"study": study, "names": names, "question": question_facts(question)}
        stream.write(inert(dumps(before)[:-1] + ', "tasks": ['))
        for i, record in enumerate(records(shown, question.images)):
            cells = cells_of(record, names, question)
            stream.write(("," if i else "") + "\n" + inert(dumps([record["se_task"], cells])))
        stream.write("]}")
        stream.write(tail)


def question_facts(question: TaskQuestion) -> dict[str, Any]:
    """Say what the page is told of the question."""
    return {"text": question.text, "yes": question.yes, "no": question.no, "images": list(question.images),
            "guidelines": as_html(question.guidelines)}  # fmt: skip


def cells_of(
    record: Mapping[str, Any], names: list[str], question: TaskQuestion, picture: Callable[[Any, str], str] = address
) -> list[str]:
    """Say what the page shows of an item, a text for each column: of a picture its address, with its bytes in it."""
    root = question.image_root
    return [picture(record[name], root) if name in question.images else text(record[name]) for name in names]


def served_page() -> tuple[str, str]:
    """The page that asks a server for everything, and the policy to send with it."""
    page, policy = page_and_policy("; connect-src 'self'")
    nothing: dict[str, Any] = {"study": "", "names": [], "question": question_facts(TaskQuestion()), "tasks": None}
    return page.replace("%TASKS%", inert(dumps(nothing))), policy


def page_and_policy(more: str = "") -> tuple[str, str]:
    """The page with a place for its tasks, `%TASKS%`, and its policy.

    Args:
        more: What the policy allows besides.
    """
    style, script, page = (_resource(f"page.{kind}") for kind in ("css", "js", "html"))
    policy = policy_of(style, script) + more
    return page.replace("%POLICY%", policy).replace("%STYLE%", style).replace("%SCRIPT%", script), policy


def policy_of(style: str, script: str) -> str:
    """A content security policy that lets one style and one script be."""
    return (f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
            "img-src data: https: http:; base-uri 'none'; form-action 'none'")  # fmt: skip


def _resource(name: str) -> str:
    return (resources.files("streameval.labelling.exports") / name).read_text(encoding="utf-8")


def _digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def inert(json: str) -> str:
    """JSON that cannot end the element it stands in."""
    return json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
