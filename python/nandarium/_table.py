"""Tables: columns of one length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from . import _nandarium, _shown
from ._plot import wanted

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame  # type: ignore[import-untyped]
    from typing_extensions import CapsuleType

Column = npt.NDArray[Any]


class Table(dict[str, Column]):
    """Columns by name: a dict of NumPy arrays of one length, so that ``pandas.DataFrame(table)`` takes it as it is.

    It is Arrow data as well (``__arrow_c_stream__``, ``__arrow_c_array__``): Polars, DuckDB and PyArrow take it as it
    is. Arrow gets a copy; PyArrow is not needed for it. Neither the arrays nor the columns there are can be changed;
    ``array.copy()`` and ``dict(table)`` can.

    Raises:
        ValueError: columns of several lengths.
        TypeError: somebody sets or deletes a column.

    Example:
        >>> import nandarium as nd
        >>> series = nd.run("page", "mixed", settings={"drive.capacity": "1GiB"}, requests=5000).series
        >>> series["write_requests"].dtype, int(series["write_requests"].sum() + series["read_requests"].sum())
        (dtype('float64'), 5000)
    """

    def __init__(self, columns: Mapping[str, npt.ArrayLike]) -> None:
        super().__init__({name: read_only(column) for name, column in columns.items()})
        lengths = {len(column) for column in self.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of a table have one length, not {sorted(lengths)}")

    def __reduce__(self) -> tuple[Any, ...]:
        # A dict is otherwise unpickled key by key, which nobody may set.
        return type(self), (dict(self),)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the columns of a table cannot be set or deleted, as its result keeps it; dict(table) makes a copy that can be changed")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    @property
    def rows(self) -> int:
        """Number of rows; ``len(table)`` is the number of columns."""
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {column.dtype}" for name, column in self.items())
        return f"Table({self.rows} rows; {columns})"

    def _repr_html_(self) -> str:
        return _shown.columns(self)

    def to_pandas(self) -> DataFrame:
        """A copy as a ``pandas.DataFrame``, which may be changed.

        Raises:
            ModuleNotFoundError: pandas is not installed; the text has the command that installs it.
        """
        frame: DataFrame = wanted("pandas").DataFrame(dict(self), copy=True)
        return frame

    def _arrow(self) -> tuple[list[str], list[Any]]:
        def plain(column: Column) -> Any:
            if column.dtype.kind in "USO":
                return [str(text) for text in column]
            return column.view(np.uint8) if column.dtype.kind == "b" else np.ascontiguousarray(column)

        return list(self), [plain(column) for column in self.values()]

    def __arrow_c_schema__(self) -> CapsuleType:
        """The Arrow schema, in a capsule."""
        return _nandarium.arrow_schema(*self._arrow())

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[CapsuleType, CapsuleType]:
        """Schema and one struct array, in capsules. Another schema than its own is not made."""
        return _nandarium.arrow_array(*self._arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> CapsuleType:
        """A stream of one batch, in a capsule. Another schema than its own is not made."""
        return _nandarium.arrow_stream(*self._arrow())


def read_only(column: npt.ArrayLike, *, is_own: bool = False) -> Column:
    """A column that nobody can change, also not by way of the array that was given: that one is copied, if it could be changed.

    Args:
        is_own: nobody else has the array, so that it need not be copied.
    """
    array: Column = np.asarray(column)
    view = array.view()
    if not is_own:
        view.flags.writeable = False
        try:
            view.flags.writeable = True
        except ValueError:
            return view  # whoever owns it has locked it
        array = array.copy()
    # A view cannot be unlocked while its owner is locked; an owner can.
    array.flags.writeable = False
    return array.view()
