"""A search through a plan for the designs that nothing beats, with Optuna (the extra ``optimize``)."""

from __future__ import annotations

import fcntl
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _nandarium, _shown
from ._scratch import scratch_folder
from ._sweep import AnyPlan, SweepProgress, SweepResult, Workers, carry_out, chosen, connected, is_client, read
from ._table import Table
from ._values import Settings, path_of, threads_of, whole
from .errors import ConfigError, SimulationError

if TYPE_CHECKING:
    from distributed import Client
    from optuna import Study, Trial
    from optuna.samplers import BaseSampler

    from ._table import DataFrame

OBJECTIVES = ("write_p999_ns", "waf", "spare_share", "ram_bytes")
"""Objectives of a search by default: tail latency of writes, write amplification, spare space, memory."""

PROBLEM = "problem"
"""Attribute of a trial that gave nothing: why."""
ROW = "row"
"""Attribute of a trial: its row of `SweepResult.combinations`."""
OF_A_PANEL = ("tail", "unbeaten")
"""Columns of `SweepResult.combinations` that compare a row with others of its sweep; a trial is swept alone."""
STUDY = "study.db"
"""The file of a folder that holds its studies."""

_held: set[tuple[int, Path]] = set()
"""Locks by the thread that has them."""


class SearchResult:
    """The result of a search.

    Attributes:
        study: Optuna's study, with every trial; a trial's parameter of a key of numbers is the place of the value on its axis.
        objectives: names of the metrics that are to be small.
        folder: where study and runs are kept; ``None``: they were thrown away.
    """

    def __init__(self, study: Study, objectives: Sequence[str], folder: Path | None) -> None:
        self.study = study
        self.objectives = tuple(objectives)
        self.folder = folder

    def __repr__(self) -> str:
        return f"<SearchResult {self.study.study_name}: {self.trials.rows} trials measured, {self.front.rows} designs unbeaten>"

    @cached_property
    def front(self) -> Table:
        """The Pareto front, by ascending first objective. No other design is significantly better in one objective and
        significantly worse in none (docs/guides/sweeps.md).

        They are rows of `trials`; a design that was tried more than once is there once, as its first trial.
        """
        trials, first = self.trials, dict[frozenset[tuple[str, Any]], int]()
        for at, number in enumerate(trials["trial"].tolist()):
            first.setdefault(frozenset(self.study.trials[number].params.items()), at)
        rows = np.array(list(first.values()), dtype=np.int64)
        if len(rows):
            known = [list(zip(trials[name][rows].tolist(), trials[f"{name}_ci95"][rows].tolist(), strict=True)) for name in self.objectives]
            costs = [list(design) for design in zip(*known, strict=True)]
            rows = rows[_nandarium.unbeaten(list(self.objectives), costs)]
            rows = rows[np.argsort(trials[self.objectives[0]][rows], kind="stable")]
        return Table({name: column[rows] for name, column in trials.items()})

    @cached_property
    def trials(self) -> Table:
        """A row for each design that was measured: ``trial``, and the columns of `SweepResult.combinations`, except for the
        columns that compare rows."""
        rows = [{"trial": trial.number, **trial.user_attrs[ROW]} for trial in self.study.trials if ROW in trial.user_attrs]
        names = rows[0] if rows else ("trial", *self.objectives)
        return Table({name: np.array([row[name] for row in rows]) for name in names})

    def to_pandas(self) -> DataFrame:
        """`trials` as a ``pandas.DataFrame``; ``front.to_pandas()`` gives the Pareto front.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        return self.trials.to_pandas()

    def _repr_html_(self) -> str:
        return _shown.columns(self.front)

    @property
    def problems(self) -> dict[int, str]:
        """Trials that gave nothing, and why."""
        return {trial.number: trial.user_attrs[PROBLEM] for trial in self.study.trials if PROBLEM in trial.user_attrs}


def optimize(
    plan: AnyPlan,
    *,
    trials: int,
    objectives: Sequence[str] = OBJECTIVES,
    out: str | os.PathLike[str] | None = None,
    client: Client | str | None = None,
    executor: Executor | None = None,
    settings: Settings | None = None,
    at_once: int = 1,
    sampler: BaseSampler | None = None,
    progress: SweepProgress | None = None,
) -> SearchResult:
    """Searches the combinations of a plan for the Pareto front of several objectives, without running all.

    The plan is as for `sweep`: the search varies its axes and stacks, and averages its repetitions. Designs are run
    through the same folder of results, so one that comes again costs nothing. With ``out`` a search goes on where it was
    until it has had so many trials in all. The plan's seed decides the search: the same plan, `objectives` and `at_once`
    try the same designs, interrupted or not, where `trials` is a multiple of `at_once`. A call that finds another one at
    the same search in the same folder waits for it, and goes on from where that ends.

    Args:
        plan: as for `sweep`, with one workload and no axis of ``workload.*``: designs are compared under the same requests
            only. Ranges need ``steps``; many steps cost nothing here.
        trials: designs in all, including designs of earlier calls and designs that cannot be built.
        objectives: metrics (columns of `SweepResult.combinations`) that are to be small. A percentile needs ten requests
            beyond it in every run: ``write_p999_ns`` takes 10,000 writes.
        out: folder of the study (``study.db``) and the runs; by default one that is thrown away.
        client, executor: as for `sweep`.
        settings: as for `sweep`.
        at_once: designs that are run side by side; each batch learns from the ones before it.
        sampler: another one of Optuna's than TPE; the search is then as repeatable as it is.
        progress: called with the trials done, and in all.

    Raises:
        ConfigError: something is wrong with the plan, or a metric is unknown or not measured under this workload.
        ClusterError: as for `sweep`.
        SimulationError: as for `sweep`, or ``study.db`` cannot be used.
        TypeError, ValueError: as for `sweep`, or `trials` or `at_once` is no number or below 1.
        ModuleNotFoundError: Optuna is not installed; the text names the extra.
        KeyboardInterrupt: ended by Ctrl-C; finished trials are kept.

    Example:
        >>> import nandarium as nd
        >>> small = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 1, "workload.requests": 20000}
        >>> space = {"drive.over_provisioning": {"from": "15%", "to": "60%", "steps": 10}, "ftl.gc.victim": ["greedy", "fifo"]}
        >>> search = nd.optimize({"workloads": ["zipf"], "set": small, "axes": space}, trials=5)
        >>> len(search.study.trials), search.front.rows >= 1
        (5, True)
    """
    if isinstance(objectives, str):
        raise ConfigError(f"objectives is the text \"{objectives}\"; give a list: [\"{objectives}\"]")
    workers = chosen(client, executor)
    try:
        import optuna
    except ModuleNotFoundError as missing:
        missing.msg = f"the module {missing.name} is missing; `pip install nandarium[optimize]` installs it"
        raise
    trials = whole("trials", trials, "a search has 1 or more", least=1)
    side_by_side = threads_of("at_once", "a search runs its designs", at_once) or 1
    folder = None if out is None else path_of("out", out)
    space = _Space(read(plan, settings), objectives)
    with ExitStack() as ending:
        ending.enter_context(_quiet())
        used = folder or ending.enter_context(scratch_folder())
        _check_folder(used)
        # Left trials are settled and new ones drawn by what is there: one at a time.
        ending.enter_context(_alone(used / f"study-{space.identity}.lock"))
        ending.enter_context(_said_of(used / STUDY))
        # Optuna makes its tables without asking whether somebody else does.
        with _alone(used / "study.lock"):
            study = optuna.create_study(
                storage=None if folder is None else f"sqlite:///{used / STUDY}",
                study_name=f"{space.plan.name} {space.identity}",
                directions=["minimize"] * len(objectives),
                load_if_exists=True,
            )
        if workers is not None and is_client(workers):
            workers = ending.enter_context(connected(workers))
        _Search(study, space, used, folder is not None, workers, side_by_side, sampler).go_on(trials, progress)
    return SearchResult(study, objectives, folder)


def _check_folder(folder: Path) -> None:
    """Makes the folder of a search, and looks whether it can be used: Optuna would say so in the words of its database.

    Raises:
        SimulationError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        (folder / STUDY).open("ab").close()
    except OSError as problem:
        raise SimulationError(f"{folder} could not be written: {problem.strerror}") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds the lock of a file, which stays where it is; waits for its present holder, in this process or another.

    Raises:
        SimulationError: this thread has it already, and would wait for itself.
    """
    held = (get_ident(), path.resolve())
    if held in _held:
        raise SimulationError(f"{path.parent}: a search began itself again in its own folder, from its progress function; give the inner one another folder (out)")
    with path.open("ab") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(held)
        try:
            yield
        finally:
            _held.discard(held)


@contextmanager
def _said_of(study: Path) -> Iterator[None]:
    """The database of a study, in words of this package.

    Raises:
        SimulationError: it cannot be used.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as problem:
        said = getattr(problem.__cause__, "orig", None) or getattr(problem, "orig", None) or problem
        raise SimulationError(
            f"{study} could not be used as the study of a search: {said}; move it away, and the same call begins anew with the runs that are kept beside it,"
            " or give another folder (out)"
        ) from problem


