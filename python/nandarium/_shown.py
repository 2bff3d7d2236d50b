"""Results as notebooks show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _html
from ._html import Axis, Number, Points

if TYPE_CHECKING:
    from ._repro import Reproduction
    from ._result import Latency, Result
    from ._sweep import SweepResult
    from ._table import Table

ROWS = 20
"""Most rows of a table of columns."""
METRICS = ("iops", "waf", "read_p99_ns", "read_p999_ns", "write_p99_ns", "write_p999_ns", "flush_p99_ns", "flush_p999_ns", "spare_share")
"""Metrics of a sweep that are shown."""
TAILS = ("write_p999_ns", "write_p99_ns", "read_p999_ns", "read_p99_ns")
"""Metrics that stand against write amplification, the first that was measured."""


def result(run: Result) -> str:
    """A run: latencies, causes of waiting, changes over time."""
    facts = [
        run.status,
        f"{_html.count(run.requests)} requests in {_html.time(run.sim_ns)}",
        f"{_html.digits(run.iops)} IOPS" if run.iops is not None else "no time passed",
        f"WAF {_html.digits(run.waf)}" if run.waf is not None else {"no writes": "nothing written"}.get(run.waf_absent or "", f"no WAF: {run.waf_absent}"),
        f"hash {run.hash}",
    ]
    head = ["latency", "requests", "mean", "p50", "p99", "p99.9", "max"]
    names = {"read": "read", "write": "write", "trim": "trim", "flush": "flush", "unwritten_read": "read of unwritten pages"}
    each = [(name, getattr(run.latency, op)) for op, name in names.items()]
    rows = [(op, _html.count(of.count), *map(_html.time, (of.mean, of.p50, of.p99, of.p999, of.max))) for op, of in each if of.count]
    waits = run.waiting.get("p99", {}).items()
    longest = sorted(((cause, ns) for cause, ns in waits if ns), key=lambda pair: -pair[1])[:6]
    programs = [(cause, factor) for cause, factor in run.waf_by_cause.items() if cause != "total" and factor]
    pictures = _html.side_by_side(
        slower({f"{op}s": tail(run, op) for op in ("read", "write")}),
        _over_time(run),
        _html.bars("Mean wait of the slowest 1 %", longest, _html.time),
        _html.bars("Bytes programmed for each byte written", programs, _html.digits),
    )
    return _html.card(f"{run.stack} under {run.workload}", facts, _html.table(head, rows), pictures, _html.notes(run.notes))


def comparison(runs: Sequence[Result]) -> str:
    """Runs side by side."""

    def column(values: list[Number], shown: _html.Format) -> list[_html.Bar]:
        return _html.bars_of(values, shown)

    columns: dict[str, Sequence[str | _html.Bar]] = {"stack": [run.stack for run in runs], "requests": [_html.count(run.requests) for run in runs]}
    columns["IOPS"] = column([run.iops for run in runs], _html.digits)
    columns["WAF"] = column([run.waf for run in runs], _html.digits)
    for op in ("read", "write", "flush"):
        of: list[Latency] = [getattr(run.latency, op) for run in runs]
        if any(latency.count for latency in of):
            columns[f"{op} p99"] = column([latency.p99 for latency in of], _html.time)
            columns[f"{op} p99.9"] = column([latency.p999 for latency in of], _html.time)
    columns["hash"] = [run.hash for run in runs]
    names = distinct([run.stack for run in runs])
    drawn = len(runs) <= len(_html.COLOURS)
    flushes = {"flush": "flushes"} if any(run.latency.flush.count for run in runs) else {}
    plurals = {"read": "reads", "write": "writes", **flushes} if drawn else {}
    pictures = [slower({name: tail(run, op) for name, run in zip(names, runs)}, plural) for op, plural in plurals.items()]
    workloads = sorted({run.workload for run in runs})
    return _html.card(f"{len(runs)} stacks under {', '.join(workloads)}", [], _html.table(list(columns), zip(*columns.values())), _html.side_by_side(*pictures))


def columns(table: Table) -> str:
    """A table: its first rows."""
    head = list(table)
    texts = [_texts(name, table[name][:ROWS]) for name in head]
    left = next((at for at, name in enumerate(head) if table[name].dtype.kind not in "USO"), len(head))
    more = [f"{_html.count(table.rows)} rows, the first {ROWS} of them" if table.rows > ROWS else f"{_html.count(table.rows)} rows"]
    return _html.card("", more, _html.table(head, zip(*texts), left=left))


def sweep(swept: SweepResult) -> str:
    """A sweep: a row for each combination, and write amplification against the tail."""
    of = swept.combinations
    names = list(of)
    which = [name for name in names[: names.index("complete")] if len(np.unique(of[name])) > 1]
    metrics = [name for name in METRICS if name in of and np.isfinite(of[name]).any()]
    shown: list[Sequence[str | _html.Bar]] = [_texts(name, of[name][:ROWS]) for name in which]
    for name in metrics:
        shown.append(_html.bars_of(of[name][:ROWS].tolist(), _format(name)))
    if any(of["problem"].tolist()):
        shown.append([str(text) for text in of["problem"][:ROWS]])
    head = [*which, *metrics, *(["problem"] if len(shown) > len(which) + len(metrics) else [])]
    facts = [f"{_html.count(number)} {status}" for status, number in swept.counts.items()]
    if of.rows > ROWS:
        facts.append(f"{_html.count(of.rows)} combinations, the first {ROWS} of them")
    return _html.card(f"Sweep {swept.name}", facts, _html.table(head, zip(*shown), left=max(len(which), 1)), _html.side_by_side(_traded(of, which)))


class Traded(NamedTuple):
    """Combinations with a write amplification and a tail: the column of the tail, its title, and rows by stack."""

    tail: str
    title: str
    rows: dict[str, list[int]]


def traded(of: Table) -> Traded | None:
    """Write amplification against the tail; nothing where fewer than two combinations have both."""
    tail = next((name for name in TAILS if name in of and (np.isfinite(of[name]) & np.isfinite(of["waf"])).sum() > 1), None)
    if tail is None:
        return None
    rows: dict[str, list[int]] = {group: [] for group in np.unique(of["stack"]).tolist()}
    for row in np.flatnonzero(np.isfinite(of[tail]) & np.isfinite(of["waf"]) & (of[tail] > 0)).tolist():
        rows[str(of["stack"][row])].append(row)
    op, percentile, _ = tail.split("_")
    names = {"p99": "p99", "p999": "p99.9"}
    return Traded(tail, f"Latency of {op}s, {names[percentile]}", rows)


def _traded(of: Table, which: Sequence[str]) -> str:
    """The same as a picture, a point for each combination."""
    found = traded(of)
    if found is None:
        return ""
    told = {name: _texts(name, of[name]) for name in which}
    groups = found.rows if len(found.rows) <= len(_html.COLOURS) else {"": [row for rows in found.rows.values() for row in rows]}
    points = {group: [(float(of["waf"][row]), float(of[found.tail][row])) for row in rows] for group, rows in groups.items()}
    tips = {group: [", ".join(f"{name} = {cells[row]}" for name, cells in told.items()) for row in rows] for group, rows in groups.items()}
    return _html.dots(found.title, Axis("write amplification", _html.digits), Axis("", _html.time, is_log=True), points, tips)


def reproduction(study: Reproduction) -> str:
    """A study: its rows, the verdicts counted above."""
    shown = ("id", "experiment", "metric", "published", "measured", "accept", "verdict")
    verdicts, counts = np.unique(study.rows["verdict"], return_counts=True)
    facts = [f"{_html.count(int(number))} {verdict}" for verdict, number in zip(verdicts, counts, strict=True)]
    return _html.card(f"Study {study.study}", facts, _html.table(shown, zip(*(_texts(name, study.rows[name]) for name in shown)), left=len(shown)))


def items(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A list of names with their texts."""
    return _html.card(title, [f"{_html.count(len(rows))} names"], _html.table(head, rows, left=len(head), is_wrapped=True))


