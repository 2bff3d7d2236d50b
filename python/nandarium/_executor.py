"""Jobs on a `concurrent.futures.Executor`: of this machine, of Dask, Ray, Parsl, MPI, loky, or any other.

A job goes out as a text, and its answer comes back as one. It is kept here, as soon as it is there, so that workers share
no folder. A worker needs only `answer` of this package.
"""

from __future__ import annotations

import os
import queue
import socket
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import Protocol
from uuid import uuid4

from . import _nandarium, policies
from ._pool import PoolWatch
from .errors import ClusterError, SimulationError

AHEAD = 2000
"""Jobs that an executor has at once: more than any has workers, and few enough for its memory."""
LOOK_EVERY = 0.1
"""Seconds between two looks at whether somebody wants an end."""
MOST_LOST = 10
"""Jobs that may be lost for good before the rest is given up."""
MOST_TRIES = 3
"""Times a job is given to an executor that forgets it."""
MOST_NAMED = 4
"""Jobs that are named where one of them broke the executor."""

THROWN_AWAY = ""
"""In place of sweep or study: its folder is thrown away."""


class Errand(Protocol):
    """Jobs, and the store of their answers."""

    def __len__(self) -> int:
        """Jobs that are due."""

    def found(self) -> int:
        """Jobs that need not be run."""

    def job(self, index: int) -> tuple[str, str]:
        """Name and text of a job."""

    def keep(self, index: int, answer: str) -> None:
        """Keeps an answer."""

    def is_stopped(self) -> bool:
        """Whether somebody wants an end."""


def run(
    executor: Executor,
    errand: Errand,
    progress: Callable[[int, int], object] | None,
    what: str | None,
    work: Callable[[str, str], str] | None = None,
) -> None:
    """Runs an errand on the workers of an executor.

    Args:
        what: ``"sweep"`` or ``"study"``, which keep answers, so that the same call goes on from there; `THROWN_AWAY`, if the
            folder ends with the call; ``None``, if there is no folder.
        work: does a job on a worker, by default `answer`.

    Raises:
        ClusterError: a worker cannot be used.
        SimulationError: jobs were lost for good; the others are kept.
    """
    Jobs(executor, errand, what, partial(_unless_interrupted, uuid4().hex, work or answer)).carry_out(progress)


_interrupted: set[str] = set()
"""On a worker: calls of `run` that Ctrl-C has ended."""


def _unless_interrupted(call: str, work: Callable[[str, str], str], build: str, job: str) -> str:
    """On a worker: a job, and none after Ctrl-C. A process pool takes jobs ahead, which nobody can take back."""
    if call in _interrupted:
        raise KeyboardInterrupt
    try:
        return work(build, job)
    except KeyboardInterrupt:
        _interrupted.add(call)
        raise


def problem(build: str, traces: list[tuple[str, str]]) -> str | None:
    """On a worker: why it cannot do the jobs of this build."""
    if _nandarium.program_hash() != build:
        return "it has another build of nandarium, whose results may differ; install the same wheel on all machines"
    found = (_nandarium.trace_problem(path, digest) for path, digest in traces)
    return next((problem for problem in found if problem), None)


