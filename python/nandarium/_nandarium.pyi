"""The compiled half of the package. Its names are private: use those of `nandarium`."""

from collections.abc import Callable
from typing import Any, SupportsIndex, final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

__all__ = [
    "CommitView",
    "EvictionView",
    "Outcome",
    "RequestColumns",
    "Stop",
    "VictimView",
    "__version__",
    "arrow_array",
    "arrow_schema",
    "arrow_stream",
    "checked",
    "command",
    "comparison_text",
    "explain",
    "items",
    "keys",
    "register_commit",
    "register_eviction",
    "register_victim",
    "resolve",
    "run",
    "set_library",
    "stack_text",
    "write_page",
]
__version__: str

@final
class Outcome:
    @property
    def hash(self) -> str: ...
    @property
    def stack(self) -> str: ...
    @property
    def workload(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def requests(self) -> int: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def sim_ns(self) -> int: ...
    @property
    def iops(self) -> float | None: ...
    @property
    def waf(self) -> float | None: ...
    def json(self) -> str: ...
    def text(self) -> str: ...
    def series(self) -> tuple[int, list[tuple[str, bytes]]]: ...
    def histograms(self) -> list[tuple[str, bytes, bytes]]: ...
    def blocks(self) -> tuple[bytes, bytes, int, int]: ...
    def addresses(self) -> tuple[bytes, bytes, int, int, int]: ...
    def write_folder(self, folder: str) -> None: ...

@final
class RequestColumns:
    def __new__(cls, op: Any, first_sector: Any, sectors: Any, arrival: Any | None = None, fua: Any | None = None) -> RequestColumns: ...

@final
class Stop:
    def __new__(cls) -> Stop: ...
    def set(self) -> None: ...

@final
class VictimView:
    """Blocks of one plane that may be collected; every array has the shape (n,) and ``uint32``, n = ``len(view)`` >= 1."""

    def __len__(self) -> int: ...
    @property
    def block(self) -> npt.NDArray[np.uint32]:
        """Number of each within the plane, ascending."""
    @property
    def valid(self) -> npt.NDArray[np.uint32]:
        """Valid pages of each."""
    @property
    def age(self) -> npt.NDArray[np.uint32]:
        """Blocks of the plane closed since each was."""
    @property
    def erases(self) -> npt.NDArray[np.uint32]:
        """Erases of each since the drive was made."""
    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
    def below(self, bound: int) -> int:
        """A random number from 0 to ``bound`` - 1 from the drive's own stream (``engine.seed``)."""

@final
class EvictionView:
    """Pages of a write buffer, the one written longest ago first; every array has the shape (n,) and ``uint32``, n = ``len(view)`` >= 1."""

    def __len__(self) -> int: ...
    @property
    def page(self) -> npt.NDArray[np.uint32]:
        """Logical page of each."""
    @property
    def writes(self) -> npt.NDArray[np.uint32]:
        """Times each was written since it came, from 1."""
    @property
    def reads(self) -> npt.NDArray[np.uint32]:
        """Times each was read since it came."""
    @property
    def block_pages(self) -> int:
        """Pages of a logical block: ``view.page // view.block_pages`` is the block of each."""

@final
class CommitView:
    """Stripes with a delayed parity and nothing under way, the one updated longest ago first; arrays as in `VictimView`."""

    def __len__(self) -> int: ...
    @property
    def stripe(self) -> npt.NDArray[np.uint32]:
        """Number of each."""
    @property
    def newer(self) -> npt.NDArray[np.uint32]:
        """Data pages of each that are newer than its parity on flash."""
    @property
    def reads(self) -> npt.NDArray[np.uint32]:
        """Pages that a commit of each reads."""

def arrow_array(names: list[str], columns: list[Any]) -> tuple[CapsuleType, CapsuleType]: ...
def arrow_schema(names: list[str], columns: list[Any]) -> CapsuleType: ...
def arrow_stream(names: list[str], columns: list[Any]) -> CapsuleType: ...
def checked(name: str, text: str, settings: list[tuple[str, str]]) -> tuple[int, int, int, int]: ...
def command(arguments: list[str]) -> int: ...
def comparison_text(outcomes: list[Outcome]) -> str: ...
def explain(name: str) -> str: ...
def items(kind: str) -> list[tuple[str, str]]: ...
def keys() -> list[tuple[str, str | None, str, str]]: ...
def register_commit(name: str, doc: str, make: Callable[[], Callable[[CommitView], SupportsIndex | None]]) -> None: ...
def register_eviction(name: str, doc: str, make: Callable[[], Callable[[EvictionView], SupportsIndex | None]]) -> None: ...
def register_victim(name: str, doc: str, make: Callable[[], Callable[[VictimView], SupportsIndex | None]]) -> None: ...
def resolve(name: str, text: str, settings: list[tuple[str, str]]) -> dict[str, str]: ...
def run(
    name: str,
    text: str,
    settings: list[tuple[str, str]],
    workload: str,
    requests: RequestColumns | None = None,
    snapshots: str | None = None,
    progress: Callable[[str, int, int | None], object] | None = None,
    stop: Stop | None = None,
) -> Outcome: ...
def set_library(path: str) -> None: ...
def stack_text(name: str) -> str | None: ...
def write_page(path: str, outcomes: list[Outcome]) -> None: ...
