"""A macro, and what keeps it from answering about another study.

DuckDB looks for the tables of a macro where its caller looks: after `USE other`, in the other study, whose tables have
the same names. So the tables that macros read hold `evaluation_id`, and every macro compares it with that of the study
it was made for: it answers from that evaluation, or not at all.

What cannot be asked is an error too. `error` stands outside of the subqueries that look something up: DuckDB 2 takes it
for volatile, and looks up row by row what would otherwise be one join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streameval.labelling.duckdb_session import literal, quote

READ = ("provenance", "envelope", "curve", "slices", "slice_envelope", "slice_curve")
"""Tables that macros read, and that therefore hold evaluation_id."""
_OF_SLICES = {"provenance": "slices", "envelope": "slice_envelope", "curve": "slice_curve"}
_READS = re.compile(r"FROM (provenance|envelope|curve)\b( WHERE\b)?")
_HELPER = "se_triple("


@dataclass(frozen=True)
class Macro:
    """One question.

    Attributes:
        parameters: Their names; where one of them is null, the answer is null.
        body: A scalar subquery that yields a struct: lower, estimate, upper; or one value.
        asked: What a row of the table macro has before that: an expression and its name, or nothing.
        refused: What cannot be asked: conditions, each with the text of the error, an expression.
    """

    name: str
    parameters: tuple[str, ...]
    comment: str
    body: str
    asked: tuple[str, str] | None = None
    refused: tuple[tuple[str, str], ...] = ()

    def rewritten(self, change: Callable[[str], str]) -> Macro:
        """Return it with other tables to read."""
        refused = tuple((change(when), change(says)) for when, says in self.refused)
        return replace(self, body=change(self.body), refused=refused)

    @property
    def answer(self) -> str:
        """The body, unless the question is refused."""
        unknown = " OR ".join(f"({one}) IS NULL" for one in self.parameters)
        refused = "".join(f"\n    WHEN {when} THEN error({says})" for when, says in self.refused)
        return f"CASE WHEN {unknown} THEN NULL{refused}\n    ELSE {self.body} END"


@dataclass(frozen=True)
class Place:
    """Where macros are made, and of which evaluation.

    Attributes:
        evaluation_id: Of the only tables that they answer from.
        name: Of the database that the study is attached as: the macros are then temporary ones of a connection, and
            called NAME_precision_at and so on. Empty: they are in the study's own file.
    """

    evaluation_id: str
    name: str = ""

    def question(self, macro: Macro, caution: str) -> list[str]:
        """Give what creates a macro, as a scalar and as a table; `caution` is what its comment says besides."""
        tables = {match[1]: None for match in _READS.finditer(macro.answer)}
        return self._created(macro.rewritten(self._of_list), tables, caution)

    def question_of_slice(self, macro: Macro, caution: str) -> list[str]:
        """Give the same for the question of one slice, `s`."""
        named, sizes = "(s)::VARCHAR", self._of_slice("(SELECT n_items FROM provenance)")
        unknown = (f"{sizes} IS NULL", f"'no slice is called ' || {named} || ': SELECT slice FROM slices lists them'")
        tables = {_OF_SLICES[match[1]]: None for match in _READS.finditer(macro.answer)}
        rewritten = macro.rewritten(self._of_slice)
        comment = f"{macro.comment[:-1]}, of slice s: ranks are those within it."
        return self._created(
            replace(rewritten, name=f"slice_{macro.name}", parameters=("s", *macro.parameters), comment=comment,
                    refused=(unknown, *rewritten.refused)),
            {"slices": None, **tables}, caution)  # fmt: skip

    def create(self, macro: str, says: str, body: str) -> list[str]:
        """Give what creates a macro with its comment.

        Args:
            macro: Its name and parameters: `precision_at(k)`.
            body: What follows AS.
        """
        created, home = ("CREATE OR REPLACE TEMP", "temp.main.") if self.name else ("CREATE", "")
        kind = "TABLE " if body.startswith("TABLE ") else ""
        made = f"{created} MACRO {self._called(macro)} AS {body.replace(_HELPER, self._called(_HELPER))}"
        comment = f"COMMENT ON MACRO {kind}{home}{self._called(macro).partition('(')[0]} IS {literal(says)}"
        return [made, comment] if says else [made]

    def _created(self, macro: Macro, tables: Mapping[str, None], caution: str) -> list[str]:
        def guarded(answer: str) -> str:
            """Answer only from tables of this evaluation."""
            same = [f"(SELECT bool_and(evaluation_id = {literal(self.evaluation_id)}) FROM {self._table(name)})"
                    for name in tables]  # fmt: skip
            if not same:
                return answer
            return f"CASE WHEN {' AND '.join(same)} THEN {answer}\n    ELSE error({literal(self._otherwise)}) END"

        value, name = macro.asked or ("NULL", "nothing")
        head = f"se_asked AS {name}, " if macro.asked else ""
        # The table macro calls the scalar: a second copy of its text would take DuckDB as long to read as the first.
        # After USE, the scalar that is found may be another study's, so the tables are compared before it is called.
        scalar = f"{self._called(macro.name)}({', '.join(f'({one})' for one in macro.parameters)})"
        rows = f"(SELECT {value}, {guarded(scalar)}) AS se_row(se_asked, se_answer)"
        table = f"TABLE SELECT {head}unnest(se_answer) FROM {rows} WHERE se_answer IS NOT NULL"
        says, called = f"{macro.comment} {caution}".strip(), f"{macro.name}({', '.join(macro.parameters)})"
        return [*self.create(called, says, guarded(macro.answer)), *self.create(called, says, table)]

    def _called(self, macro: str) -> str:
        return f"{self.name}_{macro}" if self.name else macro

    def _table(self, name: str) -> str:
        """Name of a table as a macro writes it; one in a file does not know what the file is attached as."""
        return f"{quote(self.name)}.main.{name}" if self.name else name

    def _of_list(self, text: str) -> str:
        return _READS.sub(lambda match: f"FROM {self._table(match[1])}{match[2] or ''}", text)

    def _of_slice(self, text: str) -> str:
        """Let what reads tables of the list read the rows of slice `s`.

        Their column has another name there, so that `s` may be a column of whoever asks, even one that is called slice.
        """

        def rows(match: re.Match[str]) -> str:
            query = f"SELECT * EXCLUDE slice, slice AS se_slice FROM {self._table(_OF_SLICES[match[1]])}"
            return f"FROM ({query}) WHERE se_slice = (s)::VARCHAR{' AND' if match[2] else ''}"

        return _READS.sub(rows, text)

    @property
    def _otherwise(self) -> str:
        """What is said where the tables are not those of the evaluation."""
        if self.name:
            return (
                f"{self.name} has other results than when its macros were made: register the study again, or run again "
                f"what `streameval sql STUDY --macros {self.name}` prints"
            )
        return (
            f"this macro is of evaluation {self.evaluation_id}, and the tables in use are of another one: USE its own "
            "database first; what `streameval sql STUDY --macros NAME` prints asks several studies at once"
        )
