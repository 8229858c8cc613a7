"""The layout of every page: a heading, what is proven, sections with figures and tables, labels, and provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from streameval.labelling.pace import duration
from streameval.reporting.charts import POLICY
from streameval.reporting.label_lines import agreement_lines
from streameval.reporting.text import Columns
from streameval.study.results import Result
from streameval.text import escape, short

STACKED, ITEMS = "stacked", "items"
_ACCOUNT = {"unplanned": "rows not planned", "of_no_item": "rows of no item"}
_ALWAYS = ("planned", "labelled")  # counts that are shown even where they are 0
_LONGEST = 120  # characters of what people were asked


@dataclass(frozen=True)
class Section:
    """A part of a page; what is empty of it is left out.

    Attributes:
        title: Its heading.
        note: What the figure shows.
        figure: Pictures, and whatever else is not text, as HTML.
        key: How the figure is read.
        table: Numbers, or their texts.
        kind: Class of the table (`table`).
        label: What a screen reader calls the table.
        remarks: What to know of it, a paragraph each.
    """

    title: str = ""
    note: str = ""
    figure: str = ""
    key: str = ""
    table: Columns | None = None
    kind: str = ""
    label: str = "Table"
    remarks: Sequence[str] = ()

    @property
    def html(self) -> str:
        """Itself as HTML."""
        return f"<section>{''.join(self._parts())}</section>"

    def _parts(self) -> Iterator[str]:
        if self.title:
            yield f"<h2>{escape(self.title)}</h2>"
        if self.note:
            yield soft(self.note)
        yield from filter(None, [self.figure])
        if self.key:
            yield soft(self.key)
        if self.table is not None:
            yield table(self.table.head, self.table.cells(number), self.kind, self.label)
        yield from map(soft, self.remarks)


def study_page(
    result: Result,
    title: str | None,
    names: tuple[str, str],
    lead: Sequence[str],
    sections: Sequence[Section],
    summary: Mapping[str, Any] | None = None,
) -> str:
    """Draw the page of a study, without scripts.

    Args:
        result: Of the study.
        title: As it was given.
        names: Of the study, and what the page is about, for its heading.
        lead: Paragraphs before all sections, as HTML: what is proven, and what that promises.
        sections: All but those of labels and of provenance, which follow from the summary.
        summary: What the page says of what was asked and of where results are from; by default that of the result.
    """
    facts = result.summary if summary is None else summary
    labels_section = [labels(result.summary)] if "account" in result.summary else []
    return document(title or f"streameval: {names[0]}", heading(title, names[1], facts), lead,
                    [*sections, *labels_section, provenance(_origin(facts))],
                    evaluation=result.evaluation_id)  # fmt: skip


def document(
    title: str, top: str, lead: Sequence[str], sections: Sequence[Section], script: str = "", evaluation: str = ""
) -> str:
    """Draw a page of its heading, paragraphs and sections: one file, which loads nothing.

    Args:
        title: What a browser calls it.
        top: Its heading.
        lead: Paragraphs before all sections, as HTML.
        script: Scripts that it holds, as HTML.
        evaluation: Identities of the results that it shows.
    """
    body = "\n".join([f"<h1>{escape(top)}</h1>", *lead, *(section.html for section in sections)])
    style = resource("page.css")
    return _PAGE.format(title=escape(title), evaluation=evaluation, style=style, script=script, body=body)


def highlight(text: str, name: str = "") -> str:
    """Write what is proven as the paragraph that stands out; of one of several studies, with its name."""
    return f'<p class="verdict">{f"<strong>{escape(name)}.</strong> " if name else ""}{escape(text)}</p>'


def paragraph(text: str) -> str:
    """Write a paragraph."""
    return f"<p>{escape(text)}</p>"


def soft(text: str) -> str:
    """Write a paragraph that stands back."""
    return f"<p class='soft'>{escape(text)}</p>"


def fold(summary: str, inside: str) -> Section:
    """Hide HTML under a line that opens it."""
    return Section(figure=f"<details><summary>{escape(summary)}</summary>{inside}</details>")


def heading(title: str | None, plain: str, summary: Mapping[str, Any]) -> str:
    """Write the heading of one study: the title that was given, or what the page is about with what is positive in it.

    Args:
        title: As it was given.
        plain: What the page is about, with the study's name; used without a title.
        summary: Says what people were asked, or which labels are positive.
    """
    return title or ": ".join(filter(None, (plain, what_is_positive(summary))))


def what_is_positive(summary: Mapping[str, Any]) -> str:
    """Give the question that people answered, or the labels that are positive; empty where neither was said."""
    if question := summary.get("asked"):
        return short(str(question), _LONGEST)
    parameters = summary["parameters"]
    if parameters.get("relevant") and parameters["relevant"] != ">=1":
        return f"{parameters.get('label', 'label')} {parameters['relevant']}"
    return ", ".join(parameters.get("positive") or ())


def table(head: Sequence[str], rows: Sequence[Sequence[object]], kind: str = "", label: str = "Table") -> str:
    """Write rows of text; the first cell of a row names it.

    Args:
        kind: Class of the style; on a narrow screen the cells of `STACKED` and `ITEMS` have their names beside them.
    """
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    names = {at: f' data-name="{escape(name)}"' for at, name in enumerate(head) if kind in (STACKED, ITEMS)}
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        f"{''.join(f'<td{names.get(at, str())}>{escape(cell)}</td>' for at, cell in enumerate(row[1:], 1))}</tr>"
        for row in rows
    )
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    inside = f'<table class="{kind}">{top}<tbody>{lines}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{inside}</div>'


def labels(summary: Mapping[str, Any]) -> Section:
    """Say what people were asked, who labelled how much and how long, and what became of every label that came in."""
    counts, pace = summary["account"], summary.get("pace", {})
    hourly, hours = pace.get("people", {}), pace.get("hours", {})
    question = paragraph(f"Asked: {summary['asked']}") if summary.get("asked") else ""
    rows = [[_ACCOUNT.get(key, key.replace("_", " ")), f"{value:,}"]
            for key, value in counts.items() if value or key in _ALWAYS]  # fmt: skip
    annotators = summary.get("agreement", {}).get("annotators", {})
    annotators = {} if list(annotators) == [""] else annotators
    people = [(name or "(no name)", f"{annotator['votes']:,}", f"{annotator['skips']:,}",
               duration(hours[name]) if name in hours else "–", f"{hourly[name]:,.0f}" if name in hourly else "–",
               "–" if annotator["percent"] is None else f"{annotator['percent']:.1%}")
              for name, annotator in annotators.items()]  # fmt: skip
    head = ("annotator", "votes", "skips", "worked", "votes an hour", "agrees")
    who = table(head, people, STACKED, "Annotators") if people else ""
    twice = "".join(map(paragraph, agreement_lines(summary) if "agreement" in summary else []))
    return Section("Labels", figure=question + who + twice, table=Columns(("labels", "number"), rows), label="Labels")


def provenance(facts: Mapping[str, object], more: str = "") -> Section:
    """Say what results were made from, by names; what is None or an empty list is left out.

    Args:
        more: HTML that comes before.
    """
    rows = [[name.replace("_", " "), _fact(value)] for name, value in facts.items() if value not in (None, [], ())]
    return Section("Provenance", figure=more, table=Columns(("", ""), rows), kind="facts", label="Provenance")


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _origin(summary: Mapping[str, Any]) -> dict[str, object]:
    """Say what the results of a summary were made from."""
    facts = {"evaluation": summary["evaluation_id"], "version": summary["version"]}
    facts |= {name: value for name, value in summary["parameters"].items() if value is not None}
    facts |= {"judge": summary["judge"]} if summary.get("judge") else {}
    facts |= {f"positives {key}": value for key, value in (summary.get("pool") or {}).items()}
    return facts | {f"ranking {key}": value for key, value in summary["ranking"].items()}


def number(value: float | int | None) -> str:
    """Write a count, or a share with six digits; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content=\"""" + POLICY + """\">
<meta name="streameval-evaluation" content="{evaluation}"><link rel="icon" href="data:,">
<title>{title}</title><style>{style}</style>{script}</head><body>
<main>
{body}
</main>
</body></html>
"""  # fmt: skip


@cache
def resource(name: str, package: str = "streameval.reporting") -> str:
    """Read a file that lies in a package, by default beside this one."""
    return (resources.files(package) / name).read_text(encoding="utf-8")
