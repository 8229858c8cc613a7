"""Macros of `study.duckdb`: bounds at any rank by one ASOF lookup and a clamp, ranks at a precision or recall.

Each is a scalar that returns a struct and a table macro of the same name: `SELECT precision_at(1000).lower`, or
`FROM precision_at(1000)`. They compute what `streameval.curve.Curve` computes, operation by operation, so that the
numbers are the same to the last bit; targets are whole numbers over 10¹² in both.

A macro pastes its argument into its body, where a column of the caller's (`precision_at(rank)`) must not be taken for
one of ours: every name in scope of an argument begins with `se_`. Only what DuckDB 1.2 knows is used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Macro:
    """One question.

    Attributes:
        body: A scalar subquery that yields a struct: lower, estimate, upper; or one value.
        table: The same as a table.
    """

    name: str
    parameters: str
    comment: str
    body: str
    table: str

    def statements(self, caution: str = "") -> list[str]:
        """Give what creates it; `caution` is what its comment says besides."""
        comment = f"{self.comment} {caution}".strip().replace("'", "''")
        made = [f"CREATE MACRO {self.name}({self.parameters}) AS {self.body}"]
        if self.table:
            made.append(f"CREATE MACRO {self.name}({self.parameters}) AS TABLE {self.table}")
            made.append(f"COMMENT ON MACRO TABLE {self.name} IS '{comment}'")
        return [*made, f"COMMENT ON MACRO {self.name} IS '{comment}'"]


# the estimate whose worst relative error over [lower, upper] is least (streameval.curve.estimate.between)
_TRIPLE = """CREATE MACRO se_triple(se_low, se_high) AS struct_pack(
    lower := se_low,
    estimate := CASE WHEN se_low IS NULL OR se_high IS NULL THEN NULL
                     WHEN se_low = se_high OR isinf(se_high) THEN se_high
                     WHEN se_high > 0 THEN 2.0::DOUBLE * se_low * (se_high / (se_low + se_high))
                     ELSE 0.0::DOUBLE END,
    upper := se_high)"""

# the estimate is unknown where a value has no weight; rows whose value is null are left out, and `known` says how much
# of the list they leave
_WEIGHTED_MEAN = """CREATE MACRO weighted_mean(x, w) AS struct_pack(
    estimate := CASE WHEN count(*) FILTER (WHERE (x) IS NOT NULL AND (w) IS NULL) = 0
                     THEN sum((w)::DOUBLE * (x)::DOUBLE) / sum((w)::DOUBLE) FILTER (WHERE (x) IS NOT NULL) END,
    known := sum((w)::DOUBLE) FILTER (WHERE (x) IS NOT NULL) / sum((w)::DOUBLE))"""
_WEIGHTED_MEAN_SAYS = (
    "Mean of x over the items that rows stand for, by their column weight: an aggregate, for WHERE and GROUP BY. "
    "estimate leaves out rows without x, which is right if they are a random part of all; known is the share that has "
    "x. No bounds: those of label are precision_at(k)."
)

# one row: r, bounds on Y(r), N, bounds on M, bounds on F = Y(N); none outside 1..N
_KNOWN = """(
    SELECT se_k::DOUBLE AS se_r, se_n::DOUBLE AS se_n, se_m::DOUBLE AS se_m, se_mm::DOUBLE AS se_mm, se_least, se_most,
           greatest(se_lo, se_lo2 - (se_b - se_k)) AS se_low, least(se_hi2, se_hi + (se_k - se_a)) AS se_high
    FROM (SELECT (k)::BIGINT AS se_k WHERE (k)::BIGINT = (k)) AS se_asked
    ASOF JOIN (SELECT rank, next_rank, yield_lower, yield_upper, next_yield_lower, next_yield_upper
               FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2) ON se_k >= se_a
    CROSS JOIN (SELECT n_items, misses, misses_upper, positives_lower, positives_upper
                FROM provenance) AS se_list(se_n, se_m, se_mm, se_least, se_most)
    WHERE se_k BETWEEN 1 AND se_n) AS se_known"""
_WORST = "(least(se_most, se_low + se_n - se_r) + se_mm)"  # positives in all, where recall is least
_BEST = "(greatest(se_least, se_high) + se_m)"
_SQUARE = "((beta)::DOUBLE * (beta)::DOUBLE)"


def _at_rank(name: str, lower: str, upper: str, comment: str, parameters: str = "k") -> Macro:
    triple = f"se_triple({lower}, {upper})"
    table = f"SELECT se_r::BIGINT AS rank, unnest({triple}) FROM {_KNOWN}"
    return Macro(name, parameters, comment, f"(SELECT {triple} FROM {_KNOWN})", table)


def _share(below: str, positives: str) -> str:
    return f"CASE WHEN {positives} > 0 THEN {below} / {positives} END"


# what a target x is compared with in whole numbers: x = se_num / 10^12, unless that is 0; bounds that are no whole
# numbers are widened
_DEN = "1000000000000::HUGEINT"
_TARGET = f"""(SELECT (TRY_CAST((x) AS DECIMAL(18, 12)) * 1000000000000)::HUGEINT AS se_num, {_DEN} AS se_den
    WHERE (x) > 5e-13 AND (x) <= 1) AS se_asked"""
_STEPS = """(SELECT rank, next_rank, floor(yield_lower)::BIGINT, ceil(yield_upper)::BIGINT,
           floor(next_yield_lower)::BIGINT, ceil(next_yield_upper)::BIGINT
    FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2)"""
_LIST = """(SELECT n_items::HUGEINT, misses::HUGEINT,
           greatest(floor(positives_lower)::HUGEINT, CASE WHEN misses = 0 THEN 1 ELSE 0 END),
           ceil(positives_upper)::HUGEINT
    FROM provenance WHERE proves) AS se_list(se_n, se_m, se_least, se_most)"""

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


def _at_target(name: str, rows: str, comment: str) -> Macro:
    return Macro(name, "x", comment, f"(SELECT se_triple(se_low, se_high) FROM {rows})",
                 f"SELECT x AS target, unnest(se_triple(se_low, se_high)) FROM {rows}")  # fmt: skip


_THRESHOLD = """(
    SELECT CASE WHEN se_next IS NOT NULL THEN least(se_next, se_last) END AS se_low,
           CASE WHEN se_next = se_last THEN se_next END AS se_here,
           CASE WHEN se_next IS NOT NULL THEN greatest(se_next, se_last) END AS se_high, se_k
    FROM (SELECT (k)::BIGINT AS se_k WHERE (k)::BIGINT = (k)) AS se_asked
    ASOF JOIN (SELECT rank, score FROM curve WHERE {known}) AS se_one(se_before, se_last) ON se_k >= se_before
    ASOF LEFT JOIN (SELECT rank, score FROM curve WHERE {known}) AS se_two(se_after, se_next) ON se_k <= se_after
    WHERE se_k BETWEEN 1 AND (SELECT n_items FROM provenance)) AS se_scored"""


_FLOATS = {"float": "FLOAT", "double": "DOUBLE"}


def _threshold(score: str) -> Macro:
    """Score at a rank; `score` is "float", "double", "other" or "none": the kind of the curve's score column."""
    comment = "Score of the item at rank k, between the scores of its neighbours that were read."
    if score == "none":
        nothing = "struct_pack(lower := NULL::DOUBLE, score := NULL::DOUBLE, upper := NULL::DOUBLE)"
        return Macro("threshold_at", "k", comment, nothing, f"SELECT (k)::BIGINT AS rank, unnest({nothing})")
    scored = _THRESHOLD.format(known="score IS NOT NULL" + (" AND NOT isnan(score)" if score in _FLOATS else ""))
    triple = "struct_pack(lower := se_low, score := se_here, upper := se_high)"
    return Macro("threshold_at", "k", comment, f"(SELECT {triple} FROM {scored})",
                 f"SELECT se_k AS rank, unnest({triple}) FROM {scored}")  # fmt: skip


