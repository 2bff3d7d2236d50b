"""Pictures with Matplotlib, the extra ``plot``: it is imported when a picture is drawn, and not before."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _html, _shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._life import Life
    from ._repro import Reproduction
    from ._result import Result
    from ._sweep import SweepResult

KINDS = ("latency", "time", "waf")
"""Pictures of runs."""
RANGE = re.compile(r"(-?[\d.]+) to (-?[\d.]+)(?: .*)?")
"""An accepted range, as rows of studies write it."""
VERDICTS = {"pass": _html.COLOURS[0], "fail": _html.COLOURS[4], "recorded": "gray", "not-run": "gray"}


def wanted(module: str) -> Any:
    """A module that is imported only where it is used.

    Raises:
        ModuleNotFoundError: it is not installed; the text has the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = (missing.name or module).partition(".")[0]
        missing.msg = f"the module {package} is missing; `pip install {package}` installs it"
        raise


def axes(ax: Axes | None) -> Axes:
    """The axes to draw into: the caller's, or new ones of a figure of their own."""
    if ax is not None:
        return ax
    drawn: Axes = wanted("matplotlib.pyplot").subplots(layout="constrained")[1]
    return drawn


def runs(results: Sequence[Result], kind: str, op: str | None, ax: Axes | None) -> Axes:
    """Runs in one picture: a line for each operation of one run, or for each of several runs.

    Raises:
        ValueError: no such picture or operation.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it is one of {', '.join(KINDS)}")
    if op not in (None, "read", "write", "flush", "trim"):
        raise ValueError(f"op is {op!r}; it is one of read, write, flush, trim")
    ax = axes(ax)
    names = _shown.distinct([run.stack for run in results])
    if kind == "waf":
        return _programs(ax, results, names)
    served = [name for name in ("read", "write", "flush", "trim") if any(getattr(run.latency, name).count for run in results)]
    ops = [op] if op else served if len(results) == 1 else [max(served, key=lambda name: sum(getattr(run.latency, name).count for run in results), default="read")]
    points = _shown.tail if kind == "latency" else _shown.means
    for each in ops:
        for name, run in zip(names, results, strict=True):
            line = points(run, each)
            ax.plot([x for x, _ in line], [y for _, y in line], label=f"{each}s" if len(results) == 1 else name)
    _title(ax, f"{results[0].stack} under {results[0].workload}" if len(results) == 1 else f"{ops[0]}s under {results[0].workload}")
    if kind == "latency":
        ax.set(xscale="log", yscale="log", xlabel="latency", ylabel="share of requests slower")
        _numbers(ax.xaxis, _html.time)
        _numbers(ax.yaxis, _html.share)
    else:
        ax.set(xlabel="simulated time", ylabel="mean latency", ylim=(0, None))
        _numbers(ax.xaxis, _html.time)
        _numbers(ax.yaxis, _html.time)
    ax.legend()
    return ax


def _programs(ax: Axes, results: Sequence[Result], names: Sequence[str]) -> Axes:
    """Write amplification of each run as a bar, with a part for each cause."""
    causes = [cause for cause in results[0].waf_by_cause if cause != "total" and any(run.waf_by_cause[cause] for run in results)]
    left = np.zeros(len(results))
    for cause in causes:
        widths = np.array([run.waf_by_cause[cause] or 0.0 for run in results])
        ax.barh(names, widths, 0.5, left=left, label=cause)
        left += widths
    ax.invert_yaxis()
    ax.set(xlabel="bytes programmed for each byte written")
    _title(ax, f"write amplification under {results[0].workload}")
    if causes:
        ax.legend()
    return ax


def sweep(swept: SweepResult, ax: Axes | None) -> Axes:
    """Write amplification against the tail, a point for each combination; unbeaten designs have a ring.

    Raises:
        ValueError: no combination has both.
    """
    traded = _shown.traded(swept.combinations)
    if traded is None:
        raise ValueError("fewer than two combinations have a write amplification and a tail latency, so there is nothing to draw; sweep.runs has the figures")
    ax = axes(ax)
    of = swept.combinations
    for group, rows in traded.rows.items():
        ax.scatter(of["waf"][rows], of[traded.tail][rows], label=group)
    unbeaten = np.flatnonzero(of["unbeaten"] == "yes")
    ax.scatter(of["waf"][unbeaten], of[traded.tail][unbeaten], s=120, facecolors="none", edgecolors="gray", label="unbeaten")
    ax.set(xlabel="write amplification", ylabel=traded.title)
    _numbers(ax.yaxis, _html.time)
    _title(ax, f"sweep {swept.name}")
    ax.legend()
    return ax


def life(lived: Life, ax: Axes | None) -> Axes:
    """Terabytes written until the drive is worn out: an estimate within its interval, and the promise of the data sheet."""
    ax = axes(ax)
    for place, (name, amount) in enumerate({"until worn out": lived.tbw, "at the assumed endurance": lived.tbw_at_endurance}.items()):
        ax.errorbar(amount.estimate, place, xerr=[[amount.estimate - amount.earliest], [amount.latest - amount.estimate]], fmt="o", capsize=5, label=name)
    if lived.data_sheet is not None:
        ax.axvline(lived.data_sheet.tbw, linestyle="--", color="gray", label="data sheet")
    ax.set(xlabel="TB written", yticks=[], xlim=(0, None), ylim=(-0.5, 1.5))
    _title(ax, f"life of {lived.result.stack} under {lived.result.workload}")
    ax.legend()
    return ax


def repro(study: Reproduction, ax: Axes | None) -> Axes:
    """Rows with an accepted range: 0 is its lower end and 1 its upper end, so that all rows share an axis.

    Raises:
        ValueError: no row has a number and a range.
    """
    rows = study.rows
    ranges = [RANGE.fullmatch(text) for text in rows["accept"].tolist()]
    judged = [row for row, found in enumerate(ranges) if found and np.isfinite(rows["value"][row])]
    if not judged:
        raise ValueError(f"no row of {study.study} has a number and an accepted range, so there is nothing to draw; rows has its texts")
    ax = axes(ax)
    ax.axvspan(0, 1, alpha=0.15, color="gray", label="accepted")
    for verdict in dict.fromkeys(rows["verdict"][judged].tolist()):
        own = [row for row in judged if rows["verdict"][row] == verdict]
        ends = [(float(found[1]), float(found[2])) for row in own if (found := ranges[row])]
        places = [(float(rows["value"][row]) - low) / ((high - low) or 1.0) for row, (low, high) in zip(own, ends, strict=True)]
        ax.scatter(places, [judged.index(row) for row in own], color=VERDICTS[verdict], label=verdict)
    ax.set_yticks(range(len(judged)), [f"{rows['id'][row]} {rows['metric'][row]}" for row in judged])
    ax.invert_yaxis()
    ax.set(xlabel="place in the accepted range, 0 to 1")
    _title(ax, f"study {study.study}")
    ax.legend()
    return ax


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text if len(text) <= 60 else f"{text[:59]}…")


def _numbers(axis: Any, shown: Callable[[float | None], str]) -> None:
    """Numbers of an axis with their units."""
    axis.set_major_formatter(lambda value, _: _html.short(shown(value)).replace(_html.GAP, " "))
    axis.set_minor_formatter(lambda value, _: "")
