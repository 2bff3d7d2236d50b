"""Results: the measurements of a run."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from . import _nandarium, _plot, _shown
from ._table import Table
from ._values import path_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._table import DataFrame


class _InMicroseconds:
    """A latency in microseconds: `p99_us` of `p99`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.of = name.removesuffix("_us")

    def __get__(self, latency: Latency, owner: type | None = None) -> float | None:
        nanoseconds: float | None = getattr(latency, self.of)
        return None if nanoseconds is None else nanoseconds / 1000


@dataclass(frozen=True)
class Latency:
    """Latencies of one operation in nanoseconds, and under names with ``_us`` in microseconds.

    All but `count` are ``None`` where nothing of the kind completed; a percentile also where fewer than ten requests lie beyond it
    (p99 takes 1,000 requests).
    """

    count: int
    mean: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    p9999: float | None
    max: float | None

    mean_us = _InMicroseconds()
    p50_us = _InMicroseconds()
    p90_us = _InMicroseconds()
    p95_us = _InMicroseconds()
    p99_us = _InMicroseconds()
    p999_us = _InMicroseconds()
    p9999_us = _InMicroseconds()
    max_us = _InMicroseconds()


@dataclass(frozen=True)
class Latencies:
    """Latencies by operation.

    `unwritten_read` holds the reads that asked only for pages which were never written, or which were trimmed: the drive
    answers them without flash, and `read` does not count them.
    """

    read: Latency
    write: Latency
    trim: Latency
    flush: Latency
    unwritten_read: Latency


@dataclass(frozen=True)
class Wear:
    """Erases of blocks: fewest, mean and most of the good ones (None without any), and how many are bad."""

    min: int | None
    mean: float | None
    max: int | None
    bad_blocks: int


class Addresses(NamedTuple):
    """Requests over time and address: arrays of shape (rows, bins).

    A row has `requests_per_row` requests, a bin `sectors_per_bin` sectors of 512 bytes.
    """

    reads: npt.NDArray[np.uint32]
    writes: npt.NDArray[np.uint32]
    requests_per_row: int
    sectors_per_bin: int