# the same questions of one slice: where a macro of the list reads, one of a slice reads its own rows. Their column has
# another name there, so that `s` may be a column of whoever asks, even one that is called slice
_ROWS = "FROM (SELECT * EXCLUDE slice, slice AS se_slice FROM {}) WHERE se_slice = (s)"
_OF_SLICES = (
    ("FROM envelope)", f"{_ROWS.format('slice_envelope')})"),
    ("FROM provenance WHERE proves)", f"{_ROWS.format('slices')} AND proves)"),
    ("FROM provenance)", f"{_ROWS.format('slices')})"),
    ("FROM curve WHERE", f"{_ROWS.format('slice_curve')} AND"),
)


def _of_slice(macro: Macro) -> Macro:
    body, table = macro.body, macro.table
    for whole, part in _OF_SLICES:
        body, table = body.replace(whole, part), table.replace(whole, part)
    comment = f"{macro.comment[:-1]}, of slice s: ranks are those within it."
    return Macro(f"slice_{macro.name}", f"s, {macro.parameters}", comment, body, table)


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
          WHERE se_k BETWEEN greatest(1, se_from) AND greatest(1, se_to)) AS se_inside
    ASOF JOIN (SELECT rank, next_rank, yield_lower, yield_upper, next_yield_lower, next_yield_upper
               FROM envelope) AS se_step(se_a, se_b, se_lo, se_hi, se_lo2, se_hi2) ON se_k >= se_a
    HAVING count(*) > 0) AS se_precision"""


def _at_score(kind: str) -> list[Macro]:
    """Rank and precision of the cutoff that keeps every item of score s and better; of no scores, nothing."""
    ranks = "Rank of the last item whose score is x or better: it lies between lower and upper; 0 is none of the items."
    shares = (
        "Share of positives among the items whose score is x or better, wherever that cutoff lies if it keeps an item."
    )
    if kind == "none":
        nothing = "struct_pack(lower := NULL::DOUBLE, upper := NULL::DOUBLE)"
        table = f"SELECT unnest({nothing})"
        return [Macro("rank_at_score", "x", ranks, nothing, table),
                Macro("precision_at_score", "x", shares, nothing, table)]  # fmt: skip
    known = "score IS NOT NULL" + (" AND NOT isnan(score)" if kind in _FLOATS else "")
    span = _SPAN.format(known=known, asked=f"(x)::{_FLOATS[kind]}" if kind in _FLOATS else "(x)")
    within = _AT_SPAN.format(span=span, turns=_TURNS.format(span=span))
    rank = "struct_pack(lower := se_from, upper := se_to)"
    share = "struct_pack(lower := se_low, upper := se_high)"
    return [Macro("rank_at_score", "x", ranks, f"(SELECT {rank} FROM {span})", f"SELECT unnest({rank}) FROM {span}"),
            Macro("precision_at_score", "x", shares, f"(SELECT {share} FROM {within})",
                  f"SELECT unnest({share}) FROM {within}")]  # fmt: skip


# where misses are bounded: the first rank with the fewest of them, and the last with the most
_REACHED_BY_MOST = _REACHED.replace("misses::", "misses_upper::").replace("misses = 0", "misses_upper = 0")
_REACHED_BETWEEN = f"""(
    SELECT min(se_low) AS se_low, max(se_high) AS se_high
    FROM (SELECT se_low, se_high FROM {_REACHED} UNION ALL SELECT se_low, se_high FROM {_REACHED_BY_MOST}) AS se_ends
    HAVING count(*) > 0) AS se_found"""


def macros(score: str, missed: str = "known") -> list[Macro]:
    """Every macro, for a curve whose score is "float", "double", "other" or "none" and misses "known" or "bounded"."""
    above = f"(1.0::DOUBLE + {_SQUARE})"
    f_low, f_high = (f"{above} * {y} / (se_r + {_SQUARE} * {p})" for y, p in (("se_low", _WORST), ("se_high", _BEST)))
    return [
        _at_rank("yield_at", "se_low", "se_high", "Positives among the first k items."),
        _at_rank("precision_at", "se_low / se_r", "se_high / se_r", "Share of positives among the first k items."),
        _at_rank("recall_at", _share("se_low", _WORST), _share("se_high", _BEST),
                 "Share of all positives, misses included, that are among the first k items."),
        _at_rank("f_measure", f_low, f_high, "F of the first k items: recall counts beta times as much as precision.",
                 "k, beta"),
        _at_target("rank_at_precision", _DEEPEST,
                   "Deepest rank whose precision is at least x; lower is the rank at which the claim has it."),
        _at_target("rank_at_recall", _REACHED if missed == "known" else _REACHED_BETWEEN,
                   "First rank whose recall is at least x; by upper the claim has it reached."),
        _threshold(score),
        *_at_score(score),
    ]  # fmt: skip


_NO_ESTIMATES = """CREATE MACRO se_triple(se_low, se_high) AS struct_pack(
    lower := se_low, estimate := NULL::DOUBLE, upper := se_high)"""


def statements(
    score: str, slices: str = "absent", basis: str = "bounds", caution: str = "", missed: str = "known"
) -> list[str]:
    """What creates all macros, in order.

    Args:
        score, slices ({"float", "double", "other", "none"}): Kind of the score column of the curve, and of the curves
            of slices; "absent" where there are no slices.
        basis: What estimates are made of (`streameval.curve.Basis`); macros know those that are the middle of the
            bounds.
        caution: What every comment says besides.
        missed ({"known", "bounded"}): What is known of the number of misses.
    """
    asked = [*macros(score, missed), *([] if slices == "absent" else map(_of_slice, macros(slices)))]
    triple = _TRIPLE if basis == "bounds" else _NO_ESTIMATES
    weighted = [_WEIGHTED_MEAN, f"COMMENT ON MACRO weighted_mean IS '{_WEIGHTED_MEAN_SAYS}'"]
    return [triple, *weighted, *(one for macro in asked for one in macro.statements(caution))]
