"""Runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from . import _nandarium
from ._result import Comparison, Result
from ._stack import Stack
from ._values import Settings, pairs, path_of, threads_of, whole
from ._workload import Requests, Workload
from .errors import ConfigError

Progress: TypeAlias = Callable[[str, int, int | None], object]
"""Called now and then with the phase, requests done, and requests in all where that is known."""

AnyStack: TypeAlias = Stack | str | os.PathLike[str]
AnyWorkload: TypeAlias = Workload | Requests | str | os.PathLike[str]


def run(
    stack: AnyStack = "page",
    workload: AnyWorkload = "mixed",
    *,
    settings: Settings | None = None,
    seed: int | None = None,
    requests: int | None = None,
    snapshots: bool | str | os.PathLike[str] = True,
    progress: Progress | None = None,
) -> Result:
    """Runs a workload through a stack.

    The interpreter lock is free meanwhile: threads run side by side. Ctrl-C ends it with ``KeyboardInterrupt``.
    ``nandarium run`` gives the same result, hash included, with the same stack, workload and settings.

    Args:
        stack: a name from `stacks()`, a stack file, ``"page+key=value"``, or a `Stack`.
        workload: a name from `workloads()`, a trace file, a `Workload`, or `Requests` in arrays.
        settings: keys changed for this run, as ``--set``.
        seed: of workload and drive (``workload.seed``, ``engine.seed``).
        requests: requests to run (``workload.requests``); by default all of `Requests`.
        snapshots: whether preconditioned drives are kept for the next run, or in which folder.
        progress: called from this thread, at most twenty times a second; an exception that it raises ends the run.

    Raises:
        ConfigError: the stack cannot be used.
        WorkloadError: the workload cannot be run.
        DriveFull: the drive could not take further writes; its ``result`` has the measurements until then.
        NotSteady: the steady state asked for was not reached.
        IntegrityError: a read returned wrong data.
        TypeError, ValueError: an argument of another kind, or an empty text as `snapshots`.
        RecursionError: a policy or `progress` begins a run that begins a run, and so on, more than eight deep.
        KeyboardInterrupt: ended by Ctrl-C.
        Exception: raised by a policy written in Python.

    Example:
        >>> import nandarium as nd
        >>> one = nd.run("page", "zipf", settings={"drive.capacity": "1GiB"}, requests=5000, seed=7)
        >>> two = nd.run("page", "zipf", settings={"drive.capacity": "1GiB"}, requests=5000, seed=7)
        >>> one.hash == two.hash
        True
    """
    chosen = Stack.of(stack)
    call = asked(workload, settings, seed, requests, snapshots)
    return Result(_nandarium.run(chosen.name, chosen.to_toml(), call.settings, call.workload, call.columns, call.snapshots, progress))


def compare(
    stacks: Iterable[AnyStack],
    workload: AnyWorkload = "mixed",
    *,
    settings: Settings | None = None,
    seed: int | None = None,
    requests: int | None = None,
    snapshots: bool | str | os.PathLike[str] = True,
    threads: int | None = None,
    repetitions: int = 1,
) -> Comparison:
    """Runs the same workload through several stacks, side by side in threads.

    ``nandarium compare`` gives the same answer with the same arguments.

    Args:
        stacks: as `run` takes one.
        threads: runs at once; by default one for each processor.
        repetitions: runs of each stack; all but the first have other seeds. They tell which differences are more than chance
            (`Comparison.verdicts`).
        workload, settings, seed, requests, snapshots: as for `run`.

    Raises:
        ConfigError: also where `stacks` is one stack and no list.
        DriveFull: also where a repetition ended before its workload did.
        TypeError, ValueError: also where `threads` is not a number of threads, or `repetitions` is not a number from 1 to 1000.
        Exception: an exception that `run` raises; the other runs are ended.

    Example:
        >>> import nandarium as nd
        >>> both = nd.compare(["page", "page+ftl.gc.victim=fifo"], settings={"drive.capacity": "1GiB"}, requests=5000)
        >>> [result.stack for result in both]
        ['page', 'page+ftl.gc.victim=fifo']
        >>> both.verdicts
        []
    """
    if isinstance(stacks, (str, os.PathLike, Stack)):
        one = stacks.name if isinstance(stacks, Stack) else os.fspath(stacks)
        raise ConfigError(f"stacks is `{one}` alone; compare takes a list, such as [\"{one}\", \"{one}+ftl.gc.victim=fifo\"], and run takes one stack")
    chosen = [Stack.of(stack) for stack in stacks]
    if not chosen:
        raise ValueError("there is no stack to compare; give at least one")
    at_once = threads_of("threads", "a comparison runs", threads)
    times = times_of(repetitions)
    call = asked(workload, settings, seed, requests, snapshots)
    texts = [(stack.name, stack.to_toml()) for stack in chosen]
    outcomes = _nandarium.compare(texts, call.settings, call.workload, call.columns, call.snapshots, at_once, times)
    return Comparison([Result(outcome) for outcome in outcomes])


def times_of(repetitions: object) -> int:
    """Runs of each stack."""
    return whole("repetitions", repetitions, "runs of each stack, 1 to 1000", least=1, most=1000)


class Asked(NamedTuple):
    """Arguments of a run as the compiled half takes them.

    Attributes:
        settings: keys and texts, in the order they are laid over the stack.
        workload: a name or a path, or only a name where there are `columns`.
        columns: requests given in arrays.
        snapshots: a folder; ``None``: none; an empty text: the usual one.
    """

    settings: list[tuple[str, str]]
    workload: str
    columns: _nandarium.RequestColumns | None
    snapshots: str | None


def asked(
    workload: AnyWorkload,
    settings: Settings | None,
    seed: int | None,
    requests: int | None,
    snapshots: bool | str | os.PathLike[str],
) -> Asked:
    """The arguments of a run except its stack, checked as far as possible here."""
    given = pairs(settings)
    if seed is not None:
        given += [(key, str(whole("seed", seed))) for key in ("workload.seed", "engine.seed")]
    if isinstance(workload, Requests):
        name, columns = workload.name, workload._native
        if not any(key == "workload.requests" for key, _ in given):
            given.append(("workload.requests", str(len(workload))))
    else:
        described = Workload.of(workload)
        name, columns, given = described.name, None, pairs(described.settings) + given
    if requests is not None:
        given.append(("workload.requests", str(whole("requests", requests))))
    folder = ("" if snapshots else None) if isinstance(snapshots, bool) else os.fspath(path_of("snapshots", snapshots))
    return Asked(given, name, columns, folder)