def slower(series: dict[str, Points], of: str = "requests") -> str:
    """Which share of requests took longer than a time."""
    return _html.lines(f"Share of {of} slower than", Axis("latency", _html.time, is_log=True), Axis("", _html.share, is_log=True), series)


def tail(run: Result, op: str) -> Points:
    """Latencies and the share of requests that took longer, 0 left out: it has no place on such an axis."""
    buckets = run.data["latency_ns"][op]["histogram"]
    ends = np.array(buckets["latency_ns"], dtype=np.float64)
    above = 1 - np.cumsum(buckets["requests"]) / max(sum(buckets["requests"]), 1)
    kept = (ends > 0) & (above > 1e-12)
    return _thinned(list(zip(ends[kept].tolist(), above[kept].tolist())))


def means(run: Result, op: str) -> Points:
    """Mean latency of reads or writes over time; the series has no other operations."""
    series = run.series
    if f"{op}_requests" not in series or run.sim_ns == 0:
        return []
    kept = (series[f"{op}_requests"] > 0) & np.isfinite(series[f"{op}_latency_mean_ns"])
    return _thinned(list(zip(series["time_ns"][kept].tolist(), series[f"{op}_latency_mean_ns"][kept].tolist())))


def _over_time(run: Result) -> str:
    lines = {f"{op}s": means(run, op) for op in ("read", "write")}
    return _html.lines("Mean latency over time", Axis("simulated time", _html.time), Axis("", _html.time), lines)


def _thinned(points: Points, most: int = 120) -> Points:
    """Every n-th point, and the last: a small picture shows no more."""
    step = max(1, -(-len(points) // most))
    kept = list(points[::step])
    return kept if not points or kept[-1] == points[-1] else [*kept, points[-1]]


def distinct(names: Sequence[str]) -> list[str]:
    """Names that differ, as keys: the same stack may be there twice."""
    return [name if names.count(name) == 1 else f"{index + 1}. {name}" for index, name in enumerate(names)]


def _format(name: str) -> _html.Format:
    endings = {"_ns": _html.time, "_bytes": _html.size, "_share": _html.share}
    return next((shown for ending, shown in endings.items() if name.removesuffix("_ci95").endswith(ending)), _html.digits)


def _texts(name: str, column: Any) -> list[str]:
    kind = column.dtype.kind
    if kind in "USO":
        return [str(text) for text in column]
    shown = _format(name)
    if shown is _html.digits and (kind in "iub" or np.equal(np.round(column), column).all()):
        shown = _html.count
    return [shown(value) for value in column.tolist()]
