"""The compiled half of the package. Its names are private: use the names of `nandarium`."""

from collections.abc import Callable
from typing import Any, SupportsIndex, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, CapsuleType

_bytes = bytes
# Commands: prepare, workload, check, mount, and seconds that each may take.
_Texts: TypeAlias = tuple[str | None, str, str, str | None, int]

__all__ = [
    "CommitView",
    "Disk",
    "Errand",
    "EvictionView",
    "Grid",
    "MOST_THREADS",
    "Outcome",
    "Plan",
    "Recording",
    "RequestColumns",
    "Stop",
    "Study",
    "Swept",
    "VictimView",
    "__version__",
    "arrow_array",
    "arrow_schema",
    "arrow_stream",
    "checked",
    "command",
    "compare",
    "comparison_text",
    "explain",
    "is_built_in",
    "items",
    "keys",
    "life",
    "metrics",
    "policies",
    "program_hash",
    "readable",
    "record",
    "record_commands",
    "register_commit",
    "register_eviction",
    "register_victim",
    "resolve",
    "run",
    "run_job",
    "set_library",
    "stack_text",
    "studies",
    "torture",
    "torture_commands",
    "trace_convert",
    "trace_info",
    "trace_problem",
    "unbeaten",
    "unread_policies",
    "workload_convert",
    "write_page",
]
MOST_THREADS: int
__version__: str

@final
class Outcome:
    @staticmethod
    def restored(kept: bytes) -> Outcome: ...
    def kept(self) -> bytes: ...
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
    @property
    def waf_pages(self) -> float | None: ...
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
class Disk:
    """A disk: the workload writes to it, and the check reads the state that a power cut has left.

    Offsets and lengths are in bytes, multiples of a sector of 512.

    Raises:
        ValueError: not whole sectors, or beyond the end; a workload or check that has ended.
        OSError: a sector cannot be read.
    """

    @property
    def bytes(self) -> int: ...
    def read(self, offset: int, length: int) -> _bytes: ...
    def write(self, offset: int, data: Buffer, fua: bool = False) -> None: ...
    def trim(self, offset: int, length: int) -> None: ...
    def flush(self) -> None: ...
    def say(self, line: str) -> None: ...

@final
class Recording:
    @staticmethod
    def read(path: str) -> Recording: ...
    @staticmethod
    def of(bytes: _bytes) -> Recording: ...
    def bytes(self) -> _bytes: ...

@final
class Stop:
    def __new__(cls) -> Stop: ...
    def set(self) -> None: ...

@final
class Plan:
    def __new__(cls, text: str, file: str, folder: str, settings: list[tuple[str, str]]) -> Plan: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def stacks(self) -> list[str]: ...
    @property
    def workloads(self) -> list[str]: ...
    @property
    def axes(self) -> list[tuple[str, list[str], bool]]: ...
    def grid(self) -> Grid: ...
    def identity(self, more: str) -> str: ...
    def compared_circumstance(self) -> tuple[str, str] | None: ...
    def only(self, stack: int, workload: int, values: list[int]) -> Grid: ...

@final
class Grid:
    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    def run(self, folder: str, jobs: int | None = None, progress: Callable[[int, int], object] | None = None, stop: Stop | None = None) -> None: ...
    def errand(self, folder: str, stop: Stop | None = None) -> Errand: ...
    def known(self, folder: str) -> Swept: ...

@final
class Errand:
    def __len__(self) -> int: ...
    def found(self) -> int: ...
    def job(self, index: int) -> tuple[str, str]: ...
    def traces(self) -> list[tuple[str, str]]: ...
    def keep(self, index: int, answer: str) -> None: ...
    def is_stopped(self) -> bool: ...

@final
class Study:
    def __new__(
        cls,
        name: str,
        scale: str | None,
        seed: int,
        traces: dict[str, str],
        settings: dict[str, str],
        family: int,
        figure: str | None,
        out: str | None,
    ) -> Study: ...
    def errand(self, stop: Stop | None = None) -> Errand: ...
    def run(self, jobs: int | None = None, progress: Callable[[int, int], object] | None = None) -> tuple[str, str]: ...

@final
class Swept:
    def runs(self) -> list[tuple[str, str, Any]]: ...
    def combinations(self) -> list[tuple[str, str, Any]]: ...
    def counts(self) -> list[tuple[str, int]]: ...
    def problem(self) -> str | None: ...
    def document(self) -> str: ...
    def text(self) -> str: ...
    def write(self, folder: str) -> None: ...

