"""One function per verb: its parameters are the command line's, its body parses, calls and prints."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.options import MethodOptions, RankingFlags, Whole
from streameval.cli.output import Output, columns, progress

_PLAIN, _METHOD, _RANKING = Output(), MethodOptions(), RankingFlags()
_TROUBLE = ("missing", "blank", "doubled", "contradictory", "undecided")


def plan(
    *ranking: str,
    study: Path,
    method: str = "paula",
    seed: Whole = 0,
    parameters: MethodOptions = _METHOD,
    flags: RankingFlags = _RANKING,
    output: Output = _PLAIN,
) -> None:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence

    Parameters
    ----------
    ranking
        Parquet files, folders of partitions or globs; their stored order is the ranking, best first, without --score.
    study
        Folder of the study; made if it is not there.
    method
        paula, loguniform or uniform.
    seed
        Seed of the draw and of the shuffle of tasks.
    """
    from streameval.study import Study
    from streameval.verbs.plan import plan as verb

    before = Study(study).exists
    made = verb(list(ranking), study, method=method, seed=seed, options=flags.options(),
                **asdict(parameters))  # fmt: skip
    labels = made.table.num_rows
    unknown = int(made.notes.get("unknown_tail", 0))
    result = {"study": str(study), "plan_id": made.plan_id, "labels": labels, "already_there": before, **made.header()}
    output.event("plan", labels=labels, n_items=made.n_items)
    lines = [
        f"{method}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%})"
        + (", as planned before" if before else ""),
    ]
    if unknown:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); --tail closed labels a last window."
        )
    output.say(result, [*lines, f"Next: streameval select {study} --export tasks.csv"])


def cost(
    *,
    items: Whole,
    price_per_label: float | None = None,
    parameters: MethodOptions = _METHOD,
    output: Output = _PLAIN,
) -> None:
    """Count the labels that each method asks for, and the half-width they are planned for.

    Example: streameval cost --items 2000000000 --alpha 0.05 --price-per-label 0.05
    Example: streameval cost --items 2000000000 --budget 10000

    Parameters
    ----------
    items
        Items in the ranking.
    price_per_label
        Adds what the labels cost.
    """
    from streameval.verbs.cost import cost as verb

    found = verb(items, price_per_label=price_per_label, **asdict(parameters))
    head = ["method", "labels", "half-width", "claim", *(["price"] if price_per_label is not None else [])]
    lines = columns(head, [_cost_row(row, price_per_label) for row in found])
    lines += [f"{row['method']}: {row['refused']}" for row in found if "refused" in row]
    output.say({"items": items, "methods": found}, [*lines, "", *_COST_NOTES])


_COST_NOTES = (
    "Half-widths are relative to precision. A forecast (~) depends on labels not yet seen: it is for lists that keep",
    "--min-precision. conditional: true only where the PAULA paper's assumptions are; simultaneous: at every rank at",
    "once with probability --confidence, whatever the list.",
)


def _cost_row(row: dict[str, Any], price: float | None) -> list[str]:
    if row["labels"] is None:
        return [row["method"], "-", "-", "-", *(["-"] if price is not None else [])]
    half_width = f"{'~' if row['forecast'] else ''}{row['accuracy']:.2%}" if row["accuracy"] < 0.9999 else "over 100%"
    cells = [row["method"], f"{row['labels']:,}", half_width, row["claim"]]
    return cells + ([f"{row['price']:,.2f}"] if price is not None else [])


def select(
    study: Path,
    *,
    columns: str | None = None,
    export: Path | None = None,
    output: Output = _PLAIN,
) -> None:
    """Fetch exactly the planned items, and write them as tasks for people.

    Example: streameval select my-study --export tasks.csv

    Parameters
    ----------
    study
        Folder of the study.
    columns
        The items' columns to carry, separated by commas (default: all; an export leaves scores and labels out).
    export
        Task file; its ending says the format (.csv).
    """
    from streameval.verbs.select import select as verb

    with progress("reading pages") as bar:
        names = [name.strip() for name in columns.split(",")] if columns else None
        made = verb(study, columns=names, export=export, progress=bar)
    facts = {
        "items": made.table.num_rows,
        "columns": made.table.column_names,
        "rows_read": made.fetched.rows_read,
        "row_groups_read": made.fetched.row_groups_read,
        "pages_read": made.fetched.pages_read,
        "bytes_read": made.fetched.bytes_read,
        "tied_ranks": made.fetched.tied_ranks,
        "equal_keys": made.fetched.equal_keys,
        "missing_scores": made.fetched.missing_scores,
        "rows_scanned": made.fetched.rows_scanned,
        "left_out": list(made.left_out),
    }
    for fallback in made.fetched.fallbacks:
        output.event("fallback", **asdict(fallback))
    output.event("select", **facts)
    lines = [f"{made.table.num_rows:,} items fetched into {study / 'selection.parquet'}"]
    if made.fetched.tied_ranks:
        lines.append(
            f"{made.fetched.tied_ranks:,} of them share their score with another item: the tie rule orders them."
        )
    if made.fetched.equal_keys:
        lines.append(f"{made.fetched.equal_keys:,} items among those compared have no key of their own (--key).")
    if made.fetched.missing_scores:
        lines.append(f"{made.fetched.missing_scores:,} items have no score: they come last.")
    if export is not None:
        lines.append(f"Tasks in {export}, shuffled: fill in its column 'label' with 1 or 0.")
        lines += [f"Left out of the tasks: {', '.join(made.left_out)} (--columns names what to keep)."] * bool(
            made.left_out
        )
    output.say({"study": str(study), "export": str(export) if export else None, **facts},
               [*lines, f"Next: streameval evaluate {study} --labels {export or 'labels.csv'}"])  # fmt: skip


