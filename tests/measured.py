"""What the labels of a study of a curve come to, computed as `evaluate` does: for tests of numbers, not of files."""

from pathlib import Path

from label_tables import judged

import streameval
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.judging import curve_of, recount


def curve_so_far(study):
    """The curve of the labels that a study has."""
    folder = Study(study)
    plan = folder.plan()
    return curve_of(plan, recount(folder, plan).labels)


def with_tables(study, labels=(), **options):
    """A study with the tables and the summary of its evaluation, but no page and no database; its folder."""
    return write_tables(study, judged(study, labels, **options))


def exact_tables(source, folder, **options):
    """Exact results likewise."""
    return write_tables(folder, streameval.exact(source, **options))


def write_tables(folder, found):
    """Write the tables and the summary of what was found; their folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tags = {"evaluation_id": found.evaluation_id}
    tables = {folder / f"{name}.parquet": atomic.parquet(table, tags) for name, table in found.tables.items()}
    atomic.write_all({**tables, folder / "evaluation.json": atomic.json_object(found.summary)})
    return folder
