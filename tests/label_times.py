"""When label tables say that their rows were answered; little is imported, for a process of its own asks it."""

from streameval.labelling.options import LabelColumns
from streameval.labelling.reading import read_votes
from streameval.study import Study


def times_of(study, sources):
    """What each label table, by `id`, says of when its rows were answered, in ISO 8601."""
    folder = Study(study)
    plan = folder.plan()
    read = (read_votes(source, plan, folder.items(plan), LabelColumns(on="id")) for source in sources)
    return [[one.isoformat() for one in votes.table.column("time").to_pylist()] for votes in read]
