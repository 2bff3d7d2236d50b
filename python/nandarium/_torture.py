"""Power loss under a program: recorded once, cut again and again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _nandarium
from ._nandarium import Disk
from ._values import Settings, pairs, shown


@dataclass(frozen=True)
class Tortured:
    """What power cuts left of a program's data, and what its check said."""

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
    text: str
    """All of it in lines."""
    page: str
    """A self-contained page with the last requests before the cut."""

    def __bool__(self) -> bool:
        return self.holds


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
    atomic: int = 512,
    lies: Sequence[str] = (),
    faults: Sequence[str] = (),
    states: int = 1000,
    seed: int = 1,
    replay: int | None = None,
    recording: str | os.PathLike[str] | None = None,
    time_limit: int = 60,
    out: str | os.PathLike[str] | None = None,
) -> Tortured:
    """Runs a workload once, and a check on what power cuts may leave of what it wrote.

    Two functions run in this process, on a disk in memory: ``workload(disk)`` reads, writes, flushes, and tells with
    ``disk.say(line)`` what it has promised; ``check(disk, said)`` raises what is wrong with the disk after a cut, given
    the lines said before, and returns nothing. Two commands run as ``nandarium torture`` runs them, with the drive as an NBD export, or with
    a file system on it (`mount`). Processes that a command leaves behind are ended; others of this process are left alone.

    Args:
        workload, check: two functions, or two commands for ``sh``.
        prepare: a command that fills the drive first.
        mount: a file system for commands, such as ``"ext4"`` (root) or ``"fuse2fs"``.
        cuts: where states come from: ``promise``, what any drive may leave that keeps its promises, or ``drive``, cuts
            within a simulated drive, whose own recovery has the word.
        stack: that drive; with commands also the one that is served (default ``page``).
        settings: keys of that drive.
        bytes: size of the disk in memory, whole sectors of 512 bytes; a simulated drive has its own.
        guarantee: what is promised of writes that need not last yet: ``any-order`` or ``in-order``.
        atomic: bytes that are written whole or not at all: 512 is all that a sector promises.
        lies: promises that are broken on purpose: ``ignore-flush``, ``early-fua``, ``late-flush``, ``torn-sector``,
            ``stale-read``.
        faults: with ``cuts="drive"``, what fails with the power, such as ``"die 1"``.
        states: how many states are drawn.
        seed: what draws them.
        replay: check the state with this number alone.
        recording: take what the workload asked for from this file, which `out` has kept, and do not run it.
        time_limit: seconds after which a command is ended.
        out: folder for torture.json and torture.html, and of a failure the recording, and the drive before and after.

    Raises:
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
        ...     assert not said or disk.read(0, 512) == b"a" * 512, "what was promised is gone"
        >>> nd.torture(workload, check).holds
        True
        >>> print(nd.torture(workload, check, lies=["ignore-flush"]).failure["why"])
        AssertionError: what was promised is gone
    """
    given = [f"{key}={value}" for key, value in pairs(settings or {})]
    if isinstance(workload, str) != isinstance(check, str):
        raise TypeError("workload and check are two functions or two commands")
    if cuts not in ("promise", "drive"):
        raise ValueError(f"cuts is {shown(cuts)}; it is one of promise, drive")
    if cuts == "drive" and lies:
        raise ValueError("lies break promises: a simulated drive keeps its own; leave out lies or cuts")
    if cuts == "promise" and faults:
        raise ValueError('faults belong to a simulated drive: add cuts="drive"')
    asked = {
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
    }
    if isinstance(workload, str) and isinstance(check, str):
        return _told(
            *_nandarium.torture_commands(
                workload, check, asked, prepare=prepare, mount=mount, recording=recording, time_limit=time_limit, out=out
            )
        )
    assert not isinstance(workload, str) and not isinstance(check, str)
    if prepare is not None or mount is not None or recording is not None:
        raise ValueError("prepare, mount and recording belong to commands: a function has a disk")
    if cuts == "promise" and (stack is not None or given):
        raise ValueError('stack and settings belong to a simulated drive: add cuts="drive"')
    asked["stack"] = None if cuts == "promise" else stack or "page"
    return _told(*_nandarium.torture(workload, check, asked, bytes=bytes, out=out))


def _told(told: str, text: str, page: str) -> Tortured:
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
