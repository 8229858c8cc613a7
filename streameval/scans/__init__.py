"""Scans: one pass over the units of a list, wherever an engine has them read. Nothing here knows what is in the rows.

- `units`: rows that are read at once, of any kind of storage.
- `jobs`: what an engine runs; tasks, whose partial results merge. `threads`: the engine of this process.
- `checkpoints`: keeps what a task has read, shares it (by shards) and resumes it.
- `workers`: jobs on other machines, in shares that go out as bytes; `spark`: the engine that has a cluster do them.
"""
