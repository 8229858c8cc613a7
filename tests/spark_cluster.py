"""A cluster in this process, for what does not need a real one."""

import os
import pickle
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.scans import workers


@dataclass(frozen=True)
class Cluster:
    """Carries parcels as a cluster would, in this process: shares in any order, sums in any grouping."""

    seed: int = 0
    placement: ClassVar[str] = "on workers"

    def run(self, job, progress):
        return workers.run_on_workers(job, self.run_job, progress)

    def run_job(self, request):
        order = np.random.default_rng(self.seed).permutation(request.shares)
        sent = pickle.loads(pickle.dumps(request.payload))
        result = pa.Table.from_batches([batch for part in np.array_split(order, 3) for batch in carried(sent, part)])
        assert result.column_names == list(request.columns)
        assert set(result.schema.types) == {pa.int64(), pa.int64() if request.kind == "long" else pa.binary()}
        if request.reduction:
            parts = [result.filter(pc.equal(result.column("at"), at)) for at in pc.unique(result.column("at"))]
            result = pa.concat_tables([workers.reduce_rows(request.reduction, part) for part in parts])
        if request.kind == "long":
            result = result.group_by("at").aggregate([(name, "sum") for name in request.columns[1:]])
        return result


def carried(sent, shares):
    return list(workers.run_shares(sent, shares.tolist()))


@dataclass(frozen=True)
class Slow:
    """A job that has the process interrupted that waits for it, and goes on for a minute unless it is stopped."""

    waiting: int

    def run(self, share):
        os.kill(self.waiting, signal.SIGALRM)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            time.sleep(0.05)
            yield pa.record_batch({"at": pa.array([share])})
