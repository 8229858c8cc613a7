"""Results of many rankings, as their files hold them: a row for each ranking, and their means."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streameval import __version__
from streameval.errors import InputError, NoRowsError, StudyError, did_you_mean
from streameval.notebook import Tabular, facts
from streameval.parquet.own_tables import read_table
from streameval.queries.evaluate import Found, Opened, Sink
from streameval.queries.measured import metric_names
from streameval.queries.sums import BINS, Sums
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.stores import atomic, checksum, locks
from streameval.stores.own_files import read_json

AGAIN = "run the command that made it again"
RANKINGS = "rankings.parquet"
_OWN = ("metrics", "by_size", "histograms")
TABLES = tuple(f"{name}.parquet" for name in _OWN)
FILES = (RANKINGS, *TABLES, "report.html", "study.duckdb", "evaluation.json")
TIE_RULES = {
    "all": "every order of tied items",
    "trec_eval": "tied items by name as text, the largest first; scores as 32-bit floats",
    "scikit-learn": "average precision at thresholds; AUC and nDCG: the mean over all orders; others: every order",
}
_GROUP = 1 << 16  # rankings of a row group


@dataclass(frozen=True)
class RankingsEvaluation(Tabular):
    """What `exact` finds of many rankings, or `evaluate` from the labels of some of them.

    Attributes:
        metrics: Means over rankings: `metric`, `argument`, `lower`, `estimate`, `upper`, `coverage`, `rankings` (how
            many the mean is over), `no_positives` ("zero" or "skip": what became of those without a positive). Lower
            and upper are the means with all tied items in the worst and in the best order.
        by_size: By the number of items, in powers of ten: rankings, those without a positive, and means.
        histograms: How many rankings with a positive have a metric in each twentieth of [0, 1].
        summary: What evaluation.json and `--json` say.
        rankings: A row for each ranking, in no particular order: its name, `items`, `positives`, `misses`, and each
            metric: worst, expected and best over all orders of tied items. Null where a metric is undefined.
    """

    evaluation_id: str
    metrics: pa.Table = field(repr=False)
    by_size: pa.Table = field(repr=False)
    histograms: pa.Table = field(repr=False)
    summary: Mapping[str, Any] = field(repr=False)
    rankings: pa.Table | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """The means."""
        return self.metrics

    def mean(self, metric: str, at: int | None = None) -> float | None:
        """Mean of a metric over rankings, such as `mean("ndcg_at", 10)`; None where it is undefined in all."""
        argument = "" if at is None else str(at)
        for row in self.metrics.to_pylist():
            if (row["metric"], row["argument"]) == (f"mean_{metric}", argument):
                return None if row["estimate"] is None else float(row["estimate"])
        known = dict.fromkeys(_column(row["metric"], row["argument"]) for row in self.metrics.to_pylist())
        hint = did_you_mean(_column(f"mean_{metric}", argument), known).replace("mean_", "")
        raise InputError(f"there is no mean of '{_column(metric, argument)}'", hint)

    def _repr_html_(self) -> str:
        said = {"rankings": f"{self.summary['rankings']:,}", "items": f"{self.summary['n_items']:,}"}
        return facts("Evaluation of many rankings", said) + super()._repr_html_()


def identity_of(fingerprint: str, label: str, options: Any, description: Mapping[str, Any]) -> str:
    """Sixteen hex digits: the hash of the rows, the options and the version."""
    said = {name: value for name, value in vars(options).items() if name != "positives"}
    if options.positives is not None:
        with suppress(NoRowsError):  # as if there were no table
            said["positives"] = open_rows(options.positives, RankingOptions()).fingerprint
    text = json.dumps([__version__, fingerprint, label, said, dict(description)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def results(identity: str, found: Found, description: Mapping[str, Any]) -> RankingsEvaluation:
    """Make tables of the sums."""
    sums, options = found.sums, found.rows.options
    shown = [*options.per, "items", "positives", "misses", "average_precision"]
    summary = {
        "evaluation_id": identity,
        "study": None,
        "version": __version__,
        "method": "exact",
        "per": list(options.per),
        "rankings": sums.rankings,
        "without_positives": sums.without,
        "n_items": sums.items,
        "positives": sums.positives,
        "misses": sums.misses,
        "positives_left_out": found.returned,
        "parameters": {"label": found.rows.rows.label, "at": list(options.cutoffs), "gain": options.gain,
                       "no_positives": options.no_positives, "ties": options.ties, "item": options.item},
        "ranking": {**description, "tie_rule": TIE_RULES[options.ties]},
        "how": found.how,
        "lowest": found.worst.select(shown).to_pylist(),
    }  # fmt: skip
    names = metric_names(options.cutoffs)
    policies = [options.no_positives, "skip" if options.no_positives == "zero" else "zero"]
    return RankingsEvaluation(identity, means(sums, names, policies), _by_size(sums, names),
                              _histograms(sums, names), summary)  # fmt: skip


_METRICS = pa.schema(
    [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
     ("upper", pa.float64()), ("coverage", pa.string()), ("rankings", pa.int64()), ("no_positives", pa.string())]
)  # fmt: skip


def means(sums: Sums, names: Sequence[tuple[str, str]], policies: Sequence[str]) -> pa.Table:
    """Means of all metrics, under the first policy and then under the other."""
    rows = []
    for policy in policies:
        for m, (name, argument) in enumerate(names):
            over = sums.rankings if policy == "zero" else sums.rankings - sums.without
            if name == "roc_auc":  # 0 would be worse than chance: it is left out where it is undefined
                over = sums.count(m)
            low, middle, high = (sums.sum(m, side) / max(1, over) for side in range(3))
            middle = min(max(low, middle), high)  # they are rounded each
            row = {"lower": low, "estimate": middle, "upper": high}
            known = row if over else dict.fromkeys(row)
            rows.append({"metric": f"mean_{name}", "argument": argument, **known, "coverage": "exact",
                         "rankings": over, "no_positives": policy})  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_METRICS)


def _by_size(sums: Sums, names: Sequence[tuple[str, str]]) -> pa.Table:
    rows = []
    for digits, (count, without) in enumerate(sums.sizes.tolist()):
        if count:
            first, last = (10 ** (digits - 1), 10**digits - 1) if digits else (0, 0)
            known = count - without
            own = {f"mean_{_column(*name)}": sums.of_size(digits, m) / known if known else None
                   for m, name in enumerate(names) if name[0] != "roc_auc"}  # fmt: skip
            rows.append({"items_from": first, "items_to": last, "rankings": count, "without_positives": without, **own})
    return pa.Table.from_pylist(rows)


def _column(name: str, argument: str) -> str:
    return f"{name}_{argument}" if argument else name


def _histograms(sums: Sums, names: Sequence[tuple[str, str]]) -> pa.Table:
    return pa.table(
        {
            "metric": [name for name, _ in names for _ in range(BINS)],
            "argument": [argument for _, argument in names for _ in range(BINS)],
            "at_least": [i / BINS for _ in names for i in range(BINS)],
            "rankings": sums.bins.ravel(),
        }
    )


def collected(tables: list[pa.Table]) -> Opened:
    """Keep the rows of rankings in memory."""

    def opened(schema: pa.Schema) -> Sink:
        tables[:] = [schema.empty_table()]
        return tables.append

    return opened


def save(
    folder: Path,
    identity: str,
    run: Callable[[Opened], RankingsEvaluation],
    render: Callable[[RankingsEvaluation], str],
    database: Callable[[RankingsEvaluation, Path], atomic.Writer],
) -> RankingsEvaluation:
    """Evaluate, and write each ranking as it is measured; evaluation.json last.

    Args:
        run: Evaluates, with what takes the rows of rankings.
        render: Draws the report.
        database: Gives the writer of study.duckdb, from a file of rankings.

    Raises `StudyError` where the folder holds a study, or files of these names that `exact` did not write.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    taken = [name for name in FILES if (folder / name).exists()]
    if taken and not is_many(folder):
        raise StudyError(
            f"{folder / taken[0]}: is not a result of many rankings", "give these results a folder of their own"
        )
    known: list[RankingsEvaluation] = []
    place: list[Path] = []

    def rankings(path: str) -> None:
        writer = _Writer(path, {"evaluation_id": identity})
        known.append(run(writer.opened))
        place.append(Path(path))
        writer.close()

    def later(make: Callable[[RankingsEvaluation], atomic.Writer]) -> atomic.Writer:
        return lambda path: make(known[0])(path)

    tags = {"evaluation_id": identity}
    files: dict[Path, atomic.Writer] = {folder / RANKINGS: rankings}
    for name, own in zip(TABLES, map(attrgetter, _OWN), strict=True):
        files[folder / name] = later(partial(_table_writer, own, tags))
    files[folder / "report.html"] = later(lambda found: atomic.text(render(found)))
    files[folder / "study.duckdb"] = later(lambda found: database(found, place[0]))
    files[folder / "evaluation.json"] = later(lambda found: atomic.json_object(found.summary))
    atomic.make_folder(folder)
    with locks.one_at_a_time(folder):
        atomic.write_all(files)
    return known[0]


