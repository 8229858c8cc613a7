"""Macros of `study.duckdb`: bounds at any rank by one ASOF lookup and a clamp, ranks at a precision or recall.

Each is a scalar that returns a struct and a table macro of the same name: `SELECT precision_at(1000).lower`, or
`FROM precision_at(1000)`. They compute what `streameval.curve.Curve` computes, operation by operation, so that the
numbers are the same to the last bit; targets are whole numbers over 10¹² in both.

A macro pastes its argument into its body, where a column of the caller's (`precision_at(rank)`) must not be taken for
one of ours: every name in scope of an argument begins with `se_`. Only what DuckDB 1.2 knows is used.

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
        unknown = " OR ".join(f"({parameter}) IS NULL" for parameter in self.parameters)
        refused = "".join(f"\n    WHEN {when} THEN error({says})" for when, says in self.refused)
        return f"CASE WHEN {unknown} THEN NULL{refused}\n    ELSE {self.body} END"


@dataclass(frozen=True)
class Place:
    """Database and evaluation that macros are made in.

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
        return self._macro_statements(macro.rewritten(self._of_list), tables, caution)

    def question_of_slice(self, macro: Macro, caution: str) -> list[str]:
        """Give the same for the question of one slice, `s`."""
        named, sizes = "(s)::VARCHAR", self._of_slice("(SELECT n_items FROM provenance)")
        unknown = (f"{sizes} IS NULL", f"'no slice is called ' || {named} || ': SELECT slice FROM slices lists them'")
        tables = {_OF_SLICES[match[1]]: None for match in _READS.finditer(macro.answer)}
        rewritten = macro.rewritten(self._of_slice)
        comment = f"{macro.comment[:-1]}, of slice s: ranks are those within it."
        return self._macro_statements(
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
        macro_statement = (
            f"{created} MACRO {self._qualified(macro)} AS {body.replace(_HELPER, self._qualified(_HELPER))}"
        )
        comment = f"COMMENT ON MACRO {kind}{home}{self._qualified(macro).partition('(')[0]} IS {literal(says)}"
        return [macro_statement, comment] if says else [macro_statement]

    def _macro_statements(self, macro: Macro, tables: Mapping[str, None], caution: str) -> list[str]:
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
        scalar = f"{self._qualified(macro.name)}({', '.join(f'({parameter})' for parameter in macro.parameters)})"
        rows = f"(SELECT {value}, {guarded(scalar)}) AS se_row(se_asked, se_answer)"
        table = f"TABLE SELECT {head}unnest(se_answer) FROM {rows} WHERE se_answer IS NOT NULL"
        says, called = f"{macro.comment} {caution}".strip(), f"{macro.name}({', '.join(macro.parameters)})"
        return [*self.create(called, says, guarded(macro.answer)), *self.create(called, says, table)]

    def _qualified(self, macro: str) -> str:
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
        """Say what is said where the tables are not those of the evaluation."""
        if self.name:
            return (
                f"{self.name} has other results than when its macros were made: register the study again, or run again "
                f"what `streameval sql STUDY --macros {self.name}` prints"
            )
        return (
            f"this macro is of evaluation {self.evaluation_id}, and the tables in use are of another one: USE its own "
            "database first; what `streameval sql STUDY --macros NAME` prints asks several studies at once"
        )


# an estimate is cut to its bounds (streameval.curve.bounds.cut_to_bounds)
_TRIPLE = """struct_pack(
    lower := se_low,
    estimate := CASE WHEN se_own IS NOT NULL
                     THEN greatest(least(se_low, se_high), least(greatest(se_low, se_high), se_own)) END,
    upper := se_high)"""
# the estimated yield at a rank, straight from one row of the envelope to the next
_BETWEEN = "CASE WHEN {k} = se_a THEN se_ya ELSE se_ya + (se_yb - se_ya) * (({k} - se_a) / (se_b - se_a)) END"
_YIELDS = """(SELECT rank, next_rank, yield, next_yield FROM envelope) AS se_line(se_a, se_b, se_ya, se_yb)"""

# the estimate is unknown where a value has no weight; rows whose value is null are left out, and `known` says how much
# of the list they leave
_WEIGHTED_MEAN = """struct_pack(
    estimate := CASE WHEN count(*) FILTER (WHERE (x) IS NOT NULL AND (w) IS NULL) = 0
                     THEN sum((w)::DOUBLE * (x)::DOUBLE) / sum((w)::DOUBLE) FILTER (WHERE (x) IS NOT NULL) END,
    known := sum((w)::DOUBLE) FILTER (WHERE (x) IS NOT NULL) / sum((w)::DOUBLE))"""
_WEIGHTED_MEAN_SAYS = (
    "Mean of x over the items that rows stand for, by their column weight: an aggregate, for WHERE and GROUP BY. "
    "estimate leaves out rows without x, which is right if they are a random part of all; known is the share that has "
    "x. No bounds: those of label are precision_at(k)."
)

# what is refused, each with what is said
_K = "TRY_CAST((k) AS BIGINT)"
_NO_RANK = (
    "(TRY_CAST((k) AS DOUBLE) BETWEEN 1 AND (SELECT n_items FROM provenance)\n"
    "      AND TRY_CAST((k) AS DOUBLE) = floor(TRY_CAST((k) AS DOUBLE))) IS NOT TRUE",
    "'k is ' || (k) || ': a rank is a whole number from 1 to ' || format('{:,}', (SELECT n_items FROM provenance))",
)
_NO_SHARE = (
    "(TRY_CAST((x) AS DOUBLE) > 5e-13 AND TRY_CAST((x) AS DOUBLE) <= 1) IS NOT TRUE",
    "'x is ' || (x) || ': a precision or recall is above 0 and at most 1, such as 0.9'",
)
_NO_SCORE = (
    "(TRY_CAST((x) AS DOUBLE) = 'nan'::DOUBLE) IS TRUE",
    "'x is nan: no item has a score as good as that or better, nor a worse one'",
)
_NO_WEIGHT = (
    "((beta)::DOUBLE >= 0 AND (beta)::DOUBLE < 'inf'::DOUBLE) IS NOT TRUE",
    "'beta is ' || (beta) || ': it is a weight of 0 or more, and 1 weighs precision and recall alike'",
)

# one row: r, bounds on Y(r), N, bounds on M, bounds on F = Y(N), the estimates of Y(r) and P; none outside 1..N
_KNOWN = f"""(
    SELECT se_k::DOUBLE AS se_r, se_n::DOUBLE AS se_n, se_m::DOUBLE AS se_m, se_mm::DOUBLE AS se_mm, se_least, se_most,
           greatest(se_lo, se_lo2 - (se_b - se_k)) AS se_low, least(se_hi2, se_hi + (se_k - se_a)) AS se_high,
           {_BETWEEN.format(k="se_k")} AS se_y, se_p
    FROM (SELECT {_K} AS se_k) AS se_asked
    ASOF JOIN (SELECT rank, next_rank, yield_lower, yield_upper, next_yield_lower, next_yield_upper, yield, next_yield
               FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2, se_ya, se_yb) ON se_k >= se_a
    CROSS JOIN (SELECT n_items, misses, misses_upper, positives_lower, positives_upper, positives + misses_estimate
                FROM provenance) AS se_list(se_n, se_m, se_mm, se_least, se_most, se_p)
    WHERE se_k BETWEEN 1 AND se_n) AS se_known"""
_WORST = "(least(se_most, se_low + se_n - se_r) + se_mm)"  # positives in all, where recall is least
_BEST = "(greatest(se_least, se_high) + se_m)"
_SQUARE = "((beta)::DOUBLE * (beta)::DOUBLE)"


def _at_rank(name: str, sides: tuple[str, str, str], comment: str) -> Macro:
    body = f"(SELECT se_triple({', '.join(sides)}) FROM {_KNOWN})"
    return Macro(name, ("k",), comment, body, (_K, "rank"), (_NO_RANK,))


def _share(below: str, positives: str) -> str:
    return f"CASE WHEN {positives} > 0 THEN {below} / {positives} END"


# what a target x is compared with in whole numbers: x = se_num / 10^12, unless that is 0; bounds that are no whole
# numbers are widened
_DEN = "1000000000000::HUGEINT"
_TARGET = f"""(SELECT (TRY_CAST((x) AS DECIMAL(18, 12)) * 1000000000000)::HUGEINT AS se_num, {_DEN} AS se_den
    WHERE TRY_CAST((x) AS DOUBLE) > 5e-13) AS se_asked"""
_STEPS = """(SELECT rank, next_rank, floor(yield_lower)::BIGINT, ceil(yield_upper)::BIGINT,
           floor(next_yield_lower)::BIGINT, ceil(next_yield_upper)::BIGINT
    FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2)"""
_LIST = """(SELECT n_items::HUGEINT, misses::HUGEINT,
           greatest(floor(positives_lower)::HUGEINT, CASE WHEN misses = 0 THEN 1 ELSE 0 END),
           ceil(positives_upper)::HUGEINT
    FROM provenance WHERE proves) AS se_list(se_n, se_m, se_least, se_most)"""

# rows beside the estimate of a rank: they meet in one, whether or not there are bounds
_BESIDE = """(
    SELECT max(se_low) AS se_low, max(se_own) AS se_own, max(se_high) AS se_high
    FROM (SELECT se_low, NULL::DOUBLE AS se_own, se_high FROM {bounds}
          UNION ALL SELECT NULL, se_own, NULL FROM {estimate}) AS se_sides) AS se_found"""

# where the line of the estimated yield, from one row to the next, meets that of a share t: as a whole rank, and by
# looking at it and those beside it, as rounding may miss it by one; unknown where it would be before the first estimate
_ON_LINE = _BETWEEN.format(k="({k})")
_LAST_HELD = f"""(
    SELECT CASE WHEN se_p IS NULL THEN NULL WHEN se_a IS NULL THEN se_none WHEN se_a = se_n THEN se_n
                WHEN se_c + 1 < se_b AND {_ON_LINE.format(k="se_c + 1")} / (se_c + 1) >= se_t THEN se_c + 1
                WHEN {_ON_LINE.format(k="se_c")} / se_c >= se_t THEN se_c
                ELSE greatest(se_a, se_c - 1) END::DOUBLE AS se_own
    FROM (SELECT *, greatest(se_a, least(se_b - 1, CASE WHEN se_b > se_a THEN
                        floor((se_ya - (se_yb - se_ya) / (se_b - se_a) * se_a)
                              / (se_t - (se_yb - se_ya) / (se_b - se_a))) END))::BIGINT AS se_c
          FROM (SELECT se_t, se_n, se_p, max(se_a) FILTER (WHERE se_held) AS se_a,
                       CASE WHEN NOT bool_or(se_a = 0 AND se_yb IS NULL) THEN 0 END AS se_none,
                       arg_max(se_b, se_a) FILTER (WHERE se_held) AS se_b,
                       arg_max(se_ya, se_a) FILTER (WHERE se_held) AS se_ya,
                       arg_max(se_yb, se_a) FILTER (WHERE se_held) AS se_yb
                FROM (SELECT *, se_a > 0 AND se_ya / se_a >= se_t AS se_held
                      FROM {{asked}} CROSS JOIN {_YIELDS} CROSS JOIN {{list}}) AS se_points
                GROUP BY se_t, se_n, se_p) AS se_last) AS se_turn) AS se_depth"""
_FIRST_HELD = f"""(
    SELECT CASE WHEN se_p > 0 AND se_before IS NOT TRUE THEN CASE WHEN se_b IS NULL THEN 'inf'::DOUBLE
                WHEN se_c - 1 > se_a AND {_ON_LINE.format(k="se_c - 1")} / se_p >= se_t THEN se_c - 1
                WHEN {_ON_LINE.format(k="se_c")} / se_p >= se_t THEN se_c
                ELSE least(se_b, se_c + 1) END END::DOUBLE AS se_own
    FROM (SELECT *, greatest(se_a + 1, least(se_b, CASE WHEN se_yb > se_ya THEN
                        se_a + ceil((se_t * se_p - se_ya) / ((se_yb - se_ya) / (se_b - se_a))) END))::BIGINT AS se_c
          FROM (SELECT se_t, se_p, min(se_b) FILTER (WHERE se_held) AS se_b,
                       bool_or(se_ya IS NULL) FILTER (WHERE se_held) AS se_before,
                       arg_min(se_a, se_b) FILTER (WHERE se_held) AS se_a,
                       arg_min(se_ya, se_b) FILTER (WHERE se_held) AS se_ya,
                       arg_min(se_yb, se_b) FILTER (WHERE se_held) AS se_yb
                FROM (SELECT *, se_b > se_a AND se_yb / se_p >= se_t AS se_held
                      FROM {{asked}} CROSS JOIN {_YIELDS} CROSS JOIN {{list}}) AS se_points
                GROUP BY se_t, se_p) AS se_first) AS se_turn) AS se_reach"""
_SHARE_ASKED = (
    "(SELECT TRY_CAST((x) AS DECIMAL(18, 12))::DOUBLE WHERE TRY_CAST((x) AS DOUBLE) > 5e-13) AS se_want(se_t)"
)
_FOUND = "(SELECT n_items, {p} FROM provenance) AS se_all(se_n, se_p)"
_DEPTH = _LAST_HELD.format(asked=_SHARE_ASKED, list=_FOUND.format(p="positives"))
_REACH = _FIRST_HELD.format(asked=_SHARE_ASKED, list=_FOUND.format(p="positives + misses_estimate"))

# the last run of positives whose end keeps the precision; then negatives until it is lost
_DEEPEST = f"""(
    SELECT least(se_n, coalesce(max(se_lo2) FILTER (WHERE se_lo2 > se_lo AND se_lo2 * se_den
                     >= (se_b) * se_num), 0) * se_den // se_num)::DOUBLE AS se_low,
           least(se_n, coalesce(max(se_hi2) FILTER (WHERE se_hi2 > se_hi AND se_hi2 * se_den
                     >= (se_a + se_hi2 - se_hi) * se_num), 0) * se_den // se_num)::DOUBLE AS se_high
    FROM {_TARGET} CROSS JOIN {_STEPS} CROSS JOIN {_LIST} GROUP BY se_n, se_num, se_den) AS se_found"""

# se_j(F): the positive that first reaches recall x where F are in the list (streameval.curve.targets)
_J = "greatest(1, (se_num * ({found} + se_m) + se_den - 1) // se_den)"
_FIRST = f"""(
    SELECT *, CASE WHEN se_reached IS NOT NULL THEN {_J.format(found="se_reached")} END AS se_first
    FROM (SELECT * EXCLUDE (se_enough), CASE WHEN se_enough <= se_most THEN se_enough END AS se_reached
          FROM (SELECT *, CASE WHEN se_m = 0 THEN se_least WHEN se_num < se_den THEN
                    greatest(se_least, 1, (se_num * se_m + se_den - se_num - 1) // (se_den - se_num)) END AS se_enough
                FROM {_TARGET} CROSS JOIN {_LIST} WHERE se_least <= se_most) AS se_trying) AS se_reaching
    ) AS se_wanted"""
# the largest F whose last wanted positive the lower bound places before the end of the list forces it
_CROSSING = f"""(
    SELECT se_num, se_den, se_n, se_m, se_least, se_most, se_reached,
           min(se_a + se_first - se_hi) FILTER (WHERE se_hi < se_first AND se_hi2 >= se_first) AS se_low,
           least(se_most, greatest(se_least - 1, coalesce(max(least(se_lo2 * se_den // se_num - se_m,
                 se_n - (se_b - se_lo2))) FILTER (WHERE se_lo2 > se_lo), se_least - 1))) AS se_cross
    FROM {_FIRST} CROSS JOIN {_STEPS}
    GROUP BY se_num, se_den, se_n, se_m, se_least, se_most, se_reached) AS se_crossed"""
_REACHED = f"""(
    SELECT CASE WHEN se_reached IS NULL THEN 'inf'::DOUBLE ELSE any_value(se_low)::DOUBLE END AS se_low,
           CASE WHEN se_reached IS NULL OR se_reached > se_least THEN 'inf'::DOUBLE
                ELSE greatest(
                    CASE WHEN se_cross >= se_least THEN
                        min(se_b - se_lo2 + {_J.format(found="se_cross")})
                            FILTER (WHERE se_lo2 > se_lo AND se_lo2 >= {_J.format(found="se_cross")}) END,
                    CASE WHEN se_cross < se_most THEN
                        se_n - se_cross - 1 + {_J.format(found="(se_cross + 1)")} END)::DOUBLE END AS se_high
    FROM {_CROSSING} CROSS JOIN {_STEPS}
    GROUP BY se_num, se_den, se_n, se_m, se_least, se_most, se_reached, se_cross) AS se_found"""


def _at_target(name: str, bounds: str, estimate: str, comment: str) -> Macro:
    body = f"(SELECT se_triple(se_low, se_own, se_high) FROM {_BESIDE.format(bounds=bounds, estimate=estimate)})"
    return Macro(name, ("x",), comment, body, ("(x)", "target"), (_NO_SHARE,))


_THRESHOLD = """(
    SELECT CASE WHEN se_next IS NOT NULL THEN least(se_next, se_last) END AS se_low,
           CASE WHEN se_next = se_last THEN se_next END AS se_here,
           CASE WHEN se_next IS NOT NULL THEN greatest(se_next, se_last) END AS se_high
    FROM (SELECT TRY_CAST((k) AS BIGINT) AS se_k) AS se_asked
    ASOF JOIN (SELECT rank, score FROM curve WHERE {known}) AS se_one(se_before, se_last) ON se_k >= se_before
    ASOF LEFT JOIN (SELECT rank, score FROM curve WHERE {known}) AS se_two(se_after, se_next) ON se_k <= se_after
    WHERE se_k BETWEEN 1 AND (SELECT n_items FROM provenance)) AS se_scored"""


_FLOATS = {"float": "FLOAT", "double": "DOUBLE"}


def _threshold(score: str) -> Macro:
    """Score at a rank; `score` is "float", "double", "other" or "none": the kind of the curve's score column."""
    comment = "Score of the item at rank k, between the scores of its neighbours that were read."
    body = "struct_pack(lower := NULL::DOUBLE, score := NULL::DOUBLE, upper := NULL::DOUBLE)"
    if score != "none":
        body = f"""(SELECT struct_pack(lower := se_low, score := se_here, upper := se_high)
            FROM {_THRESHOLD.format(known=_is_known_sql(score))})"""
    return Macro("threshold_at", ("k",), comment, body, (_K, "rank"), (_NO_RANK,))


def _is_known_sql(score: str) -> str:
    return "score IS NOT NULL" + (" AND NOT isnan(score)" if score in _FLOATS else "")


# first and last rank that the cutoff at score x may be: that of the last known score that is as good, and the rank
# before the first one that is worse
_SPAN = """(
    SELECT coalesce(max(se_rank) FILTER (WHERE se_good), 0) AS se_from,
           coalesce(min(se_rank) FILTER (WHERE NOT se_good) - 1, any_value(se_count)) AS se_to
    FROM (SELECT se_rank, se_count, CASE WHEN se_up THEN se_score <= {asked} ELSE se_score >= {asked} END AS se_good
          FROM (SELECT rank, score FROM curve WHERE {known}) AS se_scores(se_rank, se_score)
          CROSS JOIN (SELECT arg_min(score, rank) < arg_max(score, rank), (SELECT n_items FROM provenance)
                      FROM curve WHERE {known}) AS se_way(se_up, se_count)) AS se_judged
    HAVING count(*) > 0) AS se_span"""
# estimated precision in the middle of that span
_MIDDLE = f"""(
    SELECT arg_max({_BETWEEN.format(k="se_mid")}, se_a) / se_mid AS se_own
    FROM (SELECT (greatest(1, se_from) + se_to) / 2 AS se_mid FROM {{span}} WHERE se_to >= 1) AS se_half
    CROSS JOIN {_YIELDS} WHERE se_a <= se_mid GROUP BY se_mid) AS se_middle"""
# ranks of that span at which a bound can be weakest: its ends, and where either bound turns
_TURNS = """(
    SELECT greatest(1, se_from)::BIGINT AS se_k FROM {span} UNION ALL SELECT greatest(1, se_to)::BIGINT FROM {span}
    UNION ALL SELECT unnest([se_a, se_b - round(se_lo2 - se_lo)::BIGINT, se_a + round(se_hi2 - se_hi)::BIGINT])
    FROM (SELECT rank, next_rank, yield_lower, yield_upper, next_yield_lower, next_yield_upper FROM envelope)
        AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2)) AS se_all"""
_AT_SPAN = """(
    SELECT min(greatest(se_lo, se_lo2 - (se_b - se_k)) / se_k::DOUBLE) AS se_low,
           max(least(se_hi2, se_hi + (se_k - se_a)) / se_k::DOUBLE) AS se_high
    FROM (SELECT se_k FROM {turns} CROSS JOIN {span}
          WHERE se_k BETWEEN greatest(1, se_from) AND se_to) AS se_inside
    ASOF JOIN (SELECT rank, next_rank, yield_lower, yield_upper, next_yield_lower, next_yield_upper
               FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2) ON se_k >= se_a
    HAVING count(*) > 0) AS se_precision"""


def _at_score(kind: str) -> list[Macro]:
    """Rank and precision of the cutoff that keeps every item of score s and better; of no scores, nothing."""
    ranks = "Rank of the last item whose score is x or better: it lies between lower and upper; 0 is none of the items."
    shares = (
        "Share of positives among the items whose score is x or better, wherever that cutoff lies; null if no item is."
    )
    rank = share = "struct_pack(lower := NULL::DOUBLE, estimate := NULL::DOUBLE, upper := NULL::DOUBLE)"
    if kind != "none":
        score = f"(x)::{_FLOATS[kind]}" if kind in _FLOATS else "(x)"
        span = _SPAN.format(known=_is_known_sql(kind), asked=score)
        within = _AT_SPAN.format(span=span, turns=_TURNS.format(span=span))
        within = _BESIDE.format(bounds=within, estimate=_MIDDLE.format(span=span))
        rank = f"(SELECT struct_pack(lower := se_from, estimate := (se_from + se_to) / 2, upper := se_to) FROM {span})"
        share = f"(SELECT se_triple(se_low, se_own, se_high) FROM {within})"
    return [
        Macro("rank_at_score", ("x",), ranks, rank, refused=(_NO_SCORE,)),
        Macro("precision_at_score", ("x",), shares, share, refused=(_NO_SCORE,)),
    ]


# where misses are bounded: the first rank with the fewest of them, and the last with the most
_REACHED_BY_MOST = _REACHED.replace("misses::", "misses_upper::").replace("misses = 0", "misses_upper = 0")
_REACHED_BETWEEN = f"""(
    SELECT min(se_low) AS se_low, max(se_high) AS se_high
    FROM (SELECT se_low, se_high FROM {_REACHED} UNION ALL SELECT se_low, se_high FROM {_REACHED_BY_MOST}) AS se_ends
    HAVING count(*) > 0) AS se_found"""


def macros(score: str, missed: str = "known") -> list[Macro]:
    """Every macro, for a curve whose score is "float", "double", "other" or "none" and misses "known" or "bounded"."""
    above = f"(1.0::DOUBLE + {_SQUARE})"
    corners = (("se_low", _WORST), ("se_y", "se_p"), ("se_high", _BEST))
    f_sides = ", ".join(f"{above} * {y} / (se_r + {_SQUARE} * {p})" for y, p in corners)
    f_body = f"(SELECT se_triple({f_sides}) FROM {_KNOWN})"
    f_says = "F of the first k items: recall counts beta times as much as precision."
    return [
        _at_rank("yield_at", ("se_low", "se_y", "se_high"), "Positives among the first k items."),
        _at_rank("precision_at", ("se_low / se_r", "se_y / se_r", "se_high / se_r"),
                 "Share of positives among the first k items."),
        _at_rank("recall_at", (_share("se_low", _WORST), _share("se_y", "se_p"), _share("se_high", _BEST)),
                 "Share of all positives, misses included, that are among the first k items."),
        Macro("f_measure", ("k", "beta"), f_says, f_body, (_K, "rank"), (_NO_RANK, _NO_WEIGHT)),
        _at_target("rank_at_precision", _DEEPEST, _DEPTH,
                   "Deepest rank whose precision is at least x; lower is the rank at which the claim has it."),
        _at_target("rank_at_recall", _REACHED if missed == "known" else _REACHED_BETWEEN, _REACH,
                   "First rank whose recall is at least x; by upper the claim has it reached."),
        _threshold(score),
        *_at_score(score),
    ]  # fmt: skip


@dataclass(frozen=True)
class Kinds:
    """Types and facts that macros depend on, besides the tables that they read.

    Attributes:
        score, slices ({"float", "double", "other", "none"}): Kind of the score column of the curve, and of the curves
            of slices; "absent" where there are no slices.
        missed ({"known", "bounded"}): What is known of the number of misses.
    """

    score: str
    slices: str = "absent"
    missed: str = "known"


def statements(kinds: Kinds, place: Place, caution: str = "") -> list[str]:
    """Say what creates all macros in a place, in order; `caution` is what every comment says besides."""
    result = place.create("se_triple(se_low, se_own, se_high)", "", _TRIPLE)
    if not place.name:  # it reads no table: NAME.weighted_mean answers wherever it is asked
        result += place.create("weighted_mean(x, w)", _WEIGHTED_MEAN_SAYS, _WEIGHTED_MEAN)
    for macro in macros(kinds.score, kinds.missed):
        result += place.question(macro, caution)
    for macro in [] if kinds.slices == "absent" else macros(kinds.slices):
        result += place.question_of_slice(macro, caution)
    return result
