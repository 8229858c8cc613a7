"""Results of `check` as files: Markdown for the summary page of a CI job, JUnit's XML for what shows tests."""

from __future__ import annotations

import platform
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from streameval.errors import InputError
from streameval.stores import atomic
from streameval.text import printable
from streameval.types import Claim

_PACKAGE = "streameval.check"
_NO_XML = {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}


def refuse_place(path: Path) -> None:
    """Refuse a place where no file can be, before anything is read; folders are not made."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder", f"name a file, such as {path / 'check.md'}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder", "check the spelling, or make it first")


def append_markdown(path: Path, title: str, rows: list[list[str]], sentence: str) -> None:
    """Add a table to a file; what stands there stays.

    Args:
        title: Of the study and its outcome.
        rows: The head, and one for each check.
        sentence: What the bounds promise, or why nothing can be told.
    """
    cells = [" | ".join(printable(cell).replace("|", "\\|") for cell in row) for row in rows]
    table = [f"| {cells[0]} |", f"|{'---|' * len(rows[0])}", *(f"| {row} |" for row in cells[1:]), ""]
    lines = [f"### {printable(title)}", "", *(table if len(rows) > 1 else []), printable(sentence), ""]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_junit(path: Path, study: str, claim: Claim, rows: list[list[str]], sentence: str, why: str = "") -> None:
    """Write a test suite whose cases are the checks, in place of one that an earlier `check` wrote there.

    A check that passes is a test that passes, one that fails a failure, and one that is waiting or inconclusive a
    test that was skipped: it is neither. The attributes and their order are those that the schemas of Ant and of
    Jenkins ask for.

    Args:
        claim: What the bounds promise.
        rows: Of each check its name, what its outcome follows from, the outcome, and what may decide it.
        why: Why nothing can be told; empty where it can.

    Raises:
        InputError: Another file is there.
    """
    _refuse_other(path)
    cases = [_case(study, row, why, sentence) for row in rows]
    counts = {name: sum(case.find(tag) is not None for case in cases)
              for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}  # fmt: skip
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    host = platform.node() or "localhost"
    suite = _element("testsuite", package=_PACKAGE, id=0, name=study, tests=len(cases), **counts, time=0,
                     timestamp=now, hostname=host)  # fmt: skip
    properties = _element("properties")
    properties.extend(_element("property", name=name, value=value) for name, value in claim.as_dict().items())
    out, errors = _element("system-out"), _element("system-err")
    out.text = _text(sentence)
    suite.extend([properties, *cases, out, errors])
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    atomic.write_all({path: atomic.content(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")})


def _case(study: str, row: list[str], why: str, sentence: str) -> ET.Element:
    check, ends, outcome, decides = row
    case = _element("testcase", classname=study, name=check, time=0)
    if outcome != "pass":
        needed = f" (what may decide: {decides})" if decides else ""
        message = f"{outcome}: {why or f'{ends}{needed}'}"
        element = _element("failure" if outcome == "fail" else "skipped", type=outcome, message=message)
        element.text = _text(sentence)
        case.append(element)
    return case


def _element(tag: str, **attributes: object) -> ET.Element:
    return ET.Element(tag, {name: _text(str(value)) for name, value in attributes.items()})


def _text(text: str) -> str:
    """Text without what XML has no way to write."""
    return printable(text).translate(_NO_XML)


def _refuse_other(path: Path) -> None:
    """Refuse to replace a file that no `check` wrote; one that is empty holds nothing."""
    begin = path.read_bytes()[:200] if path.exists() else b""
    if begin and f'<testsuite package="{_PACKAGE}"'.encode() not in begin:
        raise InputError(f"{path} exists already, and check did not write it", "name another file")
