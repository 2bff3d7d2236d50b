"""The workers of a Dask scheduler (the extra ``cluster``): they are looked at before anything runs, and then its executor has them.

The key of a task is made of its job: a scheduler that has it already does not start it again. A task that was on a worker
that died is given to another one by the scheduler.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from distributed import Client, get_worker

from . import _executor, _nandarium
from .errors import ClusterError, SimulationError

CONNECT_WITHIN = 10
"""Seconds a scheduler has to answer."""
WORKERS_WITHIN = 30
"""Seconds its first worker has to come."""

ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+:\d+")


def run(client: Client, errand: _nandarium.Errand, progress: Callable[[int, int], object] | None, what: str) -> None:
    """Runs an errand on the workers of a scheduler; `what` as for an executor.

    Raises:
        ClusterError: they cannot be used.
        SimulationError: runs were lost for good; the others are kept.
    """

    def look() -> None:
        if client.status != "running":
            raise SimulationError("the scheduler is gone" + jobs.goes_on("; what came in is kept, and the same sweep goes on from there"))

    _check(client, errand)
    executor = client.get_executor()
    jobs = _executor.Jobs(executor, errand, what, _work, look)
    try:
        jobs.carry_out(progress)
    finally:
        # All at once, instead of one after the other.
        executor.shutdown(wait=False)


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
    return _executor.problem(build, traces)


def _work(build: str, job: str) -> str:
    """On a worker: a job. A worker that came later than the check is looked at here."""
    worker = get_worker()
    # Its own folder ends with the worker.
    return _executor.answer_at(worker.address, build, lambda: _executor.carried_out(job, os.path.join(worker.local_directory, "snapshots")))
