"""Tables: columns of one length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _nandarium

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

Column = npt.NDArray[Any]


class Table(dict[str, Column]):
    """Columns by name: a dict of NumPy arrays of one length, so that ``pandas.DataFrame(table)`` takes it as it is.

    It is Arrow data as well (``__arrow_c_stream__``, ``__arrow_c_array__``): Polars, DuckDB and PyArrow take it as it
    is. Arrow gets a copy; PyArrow is not needed for it. The arrays cannot be changed; ``array.copy()`` can.

    Raises:
        ValueError: columns of several lengths.

    Example:
        >>> import nandarium as nd
        >>> series = nd.run("page", "mixed", settings={"drive.capacity": "1GiB"}, requests=5000).series
        >>> series["write_requests"].dtype, int(series["write_requests"].sum() + series["read_requests"].sum())
        (dtype('float64'), 5000)
    """

    def __init__(self, columns: Mapping[str, npt.ArrayLike]) -> None:
        super().__init__({name: _read_only(column) for name, column in columns.items()})
        lengths = {len(column) for column in self.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of a table have one length, not {sorted(lengths)}")

    @property
    def rows(self) -> int:
        """Number of rows; ``len(table)`` is the number of columns."""
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {column.dtype}" for name, column in self.items())
        return f"Table({self.rows} rows; {columns})"

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


def _read_only(column: npt.ArrayLike) -> Column:
    # A view: what was given stays as it is.
    array: Column = np.asarray(column).view()
    array.flags.writeable = False
    return array