@final
class VictimView:
    """Blocks of one plane that may be collected; every array has the shape (n,) and ``uint32``, n = ``len(view)`` >= 1.

    Full blocks are among them (``valid == pages_per_block``): their pages can be moved, which gives no room. A policy
    that chooses nothing else, 64 times as often in a row as the plane has blocks, is overruled: the block with the
    fewest valid pages is collected, and ``ftl.overruled_victims`` counts it.
    """

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
        """A random number from 0 to ``bound`` - 1 from the drive's own stream (``engine.seed``).

        Raises:
            ValueError: the bound is 0 or below, or 2^64 or more.
        """

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
def command(
    arguments: list[str],
    elsewhere: Callable[[str, Errand], object] | None = None,
    read: Callable[[str], object] | None = None,
) -> int: ...
def compare(
    stacks: list[tuple[str, str]],
    settings: list[tuple[str, str]],
    workload: str,
    requests: RequestColumns | None = None,
    snapshots: str | None = None,
    threads: int | None = None,
    repetitions: int = 1,
) -> list[Outcome]: ...
def comparison_text(outcomes: list[Outcome]) -> str: ...
def explain(name: str) -> str: ...
def is_built_in(name: str) -> bool: ...
def items(kind: str) -> list[tuple[str, str]]: ...
def keys() -> list[tuple[str, str | None, str, str]]: ...
def life(
    name: str,
    text: str,
    settings: list[tuple[str, str]],
    question: tuple[str | None, str, float | None, float | None, str | None],
    workload: str,
    requests: RequestColumns | None = None,
    snapshots: str | None = None,
    progress: Callable[[str, int, int | None], object] | None = None,
    repetitions: int = 1,
) -> tuple[Outcome, str, str, str]: ...
def metrics() -> list[str]: ...
def policies() -> list[tuple[str, str, str, str]]: ...
def program_hash() -> str: ...
def register_commit(
    name: str, doc: str, make: Callable[[], Callable[[CommitView], SupportsIndex]], source: tuple[str, str] | None = None
) -> None: ...
def register_eviction(
    name: str, doc: str, make: Callable[[], Callable[[EvictionView], SupportsIndex]], source: tuple[str, str] | None = None
) -> None: ...
def register_victim(
    name: str, doc: str, make: Callable[[], Callable[[VictimView], SupportsIndex]], source: tuple[str, str] | None = None
) -> None: ...
def readable(message: str) -> str: ...
def record(workload: Callable[[Disk], object], asked: dict[str, Any], *, bytes: int, out: str | None) -> Recording: ...
def record_commands(texts: _Texts, asked: dict[str, Any]) -> Recording: ...
def resolve(name: str, text: str, settings: list[tuple[str, str]]) -> dict[str, str]: ...
def run(
    name: str,
    text: str,
    settings: list[tuple[str, str]],
    workload: str,
    requests: RequestColumns | None = None,
    snapshots: str | None = None,
    progress: Callable[[str, int, int | None], object] | None = None,
) -> Outcome: ...
def run_job(job: str, snapshots: str | None = None) -> str: ...
def set_library(path: str) -> None: ...
def stack_text(name: str) -> str | None: ...
def studies() -> list[str]: ...
def torture(
    recording: Recording,
    check: Callable[[Disk, list[str]], object],
    asked: dict[str, Any],
    *,
    bytes: int,
    out: str | None,
) -> tuple[str, str, str, tuple[int, str] | None]: ...
def torture_commands(
    texts: _Texts, asked: dict[str, Any], recording: Recording | None, out: str | None
) -> tuple[str, str, str, tuple[int, str] | None]: ...
def trace_convert(path: str, out: str, reading: dict[str, str | None]) -> list[str]: ...
def trace_info(path: str, reading: dict[str, str | None]) -> tuple[str, str]: ...
def trace_problem(path: str, digest: str) -> str | None: ...
def unbeaten(metrics: list[str], costs: list[list[tuple[float, float]]]) -> list[bool]: ...
def unread_policies(job: str) -> list[tuple[str, str]]: ...
def workload_convert(
    name: str, text: str, settings: list[tuple[str, str]], workload: str, out: str, is_stack_given: bool
) -> list[str]: ...
def write_page(path: str, outcomes: list[Outcome]) -> None: ...
