"""What the Python package costs: beside a run, for each request given in an array, and for each call of a policy.

Run it on a quiet machine with the package built in release mode (`pip install .`); docs/python.md quotes it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import numpy as np

import nandarium as nd

SMALL = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 2, "flash.pages_per_block": 64}
LARGE = {"drive.capacity": "8GiB", "drive.precondition": "overwrite"}


def least(times: int, measure: Callable[[], float]) -> float:
    """The least of several measurements: everything else is other programs."""
    return min(measure() for _ in range(times))


def beside_a_run() -> float:
    """Seconds of `run` that are not the measured part: settings, the drive, the result."""
    stack = nd.Stack("page", SMALL)
    started = time.perf_counter()
    run = nd.run(stack, requests=1, snapshots=False)
    return time.perf_counter() - started - run.wall_s


def of_reading(what: Callable[[nd.Result], object]) -> float:
    """Seconds until something of a new result is there."""
    run = nd.run(nd.Stack("page", SMALL), requests=20_000, snapshots=False)
    started = time.perf_counter()
    what(run)
    return time.perf_counter() - started


def of_a_request() -> float:
    """Seconds a million requests take from NumPy columns to requests of the simulator."""
    rng = np.random.default_rng(1)
    count = 1_000_000
    columns = {"op": rng.integers(0, 2, count), "first_sector": 8 * rng.integers(0, 10_000, count), "sectors": np.full(count, 8)}
    started = time.perf_counter()
    nd.Requests(**columns)._native  # noqa: B018
    return time.perf_counter() - started


class Greedy:
    """The block with the fewest valid pages."""

    def __init__(self) -> None:
        self.calls = 0

    def pick(self, view: nd.policies.VictimView) -> int:
        """See the class."""
        global calls
        calls += 1
        return int(view.valid.argmin())


calls = 0


def of_a_victim() -> tuple[float, float, float, int]:
    """Seconds of a run with greedy in Rust and in Python, of each call, and blocks it chooses among."""
    nd.policies.victim("costs-greedy")(Greedy)
    seen: list[int] = []

    @nd.policies.victim("costs-count")
    def count(view: nd.policies.VictimView) -> int:
        seen.append(len(view))
        return int(view.valid.argmin())

    def walls(victim: str) -> float:
        return nd.run("page", "uniform-write", settings={**LARGE, "ftl.gc.victim": victim}, requests=300_000).wall_s

    nd.run("page", "uniform-write", settings={**LARGE, "ftl.gc.victim": "costs-count"}, requests=1)
    in_rust = least(3, lambda: walls("greedy"))
    global calls
    calls = 0
    in_python = least(2, lambda: walls("costs-greedy"))
    # Preconditioning calls it as well; what is counted there is taken off by a run of one request.
    both, calls = calls, 0
    walls_of_one = nd.run("page", "uniform-write", settings={**LARGE, "ftl.gc.victim": "costs-greedy"}, requests=1)
    del walls_of_one
    measured = both // 2 - calls
    return in_rust, in_python, (in_python - in_rust) / max(measured, 1), int(np.mean(seen))


def main() -> None:
    """Prints the table."""
    rows = {
        "beside a run, ms": 1e3 * least(50, beside_a_run),
        "result.json as text, ms": 1e3 * least(20, lambda: of_reading(nd.Result.to_json)),
        "series as arrays, ms": 1e3 * least(20, lambda: of_reading(lambda run: run.series)),
        "series as Arrow, ms": 1e3 * least(20, lambda: of_reading(lambda run: run.series.__arrow_c_stream__())),
        "a request in arrays, ns": 1e9 * least(5, of_a_request) / 1e6,
    }
    in_rust, in_python, call, blocks = of_a_victim()
    rows |= {"300000 writes, greedy in Rust, s": in_rust, "the same, greedy in Python, s": in_python, "a call of a victim policy, us": 1e6 * call, "blocks it chooses among": blocks}
    print(json.dumps({"version": nd.__version__, "processors": os.cpu_count(), **{name: round(value, 3) for name, value in rows.items()}}, indent=2))


if __name__ == "__main__":
    main()
