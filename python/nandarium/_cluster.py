"""Sweeps on the workers of a Dask scheduler (the extra ``cluster``).

A run is a task, and its key is the address of its result: a scheduler that has it already does not start it again. What
a worker needs of this package is `_work`; the result comes back as a text and is kept here, as soon as it is there, so
that workers share no folder. A task that was on a worker that died is given to another one by the scheduler.
"""

from __future__ import annotations

import logging
import os
import queue
import re
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from distributed import Client, Future, get_worker

from . import _nandarium
from ._sweep import SweepProgress
from .errors import ClusterError, SimulationError

CONNECT_WITHIN = 10
"""Seconds a scheduler has to answer."""
WORKERS_WITHIN = 30
"""Seconds its first worker has to come."""
AHEAD = 2000
"""Tasks a scheduler has at once: more than any cluster has threads, and few enough for its memory."""
LOOK_EVERY = 0.1
"""Seconds between two looks at whether somebody wants an end."""
MOST_LOST = 10
"""Runs that may be lost for good before the rest is given up."""
MOST_TRIES = 3
"""Times a task is given to a scheduler that forgets it."""

ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+:\d+")


def run(client: Client, errand: _nandarium.Errand, progress: SweepProgress | None) -> None:
    """Runs an errand on the workers of a scheduler.

    Raises:
        ClusterError: they cannot be used.
        SimulationError: runs were lost for good; the others are kept.
    """
    _check(client, errand)
    _Tasks(client, errand, progress).carry_out()


@contextmanager
def connected(client: Client | str) -> Iterator[Client]:
    """A client, or one of a scheduler's address until the end of the context.

    Raises:
        ClusterError: there is no scheduler, or it is no client.
    """
    if isinstance(client, Client):
        if client.asynchronous:
            raise ClusterError("this client is asynchronous; give one made with asynchronous=False, or an address")
        yield client
        return
    if not ADDRESS.fullmatch(client):
        raise ClusterError(f"`{client}` is no address of a scheduler; write tcp://HOST:PORT, for example tcp://127.0.0.1:8786")
    # What it logs of lost workers and of a lost scheduler is said here, or mended without a word.
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        own = _opened(client)
        try:
            yield own
        finally:
            own.close()
    finally:
        log.setLevel(before)


def _opened(address: str) -> Client:
    try:
        return Client(address, timeout=CONNECT_WITHIN, set_as_default=False)
    except (OSError, ValueError, OverflowError) as problem:
        raise ClusterError(f"no scheduler answers at {address} ({problem}); `dask scheduler` starts one and says its address") from None


def _check(client: Client, errand: _nandarium.Errand) -> None:
    """Looks at every worker before anything is run: the same build, and the traces.

    Raises:
        ClusterError: there is none, or one that cannot do it.
    """
    try:
        client.wait_for_workers(1, timeout=WORKERS_WITHIN)
    except TimeoutError:
        where = client.scheduler.address if client.scheduler else "it"
        raise ClusterError(f"the scheduler has no workers; `dask worker {where}` starts one") from None
    problems = client.run(_problem, _nandarium.program_hash(), errand.traces(), on_error="return")
    wrong = [(worker, problem) for worker, problem in problems.items() if problem is not None]
    if wrong:
        worker, problem = wrong[0]
        if isinstance(problem, Exception):
            # No such package there, or one of a version that has other functions.
            problem = f"it cannot load this package ({type(problem).__name__}: {problem}); install the nandarium of this machine there"
        more = f" ({len(wrong)} of {len(problems)} workers cannot be used)" if len(problems) > 1 else ""
        raise ClusterError(f"worker {worker}: {problem}{more}")


def _problem(build: str, traces: list[tuple[str, str]]) -> str | None:
    """On a worker: why it cannot do the jobs of this build."""
    if _nandarium.program_hash() != build:
        return "it has another build of nandarium, whose results may differ; install the same wheel on all machines"
    found = (_nandarium.trace_problem(path, digest) for path, digest in traces)
    return next((problem for problem in found if problem), None)


def _work(build: str, job: str) -> str:
    """On a worker: a job. One that came later than the check is looked at here."""
    worker = get_worker()
    problem = _problem(build, [])
    if problem:
        raise ClusterError(f"worker {worker.address}: {problem}")
    try:
        # Its own folder ends with the worker.
        return _nandarium.run_job(job, os.path.join(worker.local_directory, "snapshots"))
    except ClusterError as problem:
        raise ClusterError(f"worker {worker.address}: {problem}") from None


class _Tasks:
    """Jobs of an errand as tasks of a scheduler."""

    def __init__(self, client: Client, errand: _nandarium.Errand, progress: SweepProgress | None) -> None:
        self.client = client
        self.errand = errand
        self.progress = progress
        self.build = _nandarium.program_hash()
        self.ended: queue.SimpleQueue[Future[str]] = queue.SimpleQueue()
        self.under_way: dict[object, tuple[int, Future[str]]] = {}
        self.tries: dict[int, int] = {}
        self.kept = 0
        self.lost: list[str] = []

    def carry_out(self) -> None:
        """Gives out jobs and keeps answers until all are in, or somebody wants an end."""
        due = iter(range(len(self.errand)))
        try:
            while not self.errand.is_stopped() and len(self.lost) < MOST_LOST:
                while len(self.under_way) < AHEAD and (index := next(due, None)) is not None:
                    self.submit(index)
                if not self.under_way:
                    break
                try:
                    self.take(self.ended.get(timeout=LOOK_EVERY))
                except queue.Empty:
                    self.look()
                if self.progress:
                    self.progress(self.errand.found() + self.kept, self.errand.found() + len(self.errand))
        finally:
            # What has not begun is not begun any more; what came in until now is in the store.
            self.client.cancel([future for _, future in self.under_way.values()])
        if self.lost:
            raise SimulationError(f"{len(self.lost)} runs were lost, and the others are kept; the same sweep tries them again. The first: {self.lost[0]}")

    def submit(self, index: int) -> None:
        """Gives a job to the scheduler."""
        address, job = self.errand.job(index)
        future = self.client.submit(_work, self.build, job, key=f"nandarium-{address}")
        self.under_way[future.key] = (index, future)
        self.tries[index] = self.tries.get(index, 0) + 1
        future.add_done_callback(self.ended.put)

    def take(self, future: Future[str]) -> None:
        """Keeps the answer of a task that has ended."""
        index, _ = self.under_way.pop(future.key)
        try:
            answer = future.result()
        except ClusterError:
            raise
        except CancelledError:
            # Forgotten by the scheduler, which may have been started anew, or cancelled by somebody else.
            self.look()
            if self.tries[index] < MOST_TRIES:
                self.submit(index)
            else:
                self.lost.append("the scheduler has forgotten it")
        except Exception as problem:
            self.lost.append(f"{type(problem).__name__}: {problem}")
        else:
            self.errand.keep(index, answer)
            self.kept += 1

    def look(self) -> None:
        """Looks whether the scheduler is still there.

        Raises:
            SimulationError: it is not.
        """
        if self.client.status != "running":
            raise SimulationError("the scheduler is gone; what came in is kept, and the same sweep goes on from there")
