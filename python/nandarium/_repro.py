"""Published studies, run again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _executor, _nandarium, _plot, _shown
from ._sweep import SweepProgress, check_executor
from ._table import Table
from ._values import Settings, pairs, path_of, threads_of, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._table import DataFrame


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The results of a study, beside the published figures."""

    study: str
    """Its name."""
    rows: Table
    """A row for each published figure: ``id``, ``paper``, ``experiment``, ``metric``, ``published``, ``measured`` (a text),
    ``value`` (the number behind it, NaN where there is none), ``accept``, ``class``, ``verdict`` (``pass``, ``fail``,
    ``not-run``, ``recorded``), ``workload``, ``note``, and the results of a family of draws: ``family`` (``inside``, ``near``,
    ``undecided``, ``outside``, ``refuted``; empty where no family judges the row), ``least``, ``median``, ``most``."""
    text: str
    """The table that ``nandarium repro`` prints."""
    folder: Path | None
    """Where rows, figures and page are; ``None``: nowhere."""

    def __repr__(self) -> str:
        verdicts, counts = np.unique(self.rows["verdict"], return_counts=True)
        return f"<Reproduction of {self.study}: {', '.join(f'{count} {verdict}' for verdict, count in zip(verdicts, counts, strict=True))}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _shown.reproduction(self)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """The rows that have an accepted range, and their places in it (the extra ``plot``).

        Raises:
            ValueError: no row has one.
            ModuleNotFoundError: Matplotlib is not installed; the text has the command that installs it.
        """
        return _plot.repro(self, ax)

    def to_pandas(self) -> DataFrame:
        """`rows` as a ``pandas.DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        return self.rows.to_pandas()


def studies() -> list[str]:
    """Names of the studies that `repro` runs."""
    return _nandarium.studies()


def repro(
    study: str,
    *,
    scale: str | None = None,
    seed: int = 1,
    traces: Mapping[str, str | os.PathLike[str]] | None = None,
    settings: Settings | None = None,
    family: int = 0,
    figure: str | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: SweepProgress | None = None,
) -> Reproduction:
    """Runs a published study again, with the rows of ``nandarium repro`` (docs/reproduction).

    A simulation that has ended is kept until the study is done: the same call goes on after an interruption, and so does
    the command with the same `out`.

    Args:
        study: its name; `studies` lists them.
        scale: its size as a share of the published one, such as ``"1/8"``; ``"1"`` is the published size. By default the
            usual one of the study.
        seed: seed of generators and drives.
        traces: files that stand in for generated traces, by name.
        settings: settings of the study, by name.
        family: draws of the family of the study that are run as well, 2 to 1000; 0 for none. Without `traces`.
        figure: one figure alone, such as ``"figure-14-5"``, with its rows; or the beginning of the numbers of some rows, such
            as ``"4.2"``. Only their simulations are run. A wrong name lists the figures of the study.
        out: folder for rows.json, rows.md, repro.html and a CSV file for each figure. Simulations are kept below it, and
            by default in the user's cache folder.
        executor: any `concurrent.futures.Executor`, as for `sweep`: each simulation is a job of its own.
        jobs: threads on this machine; by default one for each core. Without meaning for an executor.
        progress: called now and then with the simulations that are done, and all; an exception that it raises ends the
            study.

    Raises:
        ConfigError: no such study, trace, setting or scale. Nothing has been run.
        ClusterError: no executor, or a worker that cannot be used.
        SimulationError: a simulation fails or was lost, or a file cannot be written.
        TypeError, ValueError: an argument of another kind or out of range, or an empty text as `out`.
        KeyboardInterrupt: ended by Ctrl-C; finished runs are kept.

    Example:
        >>> import nandarium as nd
        >>> rows = nd.repro("hard", scale="1/128").rows
        >>> {"exact": set(rows["verdict"][rows["class"] == "E"].tolist())}
        {'exact': {'pass'}}
    """
    jobs = threads_of("jobs", "a study runs", jobs)
    check_executor(executor)
    if not isinstance(scale, str | None):
        raise TypeError(f'scale is {scale!r}; give a text, for example "1/4"')
    folder = None if out is None else path_of("out", out)
    paths = {name: os.fspath(path) for name, path in (traces or {}).items()}
    seed = whole("seed", seed, "a seed is 0 or more, and below 2^64", least=0, most=2**64 - 1)
    family = whole("family", family, "a family has 2 to 1000 draws; 0 for none", least=0, most=1000)
    asked = _nandarium.Study(study, scale, seed, paths, dict(pairs(settings)), family, figure, None if folder is None else os.fspath(folder))
    if executor is not None:
        _executor.run(executor, asked.errand(), progress, "study")
    told, text = asked.run(jobs, progress)
    return Reproduction(study, _table(json.loads(told)["rows"]), text, folder)


def _table(rows: list[dict[str, Any]]) -> Table:
    numbers = {"value", "least", "median", "most"}
    flat = [row | {name: (row["family"] or {}).get(name) for name in ("least", "median", "most")} for row in rows]
    for row in flat:
        row["family"] = "" if row["family"] is None else row["family"]["verdict"]

    def column(name: str) -> Any:
        cells = [row[name] for row in flat]
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=float) if name in numbers else np.array(cells, dtype=str)

    return Table({name: column(name) for name in flat[0]})
