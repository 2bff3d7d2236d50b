"""Sweeps: every combination of a plan, on all cores or on the workers of a scheduler."""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _executor, _nandarium, _plot, _shown
from ._scratch import scratch_folder
from ._table import Table
from ._values import Settings, pairs, path_of, threads_of, toml_of
from .errors import ClusterError, ConfigError, SimulationError

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes

    from ._table import DataFrame
    from typing_extensions import TypeIs

Workers: TypeAlias = "Client | str | Executor"
"""The runner of jobs elsewhere: a `distributed.Client`, the address of a scheduler, or an executor."""

AnyPlan: TypeAlias = Mapping[str, Any] | str | os.PathLike[str]
"""A plan: the path of a TOML file, its text (of more than one line), or a dict of the same shape."""

SweepProgress: TypeAlias = Callable[[int, int], object]
"""Called now and then with the runs that are done and the runs in all."""


class SweepResult:
    """The outcomes of the runs of a plan.

    Attributes:
        name: of the plan.
        folder: where the runs, ``results.parquet``, ``summary.csv`` and ``report.html`` are; ``None``: they were thrown away.

    Example:
        >>> import nandarium as nd
        >>> small = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 1, "workload.requests": 2000}
        >>> swept = nd.sweep({"set": small, "axes": {"drive.over_provisioning": ["25%", "50%"]}})
        >>> swept.counts, swept.runs["drive_over_provisioning"].tolist()
        ({'complete': 2}, [0.25, 0.5])
    """

    def __init__(self, name: str, swept: _nandarium.Swept | _Kept, folder: Path | None) -> None:
        self.name = name
        self.folder = folder
        self._swept = swept

    def __reduce__(self) -> tuple[Any, ...]:
        return SweepResult, (self.name, _Kept(self._swept), self.folder)

    def __len__(self) -> int:
        """Number of runs."""
        return self.runs.rows

    def __repr__(self) -> str:
        return f"<SweepResult {self.name}: {', '.join(f'{count} {status}' for status, count in self.counts.items())}>"

    def __str__(self) -> str:
        return self._swept.text()

    @property
    def counts(self) -> dict[str, int]:
        """Runs by how they ended: ``complete``, ``drive-full``, ``worn-out``, ``impossible``, ``failed``, ``no-memory``, ``not run``."""
        return dict(self._swept.counts())

    @cached_property
    def runs(self) -> Table:
        """A row for each run, the columns of ``results.parquet``.

        ``stack``, ``workload``, ``repetition``, ``seed``, each axis (``drive_over_provisioning``; bytes, nanoseconds,
        shares of 1, or texts), ``status``, ``error``, ``hash``, ``address``, and metrics: ``float64``, NaN where there is
        none. Texts are empty where there is none.
        """
        return _table(self._swept.runs())

    @cached_property
    def combinations(self) -> Table:
        """A row for each combination: ``complete`` repetitions, the ``problem`` of others, of each metric mean and ``_ci95``.

        ``waf_ci95`` is half of the 95 % confidence interval of ``waf`` (Student's t), NaN for a single repetition. ``absent``
        says which percentiles are NaN because a run had fewer than ten requests beyond them; ``tail`` is the latency that
        decides in the panel, and ``unbeaten`` is ``yes``, ``no``, or empty for what was not compared.
        """
        return _table(self._swept.combinations())

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document of ``nandarium sweep --json`` (docs/guides/sweeps.md); absent values are ``None``."""
        document: dict[str, Any] = json.loads(self._swept.document())
        return document

    @property
    def panels(self) -> list[dict[str, Any]]:
        """The findings under each load, that is, a workload with its ``workload.*`` keys. Designs compete only inside a
        panel.

        Among others ``title``, ``tail``, ``unbeaten`` (numbers of rows of `combinations`), ``recommended`` (one of them, or
        ``None``), ``knee``, and ``recommendation`` in words.
        """
        panels: list[dict[str, Any]] = self.document["panels"]
        return panels

    @cached_property
    def front(self) -> Table:
        """The rows of `combinations` that nothing beats in their panel, with its title as ``panel``, from the shortest tail."""
        rows = [(panel["title"], at) for panel in self.panels for at in panel["unbeaten"] or ()]
        order = np.array([at for _, at in rows], dtype=np.int64)
        titles = np.array([title for title, _ in rows], dtype=str)
        return Table({"panel": titles, **{name: column[order] for name, column in self.combinations.items()}})

    @property
    def recommendation(self) -> str:
        """The recommendation over all panels, or in the only one; tells why where there is none."""
        text: str = self.document["recommendation"] or self.panels[0]["recommendation"]
        return text

    @property
    def notes(self) -> list[str]:
        """Further remarks: absent percentiles, keys without effect, single runs."""
        notes: list[str] = self.document["notes"]
        return notes

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes ``results.parquet``, ``summary.csv`` and ``report.html`` into a folder.

        Raises:
            SimulationError: a file cannot be written.
            ValueError: an empty text as the folder.
        """
        self._swept.write(os.fspath(path_of("folder", folder)))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Write amplification against the tail latency, a point for each combination; unbeaten designs have a ring (the
        extra ``plot``).

        Raises:
            ValueError: fewer than two combinations have both.
            ModuleNotFoundError: Matplotlib is not installed; the text has the command that installs it.
        """
        return _plot.sweep(self, ax)

    def to_pandas(self) -> DataFrame:
        """`runs` as a ``pandas.DataFrame``; ``combinations.to_pandas()`` gives the means.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        return self.runs.to_pandas()

    def _repr_html_(self) -> str:
        return _shown.sweep(self)


