"""What the Python package costs: beside a run, for each request given in an array, and for each call of a policy.

Run it on a quiet machine with the package built in release mode (`pip install .`); docs/guides/python.md quotes it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import numpy as np

import nandarium as nd

SMALL: dict[str, nd.Value] = {"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 2, "flash.pages_per_block": 64}
LARGE: dict[str, nd.Value] = {"drive.capacity": "8GiB", "flash.pages_per_block": 64, "drive.precondition": "overwrite"}


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
    op, first_sector, sectors = rng.integers(0, 2, count), 8 * rng.integers(0, 10_000, count), np.full(count, 8)
    started = time.perf_counter()
    nd.Requests(op, first_sector, sectors)._native  # noqa: B018
    return time.perf_counter() - started


@nd.policies.victim("costs-greedy")
class Greedy:
    """The block with the fewest valid pages."""

    def pick(self, view: nd.policies.VictimView) -> int:
        """See the class."""
        return int(view.valid.argmin())


def of_a_victim(settings: dict[str, nd.Value]) -> tuple[float, float, float]:
    """Seconds of a million writes to a used drive with greedy in Rust and in Python, and of each block collected."""
    best = {"greedy": float("inf"), "costs-greedy": float("inf")}
    erases = 0
    for _ in range(6):  # in turn, so that both see the same machine
        for victim in best:
            workload = nd.Workload("uniform-write", requests=1_000_000, request_size="4KiB")
            run = nd.run("page", workload, settings={**settings, "ftl.gc.victim": victim})
            best[victim] = min(best[victim], run.wall_s)
            erases = run.flash["erases"]["gc"]
    return best["greedy"], best["costs-greedy"], (best["costs-greedy"] - best["greedy"]) / erases


def of_two_cores() -> tuple[float, float]:
    """Seconds of a sweep of 200 small runs on one thread and on two."""
    settings = {**SMALL, "workload.requests": 50_000}
    plan = {"workloads": ["zipf"], "repetitions": 25, "set": settings, "axes": {"drive.over_provisioning": ["20%", "30%", "40%", "50%"], "ftl.gc.victim": ["greedy", "fifo"]}}
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(5):  # in turn, so that both see the same machine
        for jobs in best:
            started = time.perf_counter()
            assert nd.sweep(plan, jobs=jobs).counts == {"complete": 200}
            best[jobs] = min(best[jobs], time.perf_counter() - started)
    return best[1], best[2]


def main() -> None:
    """Prints the table."""
    one, two = of_two_cores()
    rows = {
        "beside a run, ms": 1e3 * least(50, beside_a_run),
        "result.json as text, ms": 1e3 * least(20, lambda: of_reading(nd.Result.to_json)),
        "series as arrays, ms": 1e3 * least(20, lambda: of_reading(lambda run: run.series)),
        "series as Arrow, ms": 1e3 * least(20, lambda: of_reading(lambda run: run.series.__arrow_c_stream__())),
        "a request in arrays, ns": 1e9 * least(5, of_a_request) / 1e6,
        "a sweep of 200 runs on one thread, s": one,
        "on two threads, s": two,
        "two threads beside one": one / two,
    }
    for name, settings in (("64 MiB", {**SMALL, "drive.precondition": "overwrite"}), ("8 GiB", LARGE)):
        in_rust, in_python, call = of_a_victim(settings)
        rows |= {f"{name}: a million writes, greedy in Rust, s": in_rust, f"{name}: in Python, s": in_python, f"{name}: a call, us": 1e6 * call}
    print(json.dumps({"version": nd.__version__, "processors": os.cpu_count(), **{name: round(value, 3) for name, value in rows.items()}}, indent=2))


if __name__ == "__main__":
    main()
