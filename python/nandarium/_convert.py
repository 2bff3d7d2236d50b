"""Traces and workloads as files."""

from __future__ import annotations

import os

from . import _nandarium
from ._run import AnyStack, asked
from ._stack import Stack
from ._trace import READING
from ._values import Settings, path_of
from ._workload import Workload
from .errors import WorkloadError


def trace_convert(
    workload: Workload | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    stack: AnyStack | None = None,
    settings: Settings | None = None,
    seed: int | None = None,
    requests: int | None = None,
) -> tuple[str, ...]:
    """Writes a trace, or the requests of a built-in workload, as CSV in the format ``nandarium``.

    ``nandarium trace convert`` writes the same file. It has the requests that `run` measures with the same arguments,
    in the same order, with the arrival times of an open loop: so another simulator can be given the requests of a
    generator.

    Args:
        workload: a name from `workloads()`, a trace file, or a `Workload`. Of a trace, ``format``, ``columns``, ``member``, ``order``,
            ``gap_limit``, ``allocator`` and ``odd_lines`` of the `Workload` are used.
        out: the file to write; an old one is replaced once the new one is whole.
        stack, settings: the drive over which a built-in workload spreads its requests, as `run` takes them. A generator needs a
            stack, or ``drive.capacity`` among the settings.
        seed: of a built-in workload (``workload.seed``).
        requests: requests of a built-in workload (``workload.requests``).

    Returns:
        Notes about the file, a sentence each: where a workload has no arrival times, all times are 0 unless
        ``workload.interarrival`` is set; of a trace, the records that were left out or moved.

    Raises:
        ConfigError: the stack cannot be used.
        WorkloadError: no such workload, a trace that cannot be read, no size of the drive, an argument without effect, or a file
            that cannot be written.
        TypeError, ValueError: an argument of another kind, or an empty text as `out`.

    Example:
        >>> import pathlib, tempfile
        >>> import nandarium as nd
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = pathlib.Path(folder) / "zipf.csv"
        ...     notes = nd.trace_convert("zipf", out, settings={"drive.capacity": "1GiB"}, requests=100, seed=7)
        ...     nd.trace_info(out).records
        100
        >>> notes[0].split(",")[0]
        'Every time in the file is 0'
    """
    described, file = Workload.of(workload), os.fspath(path_of("out", out, 'such as "out.csv"'))
    if _nandarium.is_built_in(described.name):
        chosen = Stack.of("page" if stack is None else stack)
        call = asked(described, settings, seed, requests, False)
        notes = _nandarium.workload_convert(chosen.name, chosen.to_toml(), call.settings, call.workload, file, stack is not None)
        return tuple(notes)
    arguments = {"stack": stack, "settings": settings, "seed": seed, "requests": requests}
    unused = [name for name, value in arguments.items() if value is not None]
    unused += [key for key in described.settings if key.removeprefix("workload.") not in READING]
    if unused:
        raise WorkloadError(f"{unused[0]} has no effect on the file written from the trace `{_nandarium.readable(described.name)}`: leave it out")
    reading = {name: getattr(described, name) for name in READING}
    if described.odd_lines is not None:
        reading["odd_lines"] = str(described.odd_lines)
    return tuple(_nandarium.trace_convert(described.name, file, reading))
