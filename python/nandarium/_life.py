"""Lives: how much can be written until a drive is worn out."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _html, _nandarium, _plot
from ._result import Result
from ._run import AnyStack, AnyWorkload, Progress, asked, times_of
from ._stack import Stack
from ._table import Table
from ._values import Settings, path_of, shown, whole, written
from .errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._table import DataFrame


@dataclass(frozen=True)
class Interval:
    """An amount with its interval: not before `earliest`, most likely `estimate`, not after `latest`."""

    earliest: float
    estimate: float
    latest: float


@dataclass(frozen=True)
class LifeCause:
    """The share of a life that a cause takes.

    Attributes:
        pages: pages it programmed, or left unfilled; ``None`` for uneven wear.
        share: its share of the life, 0 to 1; ``None`` for uneven wear.
        tb_gained: terabytes that could be written more if it did not exist and nothing else changed; ``None`` for the host's own pages.
        years_gained: the same in years; ``None`` also where there are no years.
    """

    pages: int | None
    share: float | None
    tb_gained: float | None
    years_gained: float | None


@dataclass(frozen=True)
class Cost:
    """Prices, in the currency they were given in.

    Attributes:
        price: of the drive.
        per_gb: of a gigabyte (10^9 bytes) that the host sees.
        per_tb_written: of a terabyte written.
        per_year: of a year, if the drive is used until it is worn out; ``None`` where there are no years.
    """

    price: float
    per_gb: float
    per_tb_written: Interval
    per_year: Interval | None


@dataclass(frozen=True)
class DataSheet:
    """The writes that a data sheet promises.

    Attributes:
        tbw: terabytes (10^12 bytes).
        years: years that they take; ``None`` where there are no years.
        origin: ``"given"`` (`tbw`), or ``"stack"`` (``drive.data_sheet_writes``).
    """

    tbw: float
    years: float | None
    origin: str


class Life:
    """How much the host can write until a drive is worn out, and the causes of wear.

    Everything in it is also in ``life.json`` (`data`, `to_json`). It can be pickled. docs/guides/lifetime.md says how it is computed,
    and how far to trust it.

    Attributes:
        result: the measured run.

    Example:
        >>> import nandarium as nd
        >>> small = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 1, "flash.pages_per_block": 64}
        >>> life = nd.life("page", "zipf", settings={**small, "flash.endurance": 3000}, requests=100_000, per_day="1GB")
        >>> life.tbw.earliest < life.tbw.estimate < life.tbw.latest, life.rate, life.cost
        (True, 'given', None)
    """

    def __init__(self, result: Result, document: str, text: str, page: str) -> None:
        self.result = result
        self._document, self._text, self._page = document, text, page

    def __reduce__(self) -> tuple[Any, ...]:
        return Life, (self.result, self._document, self._text, self._page)

    def __repr__(self) -> str:
        tbw = self.tbw
        return f"<Life of {self.result.stack} under {self.result.workload}: {tbw.estimate:.4g} TB written ({tbw.earliest:.4g} to {tbw.latest:.4g})>"

    def __str__(self) -> str:
        return self._text

    @cached_property
    def data(self) -> dict[str, Any]:
        """``life.json``, read."""
        data: dict[str, Any] = json.loads(self._document)
        return data

    @property
    def hash(self) -> str:
        """The hash of the run: the same as of `run` with the same arguments and ``drive.precondition = "steady"``."""
        return self.result.hash

    @property
    def tbw(self) -> Interval:
        """Terabytes (10^12 bytes) the host writes until the drive is worn out: an interval that includes the uncertainty of the endurance."""
        return Interval(**self.data["tbw"])

    @property
    def tbw_at_endurance(self) -> Interval:
        """The same if each block survives exactly as many erases as assumed: an interval of the measurement alone."""
        return Interval(**self.data["tbw_at_endurance"])

    @property
    def data_sheet(self) -> DataSheet | None:
        """The promise of the data sheet; ``None`` where that is not known."""
        sheet = self.data["data_sheet"]
        return None if sheet is None else DataSheet(**sheet)

    @property
    def dwpd(self) -> Interval:
        """Times the drive can be written a day over the warranty."""
        return Interval(**self.data["dwpd"])

    @property
    def years(self) -> Interval | None:
        """Years of 365 days at `bytes_per_day`; ``None`` where no time passed and no bytes a day were given."""
        years = self.data["years"]
        return None if years is None else Interval(**years)

    @property
    def bytes_per_day(self) -> float | None:
        """Bytes the host writes a day, or ``None``."""
        return self.data["bytes_per_day"]  # type: ignore[no-any-return]

    @property
    def rate(self) -> str | None:
        """Where `bytes_per_day` is from: ``"given"``, ``"own-time"`` of the requests, ``"full-speed"`` of a closed loop; or ``None``."""
        return self.data["rate"]  # type: ignore[no-any-return]

    @cached_property
    def causes(self) -> dict[str, LifeCause]:
        """The causes of wear, the largest share first, and at the end the cost of uneven wear (``uneven``)."""
        return {cause: LifeCause(**values) for cause, values in self.data["causes"].items()}

    @property
    def cost(self) -> Cost | None:
        """The costs of the drive and of the bytes written to it; ``None`` where no price was given."""
        cost = self.data["cost"]
        if cost is None:
            return None
        per_year = None if cost["per_year"] is None else Interval(**cost["per_year"])
        return Cost(cost["price"], cost["per_gb"], Interval(**cost["per_tb_written"]), per_year)

    @property
    def repeated(self) -> dict[str, Any] | None:
        """Means over runs with different seeds, with halves of their 95 % intervals; ``None`` without repetitions."""
        return self.data.get("repeated")

    @property
    def notes(self) -> list[str]:
        """Remarks for the reader."""
        return self.data["notes"]  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The text of ``life.json``, as the command line writes it."""
        return self._document

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes ``life.json`` and ``life.html`` into a folder, and the files of the run (`Result.save`), as ``--out`` does.

        Raises:
            SimulationError: a file cannot be written.
            ValueError: an empty text as the folder.
        """
        path = path_of("folder", folder)
        self.result.save(path)
        written(path / "life.json", self._document)
        written(path / "life.html", self._page)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the self-contained page of the life.

        Raises:
            SimulationError: the file cannot be written.
            ValueError: an empty text as the path.
        """
        written(path_of("path", path, 'for example "life.html"'), self._page)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """A picture of `tbw`, `tbw_at_endurance` and the data sheet (the extra ``plot``).

        Raises:
            ModuleNotFoundError: Matplotlib is not installed; the text has the command that installs it.
        """
        return _plot.life(self, ax)

    @cached_property
    def table(self) -> Table:
        """A row for each amount: ``until_worn_out``, ``earliest``, ``estimate``, ``latest``."""
        rows = [(name, each.earliest, each.estimate, each.latest) for name, each in self._amounts().items()]
        names, *numbers = zip(*rows, strict=True)
        columns = {name: np.array(column, dtype=np.float64) for name, column in zip(("earliest", "estimate", "latest"), numbers, strict=True)}
        return Table({"until_worn_out": np.array(names), **columns})

    def to_pandas(self) -> DataFrame:
        """`table` as a ``pandas.DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        return self.table.to_pandas()

    def _amounts(self) -> dict[str, Interval]:
        days = self.data["warranty_days"]
        warranty = f"{days / 365:g} years" if days % 365 == 0 else f"{days:g} days"
        amounts = {"TB written (TBW)": self.tbw, f"drive writes a day over {warranty} (DWPD)": self.dwpd}
        if self.years is not None:
            amounts["years"] = self.years
        if self.cost is not None:
            amounts["price of a TB written"] = self.cost.per_tb_written
            if self.cost.per_year is not None:
                amounts["cost a year"] = self.cost.per_year
        return amounts

    def _repr_html_(self) -> str:
        rows = [(name, *map(_html.digits, (each.earliest, each.estimate, each.latest))) for name, each in self._amounts().items()]
        tbw = self.tbw
        pictures = _html.side_by_side(
            _html.interval("TB written until worn out", tbw.earliest, tbw.estimate, tbw.latest, _html.digits),
            _html.bars("What spends the life", [(name, cause.share) for name, cause in self.causes.items()], _html.share),
        )
        head = f"Life of {self.result.stack} under {self.result.workload}"
        return _html.card(head, [f"hash {self.hash}"], _html.table(["until worn out", "earliest", "estimate", "latest"], rows), pictures, _html.notes(self.notes))


def life(
    stack: AnyStack = "page",
    workload: AnyWorkload = "mixed",
    *,
    per_day: str | int | None = None,
    warranty: str = "5y",
    price_per_gb: float | None = None,
    price: float | None = None,
    tbw: str | int | None = None,
    settings: Settings | None = None,
    seed: int | None = None,
    requests: int | None = None,
    snapshots: bool | str | os.PathLike[str] = True,
    progress: Progress | None = None,
    repetitions: int = 1,
) -> Life:
    """Tells how much the host can write until a drive is worn out, the causes of wear, and the costs.

    The drive is brought to steady state (``drive.precondition = "steady"``, unless set) and the workload is run as by `run`,
    with the same hash. ``nandarium life`` gives the same answer with the same arguments.

    Args:
        stack, workload, settings, seed, requests, snapshots, progress: as for `run`.
        per_day: bytes the host writes a day, such as ``"100GB"``; by default as in the run: at the trace's own times, or at full
            speed in a closed loop.
        warranty: years or days over which drive writes a day are reckoned, such as ``"5y"`` or ``"1825d"``; at most 100 years.
        price_per_gb: price of 10^9 bytes of flash, spare flash included, in any currency; above 0.
        price: price of the drive, instead.
        tbw: bytes that the data sheet lets the host write, such as ``"1752TB"``; by default as the stack says
            (``drive.data_sheet_writes``), if it does.
        repetitions: runs of the drive, the first included, each with a seed of its own; `Life.repeated` has their means. `progress` is not called then.

    Raises:
        ConfigError: the stack cannot be used, its flash never wears out (``flash.endurance``), or `per_day`, `warranty`, `tbw` or
            a price cannot be used.
        WorkloadError: the workload cannot be run, or the run was too short, or too far from a steady state, to tell; or a trace that
            writes many pages once is repeated in the same order (``workload.repeat_order``). The text says what to do.
        DriveFull: the drive took no further writes; its ``result`` has the measurements until then.
        TypeError, ValueError: an argument of another kind, both prices, or `repetitions` that is no number from 1 to 1000.
        Exception: an exception that `run` raises.

    Example:
        >>> import nandarium as nd
        >>> small = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 1, "flash.pages_per_block": 64}
        >>> life = nd.life("page", "zipf", settings={**small, "flash.endurance": 3000}, requests=100_000, price=10.0)
        >>> list(life.causes), life.cost.price
        (['gc', 'host', 'unfilled', 'uneven'], 10.0)
    """
    question = (_per_day(per_day), _warranty(warranty), _price("price_per_gb", price_per_gb), _price("price", price), _tbw(tbw))
    if price is not None and price_per_gb is not None:
        raise ConfigError("price and price_per_gb are both given; give the price of the drive, or that of a gigabyte of its flash")
    chosen = Stack.of(stack)
    call = asked(workload, settings, seed, requests, snapshots)
    outcome, *texts = _nandarium.life(chosen.name, chosen.to_toml(), call.settings, question, call.workload, call.columns, call.snapshots, progress, times_of(repetitions))
    return Life(Result(outcome), *texts)


def _per_day(per_day: object) -> str | None:
    if per_day is None or isinstance(per_day, str):
        return per_day
    number = whole("per_day", per_day, "bytes the host writes a day, or a text such as \"100GB\"", least=1)
    return f"{number}B"


def _tbw(tbw: object) -> str | None:
    if tbw is None or isinstance(tbw, str):
        return tbw
    number = whole("tbw", tbw, "bytes that the data sheet lets the host write, or a text such as \"1752TB\"", least=1)
    return f"{number}B"


def _warranty(warranty: object) -> str:
    if not isinstance(warranty, str):
        raise TypeError(f"warranty is {shown(warranty)}; give a text of years or days, such as \"5y\" or \"1825d\"")
    return warranty


def _price(name: str, price: object) -> float | None:
    if price is None:
        return None
    try:
        return float(price)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(price)}; give a number above 0, without a currency, such as 0.08") from None
