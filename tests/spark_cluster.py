"""A cluster in this process, for what does not need a real one."""

import os
import pickle
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from streameval import engines
from streameval.order.tasks import Sampling
from streameval.remote import jobs as parcels
from streameval.remote import scan_jobs as shipping
from streameval.remote.labelled_jobs import Shipped


@dataclass(frozen=True)
class Cluster:
    """Carries parcels as a cluster would, in this process: shares in any order, sums in any grouping."""

    seed: int = 0
    memory: ClassVar[str] = "apart"

    def run_task(self, scan, task, numbers, save, progress):
        if isinstance(task, Sampling):
            return engines.create("local", {}).run_task(scan, task, numbers, save, progress)
        return shipping.unpack(task, numbers, self.carry(shipping.pack(task, scan, numbers)))

    def labelled(self, rows, threads):
        return Shipped(rows, threads, self.carry)

    def carry(self, parcel):
        order = np.random.default_rng(self.seed).permutation(parcel.shares)
        sent = pickle.loads(pickle.dumps(parcel.sent))
        home = pa.Table.from_batches([batch for part in np.array_split(order, 3) for batch in carried(sent, part)])
        assert home.column_names == list(parcel.columns)
        assert set(home.schema.types) == {pa.int64(), pa.int64() if parcel.kind == "long" else pa.binary()}
        if parcel.merge:
            home = home.group_by("at").aggregate(list(zip(parcel.columns[1:], parcel.merge, strict=True)))
        return home


def carried(sent, shares):
    return list(parcels.work(sent, shares.tolist()))


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