def place() -> str:
    """On a worker: its name in messages."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def answer(build: str, job: str) -> str:
    """On a worker: a job."""
    return answer_at(place(), build, lambda: carried_out(job))


def carried_out(job: str, snapshots: str | None = None) -> str:
    """On a worker: runs a job, with the policies that it needs."""
    policies.load_for_job(job)
    return _nandarium.run_job(job, snapshots)


def answer_at(worker: str, build: str, work: Callable[[], str]) -> str:
    """On a worker: does something, if it has this build.

    Raises:
        ClusterError: the worker cannot be used; it is named.
    """
    wrong = problem(build, [])
    if wrong:
        raise ClusterError(f"worker {worker}: {wrong}")
    try:
        return work()
    except ClusterError as unusable:
        raise ClusterError(f"worker {worker}: {unusable}") from None


class Jobs:
    """Jobs of an errand under way. `work` does one on a worker; `look` raises if the executor is gone."""

    def __init__(self, executor: Executor, errand: Errand, what: str | None, work: Callable[[str, str], str], look: Callable[[], None] | None = None) -> None:
        self.executor = executor
        self.errand = errand
        self.what = what
        self.work = work
        self.watch = PoolWatch(executor)
        self.look = look or self.watch.look
        self.build = _nandarium.program_hash()
        self.ended: queue.SimpleQueue[Future[str]] = queue.SimpleQueue()
        self.under_way: dict[Future[str], tuple[int, str]] = {}
        self.tries: dict[int, int] = {}
        self.kept = 0
        self.lost: list[str] = []

    def carry_out(self, progress: Callable[[int, int], object] | None) -> None:
        """Gives out jobs and keeps answers until all are in, or somebody wants an end."""
        due = iter(range(len(self.errand)))
        found = self.errand.found()
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
                if progress:
                    progress(found + self.kept, found + len(self.errand))
        finally:
            try:
                self.watch.leave()  # first: Python 3.11 does not break a pool to its end whose jobs were taken back
            finally:
                # What has not begun is not begun any more; what came in until now is kept.
                for future in self.under_way:
                    future.cancel()
        if self.lost:
            goes_on = self.goes_on(f", and the others are kept; the same {self.what} tries them again")
            raise SimulationError(f"{len(self.lost)} jobs were lost{goes_on}. The first: {self.lost[0]}")

    def submit(self, index: int) -> None:
        """Gives a job to the executor.

        Raises:
            ClusterError: it takes none.
        """
        name, job = self.errand.job(index)
        try:
            future = self.executor.submit(self.work, self.build, job)
        except BrokenExecutor as broken:
            raise self.broken(broken, [*(name for _, name in self.under_way.values()), name]) from None
        except RuntimeError as refused:
            raise ClusterError(f"the executor takes no jobs ({refused}); give one that is not shut down") from None
        self.under_way[future] = (index, name)
        self.tries[index] = self.tries.get(index, 0) + 1
        future.add_done_callback(self.ended.put)

    def take(self, future: Future[str]) -> None:
        """Keeps the answer of a job that has ended."""
        index, name = self.under_way.pop(future)
        try:
            answered = future.result()
        except (ClusterError, TypeError, ValueError) as mistake:
            mistake.add_note(f"in the job {name}")  # of the caller: other jobs would end as this one
            raise
        except BrokenExecutor as broken:
            raise self.broken(broken, [name, *(name for _, name in self.under_way.values())]) from None
        except CancelledError:
            # Forgotten by a scheduler, which may have been started anew, or cancelled by somebody else.
            self.look()
            if self.tries[index] < MOST_TRIES:
                self.submit(index)
            else:
                self.lost.append(f"{name}: the executor has forgotten it")
        except Exception as wrong:
            self.lost.append(f"{name}: {type(wrong).__name__}: {wrong}")
        else:
            self.errand.keep(index, answered)
            self.kept += 1

    def goes_on(self, kept: str) -> str:
        """The message about answers that came in: `kept`, if it is."""
        if self.what is None:
            return ""
        return kept if self.what else "; what came in is thrown away: with out=FOLDER it is kept, and the same call goes on from there"

    def broken(self, why: BrokenExecutor, names: list[str]) -> SimulationError:
        """The error for an executor that has lost a worker and all its jobs: it does not say which job did it."""
        if not self.tries:
            return SimulationError(f"the executor was broken before it took a job ({type(why).__name__}: {why}); give a new one")
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        under_way = "; ".join(names[:MOST_NAMED])
        goes_on = self.goes_on(f"; what came in is kept, and the same {self.what} goes on from there with a new executor")
        return SimulationError(f"the executor broke ({type(why).__name__}: {why}), perhaps by one of these jobs: {under_way}{more}{goes_on}")
