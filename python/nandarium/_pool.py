"""Breaks process pools that wait for the rest of an answer whose writer was killed."""

from __future__ import annotations

import os
import select
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from typing import Any

PATIENCE = 2.0
"""Seconds that a pool has to notice by itself that a worker was killed. In tests it took less than 0.1 s."""
GIVEN_UP = 10.0
"""Seconds after which a pool that cannot be broken is left to its caller."""
FILLER = bytes(1 << 16)
"""What stands for the rest of an answer. No pickled object ends with these bytes, so that the pool refuses it."""
FILLING = 1.0
"""Seconds that one look fills for at most."""
READS_ON = 50
"""Milliseconds within which a pool that waits takes more bytes."""


class PoolWatch:
    """Makes a `ProcessPoolExecutor` notice that a worker was killed.

    A pool reads each answer as a whole. Its own process can write to the pipe as well, so that the pipe never ends. If a worker is
    killed in the middle of an answer, for example because memory is short, the pool waits for the rest: no job ends any more, and
    ``shutdown`` does not return. This class kills the other workers and writes bytes in place of the rest. The pool cannot read
    them as an answer, and declares itself broken. Python has no public function for this, so private attributes are used; a pool
    without them is left alone.
    """

    def __init__(self, executor: Executor) -> None:
        self.pool: Any = executor if os.name == "posix" and isinstance(executor, ProcessPoolExecutor) else None
        self.since: float | None = None
        """When a killed worker was first seen in a pool that had not noticed it."""

    def look(self) -> None:
        """Breaks the pool if it has not noticed a killed worker for too long."""
        workers = self._workers()
        # Workers that have done their share of jobs end by themselves, and the pool replaces them when it finds time.
        if not any((getattr(worker, "exitcode", None) or 0) < 0 for worker in workers):
            self.since = None
            return
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        if now - self.since >= PATIENCE:
            for worker in workers:
                worker.kill()  # nobody else may write now
            self._fill()

    def leave(self) -> None:
        """Waits until the pool has noticed a killed worker, so that it can be shut down."""
        self.look()
        while self.since is not None and time.monotonic() - self.since < GIVEN_UP:
            time.sleep(0.05)
            self.look()

    def _workers(self) -> list[Any]:
        """Workers of a pool that does not know yet that it is broken."""
        workers = getattr(self.pool, "_processes", None)
        return [*workers.values()] if isinstance(workers, dict) and not getattr(self.pool, "_broken", True) else []

    def _fill(self) -> None:
        with suppress(AttributeError, OSError):  # the pool is made otherwise, or was shut down
            # A descriptor of our own: when the pool closes its own one, the number may soon be that of another file.
            pipe = os.dup(self.pool._result_queue._writer.fileno())
            try:
                os.set_blocking(pipe, False)
                writable = select.poll()
                writable.register(pipe, select.POLLOUT)
                end = time.monotonic() + FILLING
                while not self.pool._broken and time.monotonic() < end and writable.poll(READS_ON):
                    os.write(pipe, FILLER)
            finally:
                os.close(pipe)