class _Space:
    """The search space, checked."""

    def __init__(self, plan: _nandarium.Plan, objectives: Sequence[str]) -> None:
        metrics = _nandarium.metrics()
        unknown = [name for name in objectives if name not in metrics]
        if unknown or not objectives or len(set(objectives)) < len(objectives):
            what = f"`{unknown[0]}` is not a metric" if unknown else "give at least one objective, each once"
            raise ConfigError(f"objectives: {what}; there is {', '.join(metrics)}")
        if len(plan.workloads) > 1:
            raise ConfigError(f"a search has one workload, and this plan has {len(plan.workloads)}: {', '.join(plan.workloads)}")
        if compared := plan.compared_circumstance():
            key, part = compared
            raise ConfigError(
                f"{part}: {key} is a circumstance (the requests, the state of the drive, how it is simulated), and a search compares drives"
                " under the same ones; give it one value (set), and search once for each"
            )
        self.plan = plan
        self.objectives = objectives
        # Stacks, workload and keys are checked here. A plan that changed is another study.
        self.identity = self.now()

    def now(self) -> str:
        """The meaning of the plan, with its files as they are."""
        return self.plan.identity("minimize " + " ".join(self.objectives))

    def choose(self, trial: Trial) -> tuple[int, list[int]]:
        """Number of the stack, and of a value of each axis. Numbers have an order that a sampler can use."""
        stacks = self.plan.stacks
        stack = stacks.index(trial.suggest_categorical("stack", stacks)) if len(stacks) > 1 else 0
        values = []
        for key, texts, is_of_numbers in self.plan.axes:
            values.append(trial.suggest_int(key, 0, len(texts) - 1) if is_of_numbers else texts.index(trial.suggest_categorical(key, texts)))
        return stack, values


