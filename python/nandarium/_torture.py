"""Power loss under a program: recorded once, cut again and again."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import _executor, _nandarium
from ._nandarium import Disk
from ._sweep import check_executor
from ._values import Settings, pairs, shown, threads_of


PARTS = 8
"""Parts of the checks for an executor that does not say how many workers it has."""


@dataclass(frozen=True)
class Tortured:
    """The states that power cuts left of a program's data, and the answers of its check."""

    holds: bool
    """No state failed."""
    states: int
    """States that were drawn."""
    checked: int
    """Of these, states that were checked: the others held the same bytes."""
    requests: int
    """Writes, trims and flushes of the workload."""
    failure: dict[str, Any] | None
    """The first failure, made small: its number (``state``), ``why``, and the requests that are ``lost``."""
    text: str = field(repr=False)
    """All of it in lines."""
    page: str = field(repr=False)
    """A self-contained page with the last requests before the cut."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text


def torture(
    workload: Callable[[Disk], object] | str,
    check: Callable[[Disk, list[str]], None] | str,
    *,
    prepare: str | None = None,
    mount: str | None = None,
    cuts: str = "promise",
    stack: str | None = None,
    settings: Settings | None = None,
    bytes: int = 16 << 20,
    guarantee: str = "any-order",
    atomic: int | None = None,
    lies: Sequence[str] = (),
    faults: Sequence[str] = (),
    states: int = 1000,
    seed: int = 1,
    replay: int | None = None,
    recording: str | os.PathLike[str] | None = None,
    time_limit: int = 60,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> Tortured:
    """Runs a workload once, and a check on each state that power cuts may leave of its data.

    Two functions run in this process, on a disk in memory: ``workload(disk)`` reads, writes, flushes, and tells with
    ``disk.say(line)`` its promises. ``check(disk, said)`` gets the disk after a cut and the lines said before. It raises an
    exception if the disk breaks a promise, and returns nothing. Two commands run as ``nandarium torture`` runs them, with the drive as an NBD export, or with
    a file system on it (`mount`). Processes that a command leaves behind are ended; others of this process are left alone.

    Args:
        workload, check: two functions, or two commands for ``sh``.
        prepare: a command that fills the drive first.
        mount: a file system for commands, such as ``"ext4"`` (root) or ``"fuse2fs"``.
        cuts: the source of states: ``promise``, any state that a drive may leave that keeps its promises, or ``drive``,
            cuts within a simulated drive, whose own recovery has the word.
        stack: that drive; with commands also the one that is served (default ``page``).
        settings: keys of that drive.
        bytes: size of the disk in memory, whole sectors of 512 bytes; a simulated drive has its own.
        guarantee: the promise of the drive about writes that need not last yet: ``any-order``, ``in-order`` or ``answered``.
        atomic: bytes that are written whole or not at all; by default the promise of the drive, ``drive.atomic``, which is
            512 unless it is set.
        lies: promises that are broken on purpose: ``ignore-flush``, ``early-fua``, ``late-flush``, ``torn-sector``,
            ``stale-read``, ``lost-write``, ``misdirected-write``, ``flipped-bit``, ``unreadable-sector``.
        faults: with ``cuts="drive"``, parts that fail with the power, such as ``"die 1"``, or faults of requests and cuts, such as
            ``"lose writes share 1%"``.
        states: how many states are drawn.
        seed: of the drawing.
        replay: check the state with this number alone.
        recording: take the workload's requests from this file, which `out` has kept, and do not run it.
        time_limit: seconds after which a command is ended.
        jobs: checks that run at once, where they are commands; by default one for each core. A check that is a function runs
            on one thread, as Python code does; an executor runs functions side by side. Without meaning for an executor.
        out: folder for torture.json, torture.html and the recording, and of a failure the drive before and after.
        executor: any `concurrent.futures.Executor`, as for `sweep`: its workers make the checks, each a part of them;
            the result is the same as in one process. The workload runs here, and a failure is made smaller here. Every
            part has the recording with it and draws all states, which pays where checks take longer than that. A check
            that is a function has to be one that the executor can send: for a `ProcessPoolExecutor` one at the top of a
            module.

    Raises:
        ClusterError: no executor, or a worker that cannot be used.
        ValueError: an argument that cannot be used, or a workload that writes nothing.
        TypeError: a check that returns something, such as ``False``.
        SimulationError: a command cannot be run, or the workload does not end well.

    Example:
        >>> import nandarium as nd
        >>> def workload(disk):
        ...     disk.write(0, b"a" * 512)
        ...     disk.flush()
        ...     disk.say("a")
        >>> def check(disk, said):
        ...     assert not said or disk.read(0, 512) == b"a" * 512, "a promised sector is gone"
        >>> nd.torture(workload, check).holds
        True
        >>> print(nd.torture(workload, check, lies=["ignore-flush"]).failure["why"])
        AssertionError: a promised sector is gone
    """
    given = [f"{key}={value}" for key, value in pairs(settings or {})]
    if isinstance(workload, str) != isinstance(check, str):
        raise TypeError("workload and check are two functions or two commands")
    if cuts not in ("promise", "drive"):
        raise ValueError(f"cuts is {shown(cuts)}; it is one of promise, drive")
    if cuts == "drive" and lies:
        raise ValueError("lies break promises: a simulated drive keeps its own; leave out lies or cuts")
    if cuts == "drive" and atomic is not None:
        raise ValueError("a simulated drive keeps its own promise: set drive.atomic in settings, or leave out cuts")
    if cuts == "promise" and faults:
        raise ValueError('faults belong to a simulated drive: add cuts="drive"')
    asked: dict[str, Any] = {
        "stack": stack,
        "settings": given,
        "cuts_within": cuts == "drive",
        "guarantee": guarantee,
        "atomic": atomic,
        "lies": list(lies),
        "faults": list(faults),
        "states": states,
        "seed": seed,
        "replay": replay,
        "shard": None,
        "jobs": threads_of("jobs", "checks run", jobs),
        "known": None,
    }
    check_executor(executor)
    folder = None if out is None else os.fspath(out)
    if isinstance(workload, str) and isinstance(check, str):
        texts = (prepare, workload, check, mount, time_limit)
        kept = None if recording is None else _nandarium.Recording.read(os.fspath(recording))
        if executor is not None:
            kept = kept or _nandarium.record_commands(texts, asked)
            asked["known"] = _first_failure(executor, kept, partial(_commands_checked, texts), asked)
        return _told(*_nandarium.torture_commands(texts, asked, kept, folder))
    assert not isinstance(workload, str) and not isinstance(check, str)
    if jobs is not None:
        raise ValueError("jobs belongs to commands: a check that is a function runs on one thread; executor runs it on several processes")
    if prepare is not None or mount is not None or recording is not None:
        raise ValueError("prepare, mount and recording belong to commands: a function has a disk")
    if cuts == "promise" and (stack is not None or given):
        raise ValueError('stack and settings belong to a simulated drive: add cuts="drive"')
    asked["stack"] = None if cuts == "promise" else stack or "page"
    recorded = _nandarium.record(workload, asked, bytes=bytes, out=folder)
    if executor is not None:
        asked["known"] = _first_failure(executor, recorded, partial(_function_checked, check, bytes), asked)
    return _told(*_nandarium.torture(recorded, check, asked, bytes=bytes, out=folder))


Checked = Callable[["_nandarium.Recording", dict[str, Any]], "tuple[int, str] | None"]
"""Makes the checks of a part; the first that failed, by its number among all, and its message."""


def _function_checked(check: Callable[[Disk, list[str]], None], size: int, recording: _nandarium.Recording, asked: dict[str, Any]) -> tuple[int, str] | None:
    return _nandarium.torture(recording, check, asked, bytes=size, out=None)[3]


def _commands_checked(texts: _nandarium._Texts, recording: _nandarium.Recording, asked: dict[str, Any]) -> tuple[int, str] | None:
    return _nandarium.torture_commands(texts, asked, recording, None)[3]


def _answer(checked: Checked, build: str, job: str) -> str:
    """On a worker: the checks of a part."""
    told = json.loads(job)
    asked = {**told["asked"], "shard": tuple(told["asked"]["shard"])}

    def work() -> str:
        return json.dumps(checked(_nandarium.Recording.of(zlib.decompress(base64.b64decode(told["recording"]))), asked))

    return _executor.answer_at(_executor.place(), build, work)


class _Parts:
    """Parts of the checks, for an executor."""

    def __init__(self, recording: _nandarium.Recording, asked: dict[str, Any], parts: int) -> None:
        self.recording = base64.b64encode(zlib.compress(recording.bytes(), 1)).decode()
        self.asked = asked
        self.parts = parts
        self.failed: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return self.parts

    def found(self) -> int:
        return 0

    def job(self, index: int) -> tuple[str, str]:
        # A worker is one of many: each part has one thread.
        asked = {**self.asked, "shard": (index, self.parts), "jobs": 1}
        return f"part {index + 1} of {self.parts} of the checks", json.dumps({"asked": asked, "recording": self.recording})

    def keep(self, index: int, answer: str) -> None:
        if failed := json.loads(answer):
            self.failed.append((failed[0], failed[1]))

    def is_stopped(self) -> bool:
        return False


def _first_failure(executor: Executor, recording: _nandarium.Recording, checked: Checked, asked: dict[str, Any]) -> dict[str, tuple[int, str] | None]:
    """The first check that fails among the checks of an executor's workers."""
    # Each part draws all states: more parts than workers would draw them more often than needed.
    workers = getattr(executor, "_max_workers", None)
    parts = _Parts(recording, asked, workers if isinstance(workers, int) and workers > 0 else PARTS)
    _executor.run(executor, parts, None, None, partial(_answer, checked))
    return {"first": min(parts.failed, default=None)}


def _told(told: str, text: str, page: str, _: object) -> Tortured:
    document = json.loads(told)
    return Tortured(
        holds=document["holds"],
        states=document["states"],
        checked=document["checked"],
        requests=document["requests"],
        failure=document["failure"],
        text=text,
        page=page,
    )
