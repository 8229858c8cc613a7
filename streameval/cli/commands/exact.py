"""`streameval exact`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, rehearsed
from streameval.cli.options import EngineFlags, SeveralNames, Whole
from streameval.cli.output import Output, progress
from streameval.cli.ranking import ManyFlags, MeaningFlags, ScoredFlags
from streameval.errors import InputError
from streameval.labelling.options import LabelsAre
from streameval.text import number_of

_TOLD = ("n_items", "rankings", "positives", "how")  # of the summary, in the log


@job
def exact(
    *ranking: str,
    label: str = "label",
    labels: str | None = None,
    on: SeveralNames = None,
    labels_are: LabelsAre = "answers",
    misses: Whole = 0,
    window: str | None = None,
    epsilon: str = "0.03",
    out: Path | None = None,
    flags: ScoredFlags = ScoredFlags(),
    meaning: MeaningFlags = MeaningFlags(),
    many: ManyFlags = ManyFlags(),
    engine: EngineFlags = EngineFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Evaluate a list whose every item has a label: exactly, in one stream, in fixed memory.

    Example: streameval exact ranking/ --label is_correct --score confidence --out results
    Example: streameval exact ranking/ --label is_correct --out results --engine spark:sc://spark:15002
    Example: streameval exact runs/ --per query --label grade --score score --key document --at 10,100 --out results

    Args:
        ranking: Files (Parquet, CSV, JSONL), folders, globs or a query, as for plan; their stored order is the ranking,
            best first, without --score. With it every item needs a score: a float, an integer or a date (decimals have
            to be cast).
        label: Column with every item's label: 0/1, true/false, yes/no, or a grade; of the ranking, or of --labels.
        labels: Label table beside the ranking (any source that evaluate takes): one label for every item.
        on: Columns by which it is joined to the items, separated by commas (default: its rank).
        labels_are: answers: --labels has one for every item. positives: it lists positives alone (without a column of
            labels, every row is one), and all other items are negative.
        misses: Positives that the list never returned.
        window: Window lengths, separated by commas: are the PAULA paper's assumptions true of this list with them?
        epsilon: Grid ratios minus one for these windows, separated by commas.
        out: Folder for curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html and study.duckdb.
    """
    from streameval.cli.picture import shown
    from streameval.kinds import named
    from streameval.study.label_tables import forecast_labels
    from streameval.verbs.exact import Windows, exact_per
    from streameval.verbs.exact import exact as exact_list

    kind, verb = (named("labelled_list"), exact_list) if many == ManyFlags() else (named("rankings"), exact_per)
    options = {"labels": labels, "on": on, "misses": misses, **meaning.changed(), **many.changed()}
    options |= {"labels_are": None if labels_are == "answers" else labels_are}
    options |= {"window": window, "epsilon": None if epsilon == "0.03" else epsilon}
    if verb is exact_list:
        lengths = tuple(_whole(text) for text in (options.pop("window") or "").split(",") if text.strip())
        options["windows"] = Windows(lengths, tuple(text.strip() for text in epsilon.split(",")))
        del options["epsilon"]
    given = {name: value for name, value in options.items() if value not in (None, 0)}
    if batch.dry_run:
        if verb is exact_per:
            raise InputError("--per does not go with --dry-run", "leave it out")
        _rehearse((ranking, flags), label, labels, out, output)
        return
    with stage("exact", output) as told:
        with progress("items", output) as bar:
            evaluation = verb(list(ranking), label=label, out=out, options=flags.options(), engine=engine.create(),
                              progress=bar, **given)  # fmt: skip
        summary = evaluation.summary
        told |= {"rows": summary["n_items"], **{name: summary[name] for name in _TOLD if name in summary}}
    if out is not None:
        beside = [asdict(one) for one in forecast_labels([labels] if labels else [])]
        read = {"source": list(ranking), "n_items": summary["n_items"], **summary["ranking"], "label": label,
                "labels": beside, **engine.facts()}  # fmt: skip
        record(out, "exact", read, [out / name for name in kind.files(None)], output)
    report = str(out / "report.html") if out else None
    folder = out or Path()
    lines = [*shown(kind.lines(folder, evaluation)), *([f"Report: {report}"] if out else [])]
    output.say({**kind.facts(folder, evaluation), "report": report}, lines)


def _rehearse(
    what: tuple[Sequence[str], ScoredFlags],
    label: str,
    labels: str | None,
    out: Path | None,
    output: Output,
) -> None:
    from streameval.copies.write import for_a_while
    from streameval.kinds import named
    from streameval.rankings.forecasts import forecast_exact
    from streameval.study.label_tables import forecast_labels

    ranking, flags = what
    options = flags.options()
    with for_a_while(list(ranking), options) as source:
        n_items, read = forecast_exact(source, options, label if labels is None else None)
    names = named("labelled_list").files(None)
    writes = [str(out / name) for name in names] if out else []
    facts = rehearsed({"items": n_items, "n_items": n_items, "source": list(ranking)}, read, writes,
                      forecast_labels([] if labels is None else [labels]))  # fmt: skip
    output.say(facts, [f"Would evaluate {number_of(n_items, 'item')}.", *lines_of(facts)])


def _whole(text: str) -> int:
    from streameval.errors import InputError

    try:
        return int(text)
    except ValueError:
        raise InputError(f"--window: {text.strip()!r} is not a whole number", "such as --window 50,100,200") from None