def _table_writer(
    own: Callable[[RankingsEvaluation], pa.Table], tags: Mapping[str, str], found: RankingsEvaluation
) -> atomic.Writer:
    return atomic.parquet(own(found), tags)


class _Writer:
    """Writes rankings as they come."""

    def __init__(self, path: str, tags: Mapping[str, Any]) -> None:
        self._path, self._tags = path, tags
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.Table] = []

    def opened(self, schema: pa.Schema) -> Sink:
        """Begin, or begin again."""
        if self._writer is not None:
            self._writer.close()
        self._held = []
        own = {b"streameval": json.dumps(dict(self._tags)), checksum.KEY.encode(): checksum.BLANK}
        self._writer = pq.ParquetWriter(self._path, schema.with_metadata(own), compression="zstd", compression_level=1,
                                        use_dictionary=False, write_page_index=True,
                                        write_page_checksum=True)  # fmt: skip
        return self._take

    def _take(self, table: pa.Table) -> None:
        self._held.append(table)
        if sum(one.num_rows for one in self._held) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._held and self._writer is not None:
            self._writer.write_table(pa.concat_tables(self._held).combine_chunks())
        self._held = []

    def close(self) -> None:
        """Write what is held, and the checksum."""
        self._flush()
        if self._writer is not None:
            self._writer.close()
            checksum.write(self._path)


def is_many(folder: Path) -> bool:
    """Whether a folder holds results of many rankings."""
    try:
        summary = read_json(folder / "evaluation.json", AGAIN)
        return bool(summary.get("per")) and summary.get("method") == "exact"
    except (FileNotFoundError, StudyError):
        return False


def read_results(folder: Path) -> RankingsEvaluation:
    """Read results of many rankings but the rows of these; a `StudyError` where they do not belong together."""
    summary = read_json(folder / "evaluation.json", AGAIN)
    files = {name: read_table(folder / name, AGAIN) for name in TABLES}
    for name, file in files.items():
        if file.facts.get("evaluation_id") != str(summary["evaluation_id"]):
            raise StudyError(f"{folder / name}: is of another evaluation than the rest", AGAIN)
    metrics, by_size, histograms = (files[name].table for name in TABLES)
    return RankingsEvaluation(str(summary["evaluation_id"]), metrics, by_size, histograms, summary)
