"""The contents of a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _html, _nandarium


class Record(Mapping[str, Any]):
    """An object of a JSON document that cannot be changed: ``record["name"]`` and ``record.name`` are the same.

    Objects in it are records as well, lists are tuples, and null is ``None``. ``dict(record)`` copies it.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", {name: _frozen(value) for name, value in fields.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        # Before it is made, as while it is copied, there are no fields to look into.
        if name != "_fields" and name in self._fields:
            return self._fields[name]
        raise AttributeError(f"{type(self).__name__} has no `{_nandarium.readable(name)}`; there is {', '.join(self._fields) if name != '_fields' else 'nothing yet'}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"`{_nandarium.readable(name)}` cannot be set: a {type(self).__name__} says what was found; dict(record) makes a copy that can be changed")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value if isinstance(value, Record) else Record(value)
    return tuple(_frozen(each) for each in value) if isinstance(value, (list, tuple)) else value


class TraceInfo(Record):
    """The contents of a trace: the document of ``nandarium trace info --json``, each key an attribute.

    ``print`` shows the table of the command. The attributes named here are there for every trace; the document may have more.

    Attributes:
        format: name of the format.
        records: records kept.
        ops: of each operation ``op``, ``records`` and ``bytes``.
        devices: of each device ``device`` (number and name), ``records``, ``start_bytes`` and ``end_bytes``.
        duration_ns: nanoseconds from the first record to the last.
        inter_arrival_ns_mean: mean time between records; ``None`` for fewer than two.
        peak_requests, peak_bytes: the busiest second by requests and by bytes; ``None`` for a trace without times.
        longest_gap: the longest time between two records; ``None`` for fewer than two.
        gaps_over_minute: times between two records that are longer than a minute.
        sizes: of reads and writes ``bytes_mean``, ``bytes_min``, ``bytes_p50``, ``bytes_p90``, ``bytes_p99``, ``bytes_max``; ``None`` without any.
        aligned_4k_share: share of reads and writes whose start and size are multiples of 4 KiB, 0 to 1; None without any.
        sequential_share: share of reads and writes that start where the one before on their device ended, 0 to 1; None without any.
        rewrite_share: share of the written bytes that go where something was written before, 0 to 1; ``None`` where it was not counted.
        footprint_mib: chunks of 1 MiB that are touched.
        end_bytes_max: the highest end of a request: a drive must be at least that large.
        statistics: counts of lines that were read and left out.
        odd_line: the first line that did not fit the format and was left out (``place``, ``column``, ``name``, ``found``,
            ``expected``); ``None`` without any.
        notes: remarks about the records, and about records that were left out, were moved or are missing, a sentence
            each.
        command: the command line that runs the trace as it was read.
    """

    __slots__ = ("_document", "_text")

    format: str
    records: int
    ops: tuple[Record, ...]
    devices: tuple[Record, ...]
    duration_ns: int
    inter_arrival_ns_mean: float | None
    peak_requests: Record | None
    peak_bytes: Record | None
    longest_gap: Record | None
    gaps_over_minute: int
    sizes: Record | None
    aligned_4k_share: float | None
    sequential_share: float | None
    rewrite_share: float | None
    footprint_mib: int
    end_bytes_max: int
    statistics: Record
    odd_line: Record | None
    notes: tuple[str, ...]
    command: str

    def __init__(self, document: str, text: str) -> None:
        super().__init__(json.loads(document))
        object.__setattr__(self, "_document", document)
        object.__setattr__(self, "_text", text)

    def __reduce__(self) -> tuple[Any, ...]:
        return TraceInfo, (self._document, self._text)

    def __repr__(self) -> str:
        return f"<TraceInfo in format {self.format}: {self.records} requests in {_html.time(self.duration_ns)}>"

    def __str__(self) -> str:
        return str(self._text)

    def to_json(self) -> str:
        """The text of the document, as the command line prints it."""
        return str(self._document)

    def _repr_html_(self) -> str:
        rows = [(each.op, _html.count(each.records), _html.size(each.bytes)) for each in self.ops]
        spread = {name.removeprefix("bytes_"): value for name, value in (self.sizes or {}).items()}
        facts = [
            f"{_html.count(self.records)} requests in {_html.time(self.duration_ns)}",
            f"{_html.size(self.footprint_mib << 20)} touched",
            f"{_html.share(self.aligned_4k_share)} aligned to 4 KiB",
            f"{_html.share(self.sequential_share)} sequential",
        ]
        sizes = _html.table(["size of reads and writes", *spread], [["", *map(_html.size, spread.values())]]) if spread else ""
        return _html.card(f"Trace in format {self.format}", facts, _html.table(["", "requests", "data"], rows), sizes)


READING = ("format", "columns", "member", "order", "gap_limit", "allocator", "odd_lines")
"""How a trace is read: arguments of `trace_info`, and attributes of a `Workload`."""


def trace_info(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    columns: str | None = None,
    member: str | None = None,
    order: str | None = None,
    gap_limit: str | None = None,
    allocator: str | None = None,
    odd_lines: int | str | None = None,
) -> TraceInfo:
    """Sums up a trace: operations, sizes, devices, footprint, times.

    Args:
        path: the trace; compressed files, tar and zip archives and Parquet are read as they are.
        format: a name from `formats()`, where it cannot be told from the file.
        columns: the columns of a table in no known format, such as ``"time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes"``;
            a column is a name in the header or a number from 1.
        member: the file to read from a tar or zip archive that has several.
        order: how to treat times that go backwards: ``"error"``, ``"clamp"``, ``"sort"`` or ``"whole"``; by default the
            usual one of the format.
        gap_limit: a time such as ``"1h"``, to which longer ones between two requests are cut.
        allocator: how the keys of a trace without addresses get addresses: ``"first-fit"``, ``"log"`` or ``"by-tier"``.
        odd_lines: how many lines may be left out because they do not fit the format: a number, or a share such as ``"5%"``.

    Raises:
        WorkloadError: the trace cannot be read; the text says where it stumbled. Also an unknown `format`, `order` or `allocator`, a
            `gap_limit` that is no time, or `odd_lines` that are no number and no share.

    Example:
        >>> import pathlib, tempfile
        >>> import nandarium as nd
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace = pathlib.Path(folder) / "small.nandarium"
        ...     _ = trace.write_text("time_ns,device,op,offset_bytes,length_bytes\\n0,0,R,0,4096\\n1000,0,W,4096,8192\\n")
        ...     info = nd.trace_info(trace)
        >>> info.records, info.ops[1].op, info.ops[1].bytes, info.inter_arrival_ns_mean
        (2, 'write', 8192, 1000.0)
    """
    given = [format, columns, member, order, gap_limit, allocator, None if odd_lines is None else str(odd_lines)]
    text, document = _nandarium.trace_info(os.fspath(path), dict(zip(READING, given, strict=True)))
    return TraceInfo(document, text)