def evaluate(
    study: Path,
    *,
    labels: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative_iterable="")] = None,
    on: str | None = None,
    label: str = "label",
    output: Output = _PLAIN,
) -> None:
    """Join labels back and write the curve with its bounds, the metrics and the report.

    Example: streameval evaluate my-study --labels tasks.csv

    Parameters
    ----------
    study
        Folder of the study.
    labels
        Parquet or CSV label tables; each row is a vote, and a file given again adds nothing.
    on
        Column that says which item a row is about (default: rank, se_rank or se_task).
    label
        Column with the label: 1/0, true/false, yes/no; blank where there is none.
    """
    from streameval.reporting.sentences import band_meaning, half_width_sentence, verdict
    from streameval.verbs.evaluate import evaluate as verb

    found = verb(study, labels=labels or [], on=on, label=label)
    cuts = [row for row in found.metrics.to_pylist() if row["metric"] == "precision_at"]
    output.event("evaluate", evaluation_id=found.evaluation_id, **found.summary["account"])
    rows = [[f"{int(r['argument']):,}", *(f"{r[k]:.4f}" for k in ("lower", "estimate", "upper"))] for r in cuts]
    account = found.summary["account"]
    notes = [f"{value:,} {key}" for key, value in account.items() if value and key in _TROUBLE]
    notes += [f"{one['unplanned']:,} rows of {one['source']} about other items" for one in found.summary["sources"]
              if one["unplanned"]]  # fmt: skip
    lines = [
        verdict(found),
        *filter(None, (half_width_sentence(found), *found.curve.findings[1:])),
        *([f"Labels: {', '.join(notes)}."] if notes else []),
        "",
        *columns(["first k", "lower", "estimate", "upper"], rows),
        f"Precision among the first k items; {band_meaning(found.curve.claim)}.",
        "",
        f"Report: {study / 'report.html'}",
    ]
    output.say({**found.summary, "precision_at": cuts, "report": str(study / "report.html")}, lines)


def simulate(
    *ranking: str,
    label: str,
    methods: str = "all",
    replicates: Whole = 200,
    seed: Whole = 0,
    plot: Path | None = None,
    parameters: MethodOptions = _METHOD,
    flags: RankingFlags = _RANKING,
    output: Output = _PLAIN,
) -> None:
    """Run methods side by side on a fully labelled list: do their bounds hold, how wide are they, what do they cost?

    Example: streameval simulate ranking.parquet --label label --methods all --replicates 200 --plot methods.svg

    Parameters
    ----------
    ranking
        Parquet files, folders or globs, as for plan.
    label
        Column with every item's label: 0/1 or a boolean.
    methods
        all, or names separated by commas.
    replicates
        Draws per method; a method that draws nothing is run once.
    seed
        Of the first draw; each further draw adds one.
    plot
        Picture of the bands of the first draw (.svg, .png or .html).
    """
    from streameval.reporting.simulation import kind_of, save_figure
    from streameval.verbs.simulate import simulate as verb

    if plot is not None:
        kind_of(plot)  # a picture that cannot be drawn is refused before the work, not after
    names = "all" if methods == "all" else [name.strip() for name in methods.split(",")]
    with progress("methods") as bar:
        found = verb(list(ranking), label=label, methods=names, replicates=replicates, seed=seed,
                     options=flags.options(), progress=bar, **asdict(parameters))  # fmt: skip
    if plot is not None:
        save_figure(found, plot)
    output.event("simulate", n_items=int(found.precision.size), methods=len(found.rows))
    head = ["method", "labels", "half-width", "held", "of", "promised", "inside"]
    lines = columns(head, [_simulated(row) for row in found.rows if "refused" not in row])
    lines += [f"{row['method']}: {row['refused']}" for row in found.rows if "refused" in row]
    lines += ["", *_SIMULATE_NOTES, *([f"Plot: {plot}"] if plot else [])]
    output.say(
        {"n_items": int(found.precision.size), "methods": found.rows, "plot": str(plot) if plot else None}, lines
    )


_SIMULATE_NOTES = (
    "held: draws whose bounds held the truth at every rank. promised: probability of that, where a method states one.",
    "half-width: the widest place, relative to precision, in the median draw. inside: share of cutoffs beyond the",
    "labelled head where the truth was inside (for paula, inside its own bracket).",
)


def _simulated(row: dict[str, Any]) -> list[str]:
    promised = {"exact": "exact", "none": "nothing", "conditional": "conditional"}.get(row["claim"])
    inside = "-" if math.isnan(row["inside"]) else f"{row['inside']:.1%}"
    return [row["method"], f"{row['labels']:,}", f"{row['half_width']:.2%}", f"{row['held']:,}",
            f"{row['replicates']:,}", promised or f"{row['confidence']:.1%}", inside]  # fmt: skip


def report(study: Path, *, output: Output = _PLAIN) -> None:
    """Draw report.html again from a study's result files.

    Example: streameval report my-study

    Parameters
    ----------
    study
        Folder of an evaluated study.
    """
    from streameval.verbs.report import report as verb

    path = verb(study)
    output.say({"report": str(path)}, [f"Report: {path}"])


def demo(folder: Path = Path("streameval-demo"), *, output: Output = _PLAIN) -> None:
    """Run the whole journey on 1,613,706 pairs of handwritten digits, whose truth is known.

    Example: streameval demo

    Parameters
    ----------
    folder
        Where the ranking and the study are written.
    """
    from streameval.demo import run

    result, lines = run(folder)
    output.say(result, lines)