class Result:
    """The measurements of a run.

    Everything in it is also in ``result.json`` (`data`, `to_json`), under the names scripts rely on. Arrays are
    read-only. It can be pickled, for processes with the same build of the package. Terms, units and formulas: ``explain(TERM)``, or GLOSSARY.md.

    Example:
        >>> import nandarium as nd
        >>> result = nd.run("page", "mixed", settings={"drive.capacity": "1GiB"}, requests=5000)
        >>> result.status, result.latency.read.count + result.latency.write.count
        ('complete', 5000)
    """

    __slots__ = ("__dict__", "_outcome")

    def __init__(self, outcome: _nandarium.Outcome) -> None:
        self._outcome = outcome

    def __reduce__(self) -> tuple[Any, ...]:
        # Mostly zeros, as most buckets of a histogram are empty.
        return _restored, (zlib.compress(self._outcome.kept(), 1),)

    def __repr__(self) -> str:
        waf = "none" if self.waf is None else f"{self.waf:.3f}"
        return f"<Result {self.stack} under {self.workload}: {self.requests} requests, WAF {waf}, hash {self.hash}>"

    def __str__(self) -> str:
        return self._outcome.text()

    def _repr_html_(self) -> str:
        return _shown.result(self)

    @property
    def hash(self) -> str:
        """16 hexadecimal digits over flash commands, completions, counts and erases: same stack, workload and seed, same hash, on every machine."""
        return self._outcome.hash

    @property
    def stack(self) -> str:
        """Name of the stack."""
        return self._outcome.stack

    @property
    def workload(self) -> str:
        """Name of the workload."""
        return self._outcome.workload

    @property
    def status(self) -> str:
        """``"complete"``, or why it ended earlier: ``"drive-full"``, ``"worn-out"``."""
        return self._outcome.status

    @property
    def seed(self) -> int:
        """Seed of the workload."""
        return self._outcome.seed

    @property
    def requests(self) -> int:
        """Requests completed."""
        return self._outcome.requests

    @property
    def wall_s(self) -> float:
        """Wall-clock seconds of the measured part."""
        return self._outcome.wall_s

    @property
    def sim_ns(self) -> int:
        """Simulated nanoseconds of the measured part."""
        return self._outcome.sim_ns

    @property
    def iops(self) -> float | None:
        """Requests completed in a simulated second; ``None`` if no time passed."""
        return self._outcome.iops

    @property
    def waf(self) -> float | None:
        """Write amplification: bytes programmed for a byte that the host wrote, all causes, as the counters of a drive tell it.

        ``None`` where the host wrote nothing, or too little to say anything (`waf_absent`).
        """
        return self._outcome.waf

    @property
    def waf_pages(self) -> float | None:
        """Write amplification by pages: pages programmed for a page that the host wrote. A write of a part of a page counts as a whole page."""
        return self._outcome.waf_pages

    @property
    def waf_absent(self) -> str | None:
        """Why there is no write amplification: ``"no writes"`` or ``"too few writes"``; ``None`` if there is one.

        Too few writes are fewer than the spare flash holds, on a drive that was in use: collection then cleans up the state that the
        drive began in.
        """
        return self.data["waf_absent"]  # type: ignore[no-any-return]

    @property
    def unwritten_read_share(self) -> float | None:
        """Share of the reads that asked only for pages which hold nothing; ``None`` without reads."""
        return self.data["unwritten_read_share"]  # type: ignore[no-any-return]

    @cached_property
    def data(self) -> dict[str, Any]:
        """``result.json``, read."""
        data: dict[str, Any] = json.loads(self.to_json())
        return data

    @property
    def repeated(self) -> dict[str, Any] | None:
        """Findings of the repetitions of `compare`: means, 95 % intervals, ratios to the first stack; ``None`` without repetitions."""
        return self.data.get("repeated")

    @property
    def waf_by_cause(self) -> dict[str, float | None]:
        """Write amplification in bytes by cause: ``host``, ``gc``, ``merge`` and so on, and ``total``; each ``None`` where there is none."""
        return self.data["waf"]  # type: ignore[no-any-return]

    @cached_property
    def latency(self) -> Latencies:
        """Latencies by operation, ns: ``result.latency.read.p99``."""
        return Latencies(**{op: _latency(self.data["latency_ns"][op]) for op in Latencies.__dataclass_fields__})

    @property
    def read(self) -> Latency:
        """Latencies of reads: ``result.read.p99_us``."""
        return self.latency.read

    @property
    def write(self) -> Latency:
        """Latencies of writes."""
        return self.latency.write

    @property
    def flush(self) -> Latency:
        """Latencies of flushes."""
        return self.latency.flush

    @property
    def waiting(self) -> dict[str, dict[str, float]]:
        """Mean nanoseconds a read or write waited, by direct cause: of all requests, of the slowest 1 % (``p99``) and
        0.1 % (``p999``).

        Empty without requests or without time.
        """
        return self.data["waiting"] or {}

    @property
    def waiting_root(self) -> dict[str, dict[str, float]]:
        """As `waiting`, by the command at the head of the queue."""
        return self.data["waiting_root"] or {}

    @cached_property
    def wear(self) -> Wear:
        """Erases of blocks; of each block: `blocks`."""
        return Wear(**{name: self.data["wear"][name] for name in Wear.__dataclass_fields__})

    @property
    def counters(self) -> dict[str, int]:
        """Counters of the layers, ``layer.name``."""
        return self.data["counters"]  # type: ignore[no-any-return]

    @property
    def flash(self) -> dict[str, dict[str, int]]:
        """``reads``, ``programs`` and ``erases`` of the flash, each by cause and in ``total``."""
        return self.data["flash"]  # type: ignore[no-any-return]

    @property
    def config(self) -> dict[str, str]:
        """The resolved configuration: every key that had a value."""
        return self.data["config"]  # type: ignore[no-any-return]

    @property
    def notes(self) -> list[str]:
        """Remarks for the reader, such as settings without effect."""
        return self.data["notes"]  # type: ignore[no-any-return]

    @property
    def interval_ns(self) -> int:
        """Simulated nanoseconds between two rows of `series`."""
        return self._outcome.series()[0]

    @cached_property
    def series(self) -> Table:
        """The run over time: at most 400 rows `interval_ns` apart, columns of ``float64``.

        ``time_ns``, ``read_requests``, ``write_requests``, ``unwritten_read_requests``, ``read_bytes``, ``write_bytes``, ``queue_depth``,
        ``read_latency_mean_ns``, ``write_latency_mean_ns``, ``read_latency_max_ns``, ``write_latency_max_ns``, and flash
        programs by cause: ``host_programs``, ``gc_programs``, and so on for each cause.
        """
        return Table({name: np.frombuffer(column, np.float64) for name, column in self._outcome.series()[1]})

    @cached_property
    def histogram(self) -> Table:
        """Latencies: ``op``, ``latency_ns`` (the upper end of a bucket, ``uint64``) and ``requests`` in it (``uint64``)."""
        parts = [(op, np.frombuffer(ends, np.uint64), np.frombuffer(counts, np.uint64)) for op, ends, counts in self._outcome.histograms()]
        ops = np.concatenate([np.full(len(ends), op, dtype="U14") for op, ends, _ in parts])
        return Table({"op": ops, "latency_ns": np.concatenate([ends for _, ends, _ in parts]), "requests": np.concatenate([counts for *_, counts in parts])})

    @cached_property
    def blocks(self) -> Table:
        """Every block at the end: ``die`` and ``block`` within it, ``erases`` (-1: bad) and ``valid`` pages, if its layer counts them."""
        erases, valid, _, per_die = self._outcome.blocks()
        columns: dict[str, npt.NDArray[Any]] = {"erases": np.frombuffer(erases, np.int64)}
        number = np.arange(len(columns["erases"]), dtype=np.uint32)
        columns = {"die": number // np.uint32(per_die), "block": number % np.uint32(per_die), **columns}
        counted = np.frombuffer(valid, np.uint16)
        return Table({**columns, "valid": counted} if len(counted) == len(number) else columns)

    @cached_property
    def addresses(self) -> Addresses:
        """Where requests went over time."""
        reads, writes, bins, per_row, per_bin = self._outcome.addresses()

        def shaped(counts: bytes) -> npt.NDArray[np.uint32]:
            return np.frombuffer(counts, np.uint32).reshape(-1, bins)

        return Addresses(shaped(reads), shaped(writes), per_row, per_bin)

    def plot(self, kind: str = "latency", *, op: str | None = None, ax: Axes | None = None) -> Axes:
        """A picture of the run (the extra ``plot``).

        Args:
            kind: ``latency``, the share of requests that were slower than a time; ``time``, mean latency over time; ``waf``,
                write amplification by cause.
            op: ``read``, ``write``, ``flush`` or ``trim``; by default all that were served.
            ax: Matplotlib's axes to draw into; by default new ones.

        Raises:
            ValueError: no such picture or operation.
            ModuleNotFoundError: Matplotlib is not installed; the text has the command that installs it.
        """
        return _plot.runs([self], kind, op, ax)

    def to_json(self) -> str:
        """The text of ``result.json``, as the command line writes it."""
        return self._outcome.json()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes ``result.json``, ``series.csv`` and ``report.html`` into a folder, as ``--out`` does.

        Raises:
            SimulationError: a file cannot be written.
            ValueError: an empty text as the folder.
        """
        self._outcome.write_folder(os.fspath(path_of("folder", folder)))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the self-contained report page.

        Raises:
            SimulationError: the file cannot be written.
            ValueError: an empty text as the path.
        """
        _nandarium.write_page(os.fspath(path_of("path", path, 'for example "report.html"')), [self._outcome])


def _latency(of: dict[str, Any]) -> Latency:
    told = {name: of[name] for name in Latency.__dataclass_fields__ if name != "p95"}
    return Latency(**told, p95=_percentile(of["histogram"], 0.95))


def _percentile(histogram: dict[str, list[int]], share: float) -> int | None:
    """A percentile that ``result.json`` does not name, by the rule of the others: ten requests lie beyond it."""
    seen = np.cumsum(histogram["requests"], dtype=np.int64)
    if not len(seen) or seen[-1] < round(10 / (1 - share)):
        return None
    return histogram["latency_ns"][int(np.searchsorted(seen, np.ceil(seen[-1] * share)))]


def _restored(kept: bytes) -> Result:
    return Result(_nandarium.Outcome.restored(zlib.decompress(kept)))


class Comparison(Sequence[Result]):
    """Results of several stacks under one workload, in the order given; ratios are to the first."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = list(results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def verdicts(self) -> list[str]:
        """The findings of repetitions about each stack against the first, a sentence for each stack; empty without repetitions."""
        repeated = [result.repeated for result in self]
        return [each["sentence"] for each in repeated if each is not None and each["sentence"] is not None]

    def __repr__(self) -> str:
        return f"<Comparison of {len(self)} stacks: {', '.join(result.stack for result in self)}>"

    def __str__(self) -> str:
        return _nandarium.comparison_text([result._outcome for result in self])

    def _repr_html_(self) -> str:
        return _shown.comparison(self)

    @cached_property
    def table(self) -> Table:
        """A row for each stack: ``stack``, ``hash``, ``requests``, ``iops``, ``waf``, ``read_p99_ns``, ``write_p99_ns``, ``flush_p99_ns``; NaN where there is none."""

        def numbers(values: Iterator[float | None]) -> npt.NDArray[np.float64]:
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

        return Table(
            {
                "stack": np.array([result.stack for result in self]),
                "hash": np.array([result.hash for result in self]),
                "requests": np.array([result.requests for result in self], dtype=np.uint64),
                "iops": numbers(result.iops for result in self),
                "waf": numbers(result.waf for result in self),
                "read_p99_ns": numbers(result.latency.read.p99 for result in self),
                "write_p99_ns": numbers(result.latency.write.p99 for result in self),
                "flush_p99_ns": numbers(result.latency.flush.p99 for result in self),
            }
        )

    def plot(self, kind: str = "latency", *, op: str | None = None, ax: Axes | None = None) -> Axes:
        """All stacks in one picture, as `Result.plot` draws one; `op` is by default the operation with the most requests.

        Raises:
            ValueError, ModuleNotFoundError: as `Result.plot`.
        """
        return _plot.runs(self, kind, op, ax)

    def to_pandas(self) -> DataFrame:
        """`table` as a ``pandas.DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        return self.table.to_pandas()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one report page with all of them side by side.

        Raises:
            SimulationError: the file cannot be written.
            ValueError: an empty text as the path.
        """
        _nandarium.write_page(os.fspath(path_of("path", path, 'for example "report.html"')), [result._outcome for result in self])