class _Kept:
    """The answers of a sweep, without its grid: the contents of a pickle."""

    FILES = ("results.parquet", "summary.csv", "report.html")

    def __init__(self, swept: _nandarium.Swept | _Kept) -> None:
        self._runs, self._combinations = swept.runs(), swept.combinations()
        self._counts, self._text, self._problem, self._document = swept.counts(), swept.text(), swept.problem(), swept.document()
        with scratch_folder() as folder:
            swept.write(os.fspath(folder))
            self._files = {name: zlib.compress((folder / name).read_bytes()) for name in self.FILES}

    def runs(self) -> list[tuple[str, str, Any]]:
        return self._runs

    def combinations(self) -> list[tuple[str, str, Any]]:
        return self._combinations

    def counts(self) -> list[tuple[str, int]]:
        return self._counts

    def problem(self) -> str | None:
        return self._problem

    def text(self) -> str:
        return self._text

    def document(self) -> str:
        return self._document

    def write(self, folder: str) -> None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for name, content in self._files.items():
                (Path(folder) / name).write_bytes(zlib.decompress(content))
        except OSError as problem:
            raise SimulationError(f"{problem.filename} could not be written: {problem.strerror}") from None


def sweep(
    plan: AnyPlan,
    *,
    out: str | os.PathLike[str] | None = None,
    client: Client | str | None = None,
    executor: Executor | None = None,
    settings: Settings | None = None,
    jobs: int | None = None,
    progress: SweepProgress | None = None,
) -> SweepResult:
    """Runs every combination of a plan (docs/guides/sweeps.md) that has not been run yet, with the hashes of ``nandarium sweep``.

    Finished runs are kept in the folder under a hash of all their inputs. After an interruption the same call
    continues, and runs nothing twice. A combination that cannot be built, and a run that fails, is a row that says why;
    where runs failed and none was measured, there is a `RuntimeWarning` as well.

    Args:
        plan: the path of a plan, its text, or a dict: ``{"stacks": [...], "workloads": [...], "set": {...}, "axes": {...}}``.
        out: the folder. By default the plan's name beside it, as the command does; for a text or a dict one that is
            thrown away at the end.
        client: a `distributed.Client`, or the address of a scheduler: runs go to its workers, which need the same build
            of this package (and the traces, at the same paths), but no folder in common. ``None``: this machine.
        executor: any `concurrent.futures.Executor`, such as a `ProcessPoolExecutor`, or one of Ray, Parsl, mpi4py or
            loky: runs go to its workers, which need the same as workers of a client. It is not shut down.
        settings: keys for all runs, over the plan's own, as ``--set``.
        jobs: threads on this machine; by default one for each core. Without meaning for a client or an executor.
        progress: called from this thread, now and then; an exception that it raises ends the sweep.

    Raises:
        ConfigError: something is wrong with the plan; nothing has been run.
        ClusterError: the workers cannot be used: no scheduler, no workers, another build. Nothing has been run.
        SimulationError: a file cannot be written, or runs were lost with their workers again and again.
        OSError: the plan cannot be read.
        TypeError, ValueError: an argument of another kind or out of range, or an empty text as `out`.
        RecursionError: `progress` begins a sweep that begins a sweep, and so on.
        KeyboardInterrupt: ended by Ctrl-C; finished runs are kept.

    Example:
        >>> import nandarium as nd
        >>> small = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 1, "workload.requests": 2000}
        >>> swept = nd.sweep({"stacks": ["page", "page+ftl.gc.victim=fifo"], "set": small})
        >>> swept.combinations["stack"].tolist()
        ['page', 'page+ftl.gc.victim=fifo']
    """
    jobs = threads_of("jobs", "a sweep runs", jobs)
    workers = chosen(client, executor)
    planned = read(plan, settings)
    folder = out_folder(plan, out)
    grid = planned.grid()
    with ExitStack() as ending:
        used = folder or ending.enter_context(scratch_folder())
        swept = carry_out(grid, used, workers, jobs, progress, None, is_kept=folder is not None)
        if folder:
            swept.write(os.fspath(folder))
    if problem := swept.problem():
        warnings.warn(f"{grid.name}: {problem}", RuntimeWarning, stacklevel=2)
    return SweepResult(grid.name, swept, folder)