class _Search:
    def __init__(self, study: Study, space: _Space, folder: Path, is_kept: bool, workers: Workers | None, at_once: int, sampler: BaseSampler | None) -> None:
        self.study = study
        self.space = space
        self.folder = folder
        self.is_kept = is_kept
        self.workers = workers
        self.at_once = at_once
        self.sampler = sampler
        self.stop = _nandarium.Stop()

    def go_on(self, trials: int, progress: SweepProgress | None) -> None:
        """Tries designs until there have been so many."""
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        stands = self.space.identity
        for left in self.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
            self.settle(left.number, left.user_attrs)  # of a process that was killed
        while (done := self.tried()) < trials:
            if done and self.space.now() != stands:
                raise ConfigError("a stack file or trace of the plan has changed since the search began; the same call begins a search of its own")
            # A seed of each batch's own: a search that goes on draws what an uninterrupted one would have drawn.
            self.study.sampler = self.sampler or TPESampler(seed=(self.space.plan.seed * 1_000_003 + done) % 2**32)
            batch = [self.study.ask() for _ in range(min(self.at_once, trials - done))]
            told = 0
            try:
                for trial, row in zip(batch, self.measured([self.space.choose(trial) for trial in batch]), strict=True):
                    self.tell(trial, row)
                    told += 1
            finally:
                for trial in batch[told:]:
                    self.settle(trial.number, trial.user_attrs)
            if progress:
                progress(done + len(batch), trials)

    def settle(self, number: int, attributes: dict[str, Any]) -> None:
        """Ends a trial that was left, perhaps between its measurement and the word that it is there."""
        from optuna.trial import TrialState

        if ROW in attributes:
            self.study.tell(number, [attributes[ROW][name] for name in self.space.objectives])
        else:
            self.study.tell(number, state=TrialState.FAIL)

    def tried(self) -> int:
        """Trials that came to an end, measured or not."""
        return sum(ROW in trial.user_attrs or PROBLEM in trial.user_attrs for trial in self.study.get_trials(deepcopy=False))

    def measured(self, designs: list[tuple[int, list[int]]]) -> list[dict[str, Any]]:
        """A row for each design, run side by side."""
        with ThreadPoolExecutor(len(designs)) as pool:
            runs = [pool.submit(self.measure, stack, values) for stack, values in designs]
            try:
                return [run.result() for run in runs]
            except BaseException:
                self.stop.set()
                raise

    def measure(self, stack: int, values: list[int]) -> dict[str, Any]:
        """The row of a design."""
        grid = self.space.plan.only(stack, 0, values)
        swept = SweepResult(grid.name, carry_out(grid, self.folder, self.workers, None, None, self.stop, is_kept=self.is_kept), None)
        return {name: column[0].item() for name, column in swept.combinations.items() if name not in OF_A_PANEL}

    def tell(self, trial: Trial, row: dict[str, Any]) -> None:
        """Tells the study of a row."""
        from optuna.trial import TrialState

        if row[PROBLEM]:
            trial.set_user_attr(PROBLEM, row[PROBLEM])
            self.study.tell(trial, state=TrialState.FAIL)
            return
        values = [row[name] for name in self.space.objectives]
        missing = [name for name, value in zip(self.space.objectives, values, strict=True) if math.isnan(value)]
        if missing:
            why = f" ({row['absent']})" if row["absent"] else ""
            raise ConfigError(f"objectives: {missing[0]} is not measured under workload `{row['workload']}`{why}; leave it out, or run more requests")
        trial.set_user_attr(ROW, row)
        self.study.tell(trial, values)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the messages of Optuna at each step: the caller tells about the search."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
