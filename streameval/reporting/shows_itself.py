"""Results of Python: they say in a notebook, and in a plain line of Python, what a terminal says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streameval.notebook import table
from streameval.reporting.text import Columns, Paragraph, Picture, align
from streameval.text import escape, printable


class ShowsItself:
    """A result that has paragraphs; a dataclass has to leave its own representation out (`repr=False`).

    It takes the place of the representation of any base behind it.
    """

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say what a terminal shows of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return plain(self.paragraphs)

    def _repr_html_(self) -> str:
        return markup(self.paragraphs)


def plain(paragraphs: Iterable[Paragraph]) -> str:
    """Write paragraphs as text, without pictures."""
    lines: list[str] = []
    for paragraph in paragraphs:
        if isinstance(paragraph, Columns):
            lines += align(paragraph.head, paragraph.cells())
        elif not isinstance(paragraph, Picture):
            lines += [printable(paragraph)]
    return "\n".join(lines).strip("\n")


def markup(paragraphs: Iterable[Paragraph]) -> str:
    """Write paragraphs as HTML without scripts: with the numbers of the terminal, and with pictures."""
    return "".join(_element(paragraph) for paragraph in paragraphs if paragraph)


def _element(paragraph: Paragraph) -> str:
    if isinstance(paragraph, Columns):
        return table("", paragraph.head, paragraph.cells())
    return paragraph.curve.picture() if isinstance(paragraph, Picture) else f"<p>{escape(paragraph)}</p>"
