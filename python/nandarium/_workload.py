"""Workloads: the requests of the host to a drive."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _nandarium
from ._table import Table, read_only
from ._values import Value
from .errors import WorkloadError

OPERATIONS = ("read", "write", "trim", "flush")
"""Operations; the place of each is its code in a column."""
_OF_OPERATIONS = f"give texts ({', '.join(OPERATIONS)}), or codes from 0 to 3 of a type of whole numbers, for example array.astype(\"uint8\")"


@dataclass(frozen=True, repr=False)
class Workload:
    """A generator, the recorded sample, or a trace file, and how it is run.

    Attributes that are not given have the defaults of their keys; each attribute but the name is the key
    ``workload.NAME``, and ``explain("workload")`` says more about it. Whether a generator takes one of them is checked
    by the run.

    Attributes:
        name: a name from `workloads()`, or the path of a trace (in a format of `formats()`; compressed files, tar
            archives and Parquet are read as they are).
        requests: requests to run.
        loop: ``"closed"`` keeps `queue_depth` requests under way, ``"open"`` goes by arrival times.
        queue_depth: requests under way at once in a closed loop.
        seed: of the generator.
        time_scale: factor on arrival times.
        request_size: bytes of a request, such as ``"4KiB"``.
        read_share, trim_share: such as ``"70%"``.
        flush_every: requests between two flushes of a generator; 0: none.
        footprint: share of the drive that a generator uses, such as ``"84%"``: its first addresses. Unless
            ``drive.fill`` is set as well, only these addresses are preconditioned.
        zipf_exponent, hot_space, hot_traffic: skew.
        interarrival: mean time between arrivals of a generator, such as ``"50us"``.
        format, devices, fit, order: how a trace is read.
        columns: the columns of a table in no known format, such as ``"time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes"``;
            a column is a name in the header or a number from 1.
        member: the file to read from a tar or zip archive that has several.
        repeat: times a trace is run, with times that go on.
        repeat_order: ``"shuffle"`` gives the writes of each further pass a new order, ``"same"`` keeps the order of the
            trace.
        gap_limit: a time such as ``"1h"``, to which longer ones between two requests of a trace are cut.
        allocator: how the keys of a trace without addresses get addresses.
        odd_lines: lines of a trace that may be left out because they do not fit its format: ``"20"``, or a share such as ``"5%"``.
    """

    name: str
    requests: int | None = None
    loop: Literal["auto", "open", "closed"] | None = None
    queue_depth: int | None = None
    seed: int | None = None
    time_scale: float | None = None
    request_size: str | None = None
    read_share: str | None = None
    trim_share: str | None = None
    flush_every: int | None = None
    footprint: str | None = None
    zipf_exponent: float | None = None
    hot_space: str | None = None
    hot_traffic: str | None = None
    interarrival: str | None = None
    format: str | None = None
    columns: str | None = None
    member: str | None = None
    devices: str | None = None
    fit: Literal["auto", "error", "modulo", "compact", "scale"] | None = None
    order: Literal["error", "clamp", "sort", "whole"] | None = None
    repeat: int | None = None
    repeat_order: Literal["same", "shuffle"] | None = None
    gap_limit: str | None = None
    allocator: Literal["first-fit", "log", "by-tier"] | None = None
    odd_lines: int | str | None = None

    def __repr__(self) -> str:
        given = "".join(f", {key.removeprefix('workload.')}={value!r}" for key, value in self.settings.items())
        return f"Workload({self.name!r}{given})"

    @property
    def settings(self) -> dict[str, Value]:
        """The keys it sets."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "name")
        return {f"workload.{name}": value for name, value in given if value is not None}

    @classmethod
    def of(cls, workload: Workload | str | os.PathLike[str]) -> Workload:
        """A workload given as one, as a name, or as a path."""
        return workload if isinstance(workload, Workload) else cls(os.fspath(workload))


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests given as columns; they are checked once and cross to the simulator as whole arrays.

    The columns are copies that cannot be changed: arrays that were given may be used again.

    Attributes:
        op: shape (n,); ``"read"``, ``"write"``, ``"trim"``, ``"flush"``, or their codes 0 to 3.
        first_sector: shape (n,), whole numbers; sectors of 512 bytes, from 0. 0 for a flush.
        sectors: shape (n,), whole numbers from 1, below 2^32; 0 for a flush.
        arrival: shape (n,), whole nanoseconds since the start, not descending; ``None``: requests follow each other
            in a closed loop (``workload.queue_depth`` of them at once).
        fua: shape (n,), bools: a write is acknowledged only once it would survive a power cut; ``None``: none.
        name: their name in results.

    Raises:
        WorkloadError: when made: columns of other shapes or kinds, numbers out of range, an unknown operation. When
            run: requests that go back in time or end beyond the drive.

    Example:
        >>> import numpy as np, nandarium as nd
        >>> rng = np.random.default_rng(1)
        >>> requests = nd.Requests(op=np.full(2000, "write"), first_sector=8 * rng.integers(0, 1000, 2000), sectors=np.full(2000, 8))
        >>> nd.run("page", requests, settings={"drive.capacity": "1GiB"}).requests
        2000
    """

    op: npt.ArrayLike
    first_sector: npt.ArrayLike
    sectors: npt.ArrayLike
    arrival: npt.ArrayLike | None = None
    fua: npt.ArrayLike | None = None
    name: str = "requests"

    def __post_init__(self) -> None:
        columns: dict[str, npt.NDArray[Any]] = {"op": _operations(self.op)}
        columns["first_sector"] = _whole("first_sector", self.first_sector, np.uint64)
        columns["sectors"] = _whole("sectors", self.sectors, np.uint32)
        if self.arrival is not None:
            columns["arrival"] = _whole("arrival", self.arrival, np.uint64)
        if self.fua is not None:
            columns["fua"] = _switches("fua", self.fua)
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise WorkloadError(f"columns of requests have one length, not {lengths}")
        if not lengths["op"]:
            raise WorkloadError("there is no request in these columns; give at least one")
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.op)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        # What was made of the columns stays here, and another interpreter checks what it gets.
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __repr__(self) -> str:
        return f"Requests({len(self)} requests, name={self.name!r})"

    @property
    def table(self) -> Table:
        """The columns as a table: operations as their codes."""
        names = ("arrival", "op", "first_sector", "sectors", "fua")
        return Table({name: getattr(self, name) for name in names if getattr(self, name) is not None})

    @cached_property
    def _native(self) -> _nandarium.RequestColumns:
        return _nandarium.RequestColumns(self.op, self.first_sector, self.sectors, self.arrival, self.fua)


def _one_dimension(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    if np.ma.is_masked(values):
        count = np.ma.count_masked(values)  # type: ignore[no-untyped-call]
        raise WorkloadError(
            f"{name} is a masked array, and {count} of its values are masked; leave those requests out of every column"
            f" (column[~{name}.mask]), or give them a value: {name}.filled(0)"
        )
    array = np.asarray(values)
    if array.ndim != 1:
        raise WorkloadError(f"{name} has the shape {array.shape}; give one number for each request, of shape (n,)")
    return array


def _whole(name: str, values: npt.ArrayLike, kind: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    array = _one_dimension(name, values)
    if array.dtype.kind not in "iu":
        if array.size:
            raise WorkloadError(f"{name} is of {array.dtype}; give whole numbers, for example array.astype(\"{kind.__name__}\")")
        array = array.astype(kind)
    limit = np.iinfo(kind).max
    if array.size and (array.min() < 0 or int(array.max()) > limit):
        wrong = int(np.flatnonzero((array < 0) | (array > limit))[0])
        raise WorkloadError(f"{name}[{wrong}] is {array[wrong]}; give numbers from 0 to {limit}")
    return _kept(array, kind)


def _switches(name: str, values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    array = _one_dimension(name, values)
    if array.dtype.kind != "b" and not (array.dtype.kind in "iu" and np.isin(array, (0, 1)).all()):
        raise WorkloadError(f"{name} is of {array.dtype}; give bools, or 0 and 1")
    return _kept(array, np.uint8)


def _kept(array: npt.NDArray[Any], kind: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """A column as the simulator takes it, copied once."""
    return read_only(np.array(array, dtype=kind, order="C", copy=True), is_own=True)


def _operations(values: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    array = _one_dimension("op", values)
    if array.dtype.kind in "iu":
        if array.size and (array.min() < 0 or array.max() >= len(OPERATIONS)):
            wrong = int(np.flatnonzero((array < 0) | (array >= len(OPERATIONS)))[0])
            raise WorkloadError(f"op[{wrong}] is {array[wrong]}; 0 is read, 1 write, 2 trim, 3 flush")
        return _kept(array, np.uint8)
    if array.dtype.kind not in "USO" and array.size:
        raise WorkloadError(f"op is of {array.dtype}; {_OF_OPERATIONS}")
    if array.dtype.kind == "O":
        for index, value in enumerate(array):
            if not isinstance(value, (str, bytes)):
                raise WorkloadError(f"op is of object, and op[{index}] is {value!r}; {_OF_OPERATIONS}")
    names, codes = np.unique(array.astype(str), return_inverse=True)
    unknown = [str(name) for name in names if name not in OPERATIONS]
    if unknown:
        close = get_close_matches(unknown[0].lower(), OPERATIONS, 1)
        hint = f"; did you mean `{close[0]}`" if close else f"; there is {', '.join(OPERATIONS)}"
        raise WorkloadError(f"`{unknown[0]}` is not an operation{hint}")
    return read_only(np.array([OPERATIONS.index(name) for name in names], dtype=np.uint8)[codes], is_own=True)
