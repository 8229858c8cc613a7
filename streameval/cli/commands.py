"""One function per verb: its parameters are the command line's, its body parses, calls and prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from streameval.cli.output import Output, columns, progress

_PLAIN = Output()


@Parameter(name="*")
@dataclass(frozen=True)
class MethodOptions:
    """Parameters of the method."""

    epsilon: Annotated[str | None, Parameter(help="Grid ratio minus one, in (0, 1] (default 0.03).")] = None
    window: Annotated[int | None, Parameter(help="Labels per grid point (default 100).")] = None
    head: Annotated[int | None, Parameter(help="Ranks labelled from the top (default (window + 2) / epsilon).")] = None
    tail: Annotated[
        Literal["open", "closed"] | None, Parameter(help="Leave the ranks after the last grid point unknown, or not.")
    ] = None
    alpha: Annotated[float | None, Parameter(help="loguniform: half-width to plan for (default 0.08).")] = None
    confidence: Annotated[float | None, Parameter(help="loguniform: probability of the claim (default 0.95).")] = None
    min_precision: Annotated[
        float | None, Parameter(help="loguniform: precision that the list is expected to keep (default 0.5).")
    ] = None
    budget: Annotated[int | None, Parameter(help="loguniform: labels to spend, instead of alpha.")] = None


@Parameter(name="*")
@dataclass(frozen=True)
class RankingFlags:
    """What describes the ranking; kept in plan.json."""

    score: Annotated[str | None, Parameter(help="Score column; the stored order must follow it.")] = None
    ascending: Annotated[bool, Parameter(negative="", help="Small scores come first.")] = False
    file_order: Annotated[
        Literal["natural", "lexical"] | None, Parameter(help="Order of files where part_2 and part_10 make it unclear.")
    ] = None
    memory: Annotated[float, Parameter(help="GB that reading may take beyond what is selected.")] = 2.0
    threads: Annotated[int | None, Parameter(help="Readers at work at once (default: one per core).")] = None


def plan(
    *ranking: str,
    study: Path,
    method: str = "paula",
    seed: int = 0,
    parameters: MethodOptions = MethodOptions(),
    flags: RankingFlags = RankingFlags(),
    output: Output = _PLAIN,
) -> None:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence

    Parameters
    ----------
    ranking
        Parquet files, folders of partitions or globs whose stored order is the ranking, best first.
    study
        Folder of the study; made if it is not there.
    method
        paula or loguniform.
    seed
        Seed of the draw and of the shuffle of tasks.
    """
    from streameval.rankings import RankingOptions
    from streameval.study import Study
    from streameval.verbs.plan import plan as verb

    before = Study(study).exists
    made = verb(list(ranking), study, method=method, seed=seed, options=RankingOptions(**asdict(flags)),
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
    items: int,
    price_per_label: float | None = None,
    parameters: MethodOptions = MethodOptions(),
    output: Output = _PLAIN,
) -> None:
    """Count the labels that each method asks for.

    Example: streameval cost --items 2000000000 --price-per-label 0.05

    Parameters
    ----------
    items
        Items in the ranking.
    price_per_label
        Adds what the labels cost.
    """
    from streameval.verbs.cost import cost as verb

    found = verb(items, price_per_label=price_per_label, **asdict(parameters))
    head = ["method", "labels", "accuracy", *(["price"] if price_per_label is not None else [])]
    rows = [[row["method"], f"{row['labels']:,}", f"{row['accuracy']:.2%}", *_price(row)] for row in found]
    output.say({"items": items, "methods": found}, columns(head, rows))


def _price(row: dict[str, Any]) -> list[str]:
    return [f"{row['price']:,.2f}"] if "price" in row else []


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
        "left_out": list(made.left_out),
    }
    for fallback in made.fetched.fallbacks:
        output.event("fallback", **asdict(fallback))
    output.event("select", **facts)
    lines = [f"{made.table.num_rows:,} items fetched into {study / 'selection.parquet'}"]
    if made.fetched.tied_ranks:
        lines.append(
            f"{made.fetched.tied_ranks:,} of them tie in score with a neighbour: their order is the stored one."
        )
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
    labels: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
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
    from streameval.report import band_meaning, verdict
    from streameval.verbs.evaluate import evaluate as verb

    found = verb(study, labels=labels or [], on=on, label=label)
    cuts = [row for row in found.metrics.to_pylist() if row["metric"] == "precision_at"]
    output.event("evaluate", evaluation_id=found.evaluation_id, **found.summary["account"])
    rows = [[f"{int(r['argument']):,}", *(f"{r[k]:.4f}" for k in ("lower", "estimate", "upper"))] for r in cuts]
    account = found.summary["account"]
    notes = [f"{value:,} {key}" for key, value in account.items() if value and key in _TROUBLE]
    lines = [
        verdict(found),
        *found.curve.findings[1:],
        *([f"Labels: {', '.join(notes)}."] if notes else []),
        "",
        *columns(["first k", "lower", "estimate", "upper"], rows),
        f"Precision among the first k items; {band_meaning(found.curve.claim)}.",
        "",
        f"Report: {study / 'report.html'}",
    ]
    output.say({**found.summary, "precision_at": cuts, "report": str(study / "report.html")}, lines)


_TROUBLE = ("missing", "blank", "doubled", "contradictory", "undecided")


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
