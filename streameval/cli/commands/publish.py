"""`streameval publish`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.batch import stage
from streameval.cli.output import Output


def publish(study: Path, place: str, /, *, output: Output = Output()) -> None:
    """Copy the results of a study to a folder or an object store, their manifest.json last.

    Example: streameval publish my-study s3://bucket/results

    Args:
        study: Folder of an evaluated study.
        place: Folder or object store (s3://bucket/folder).
    """
    from streameval.verbs.publish import publish as verb

    with stage("publish", output) as told:
        done = verb(study, place)
        files = done.manifest["files"]
        facts = {"place": done.place, "already_there": done.already_there, "files": files}
        told |= {"bytes": 0 if done.already_there else sum(file["bytes"] for file in files), **facts}
    there = ", where they were already" if facts["already_there"] else ""
    output.say({"study": str(study), **facts}, [f"Published: {facts['place']}{there}"])