def carry_out(
    grid: _nandarium.Grid,
    folder: Path,
    workers: Workers | None,
    jobs: int | None,
    progress: SweepProgress | None,
    stop: _nandarium.Stop | None,
    *,
    is_kept: bool,
) -> _nandarium.Swept:
    """Runs the combinations of a grid that a folder does not hold yet. Returns all results of the folder, kept or thrown away."""
    what = "sweep" if is_kept else _executor.THROWN_AWAY
    if workers is None:
        grid.run(os.fspath(folder), jobs, progress, stop)
    elif is_client(workers):
        on_cluster(workers, grid.errand(os.fspath(folder), stop), progress, what)
    else:
        _executor.run(workers, grid.errand(os.fspath(folder), stop), progress, what)
    return grid.known(os.fspath(folder))


def is_client(workers: Workers) -> TypeIs[Client | str]:
    """Whether jobs run on a Dask scheduler, given by a client or an address."""
    # Dask need not be installed, so its class is not asked for.
    return isinstance(workers, str) or hasattr(workers, "scheduler_info")


def chosen(client: Client | str | None, executor: Executor | None) -> Workers | None:
    """Looks at what is given as a client or an executor, before anything is done; the one that is given.

    Raises:
        ClusterError: neither a client nor a text, no executor, or both.
    """
    if client is not None and not is_client(client):
        raise ClusterError(f"client is {client!r}; give a distributed.Client, or the address of a scheduler as a text, for example tcp://127.0.0.1:8786")
    check_executor(executor)
    if client is not None and executor is not None:
        raise ClusterError("client and executor are both given; leave one out")
    return client if executor is None else executor


def check_executor(executor: object) -> None:
    """Looks at what is given as an executor, before anything is done.

    Raises:
        ClusterError: it is none.
    """
    # Some of them have no class of the standard library among their own.
    if executor is not None and (isinstance(executor, type) or is_client(executor) or not callable(getattr(executor, "submit", None))):  # type: ignore[arg-type]
        raise ClusterError(
            f"executor is {executor!r}; give a concurrent.futures.Executor, for example ProcessPoolExecutor(), or client.get_executor() of a Dask client"
        )


def on_cluster(client: Client | str, errand: _nandarium.Errand, progress: SweepProgress | None = None, what: str = "sweep") -> None:
    """Runs an errand on the workers of a scheduler, if there is anything to run.

    Raises:
        ClusterError: also where Dask is not installed.
    """
    if not len(errand):
        return
    with connected(client) as workers:
        from . import _cluster

        _cluster.run(workers, errand, progress, what)


def connected(client: Client | str) -> AbstractContextManager[Client]:
    """A client, or one of a scheduler's address until the end of the context.

    Raises:
        ClusterError: there is no scheduler, or Dask is not installed.
    """
    try:
        from . import _cluster
    except ModuleNotFoundError as missing:
        raise ClusterError(f"the module {missing.name} is missing; `pip install '.[cluster]'` in the folder of nandarium installs it") from None
    return _cluster.connected(client)


def read(plan: AnyPlan, settings: Settings | None = None) -> _nandarium.Plan:
    """A plan given in any form, read.

    Raises:
        ConfigError: something is wrong with it, as far as that shows without its combinations.
        OSError: its file cannot be read.
    """
    given = pairs(settings)
    if plan == "":
        raise ConfigError("the plan is an empty text; give the path of a TOML file, its text, or a dict such as {\"stacks\": [\"page\"]}")
    if isinstance(plan, Mapping):
        return _nandarium.Plan(_toml(plan), "the plan", "", given)
    if _is_text(plan):
        return _nandarium.Plan(os.fspath(plan), "the plan", "", given)
    path = Path(plan)
    return _nandarium.Plan(path.read_text(encoding="utf-8"), str(path), str(path.parent), given)


def out_folder(plan: AnyPlan, out: str | os.PathLike[str] | None) -> Path | None:
    """The folder of a plan's runs, if they are kept.

    Raises:
        ValueError: an empty text.
    """
    if out is not None:
        return path_of("out", out)
    if isinstance(plan, Mapping) or _is_text(plan):
        return None
    path = Path(plan)
    return path.with_suffix("") if path.suffix else path.with_suffix(".sweep")


def _is_text(plan: str | os.PathLike[str]) -> bool:
    return isinstance(plan, str) and "\n" in plan


def _toml(plan: Mapping[str, Any]) -> str:
    """A plan as a text. JSON's strings are TOML's, and a key in quotation marks may hold dots."""
    return "".join(f"{toml_of('', str(key))} = {_inline(str(key), value)}\n" for key, value in plan.items())


def _inline(key: str, value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_of('', str(inner))} = {_inline(f'{key}.{inner}', each)}" for inner, each in value.items()) + "}"
    if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
        return "[" + ", ".join(_inline(key, each) for each in value) + "]"
    try:
        return toml_of(key, value)
    except TypeError as problem:
        raise ConfigError(f"the plan: {problem}") from None


def _table(columns: list[tuple[str, str, Any]]) -> Table:
    def column(kind: str, cells: Any) -> npt.NDArray[Any]:
        return np.array(cells, dtype=str) if kind == "U" else np.frombuffer(cells, np.int64 if kind == "i" else np.float64)

    return Table({name: column(kind, cells) for name, kind, cells in columns})
