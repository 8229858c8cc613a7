"""The engine of one machine: threads of this process."""

from streameval.order.run_threads import Threads

ENGINE = Threads
