"""A pool of processes that waits for the rest of an answer whose writer was killed."""

from __future__ import annotations

import time
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any

PATIENCE = 2.0
"""Seconds in which a pool notices by itself that a worker is gone: it needs some milliseconds."""


class PoolWatch:
    """Makes a `ProcessPoolExecutor` notice that it is broken.

    A pool reads an answer as a whole, from a pipe that it keeps open for writing. So if a worker is killed in the middle of an
    answer, for example because memory is short, the pool waits for the rest: no job ends any more, and ``shutdown`` does not
    return. Without workers and without its own end of the pipe, the pool reads that the answer has ended. Python has no
    function for that, so this looks into the pool, and does nothing where a pool is made otherwise.
    """

    def __init__(self, executor: Executor) -> None:
        self.pool: Any = executor if isinstance(executor, ProcessPoolExecutor) else None
        self.since: dict[int, float] = {}
        """When each worker was first seen to be gone, by the number of its process."""

    def look(self) -> None:
        """Breaks the pool if a worker is gone for too long."""
        workers = [*(getattr(self.pool, "_processes", None) or {}).values()]
        sentinels = {worker.sentinel: worker.pid for worker in workers}
        now = time.monotonic()
        self.since = {sentinels[gone]: self.since.get(sentinels[gone], now) for gone in wait([*sentinels], 0) if isinstance(gone, int)}
        if any(now - since >= PATIENCE for since in self.since.values()):
            for worker in workers:
                worker.kill()
            answers = getattr(self.pool, "_result_queue", None)
            if answers is not None:
                answers._writer.close()
            self.pool = None
