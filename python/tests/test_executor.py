"""Sweeps, studies and torture on executors: the standard process pool, and Dask's."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import distributed
import pytest
from conftest import TINY, console
from test_cluster import PLAN, assert_same
from test_torture import FIRST, WRITE, append, careless, verify

import nandarium as nd
from nandarium import _executor, _nandarium, _pool

SMALL: dict[str, Any] = {**PLAN, "repetitions": 4}
"""16 runs, and 8 that cannot be built."""

FORK = multiprocessing.get_context("fork")
"""Workers that begin at once, and with whatever a test has changed."""


@pytest.fixture(params=["processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "processes":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
    else:
        options = {"n_workers": 2, "processes": False, "threads_per_worker": 1, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client.get_executor()


def document(tortured: nd.Tortured) -> dict[str, Any]:
    """What is found, but for how long it took."""
    return {"states": tortured.states, "checked": tortured.checked, "failure": tortured.failure, "requests": tortured.requests}


def test_what_an_executor_gives_is_what_one_process_gives_to_the_last_bit(executor: Executor, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    swept = nd.sweep(SMALL, executor=executor, out=tmp_path / "there", progress=lambda done, runs: heard.append((done, runs)))
    assert heard[-1] == (24, 24) and swept.counts == {"complete": 16, "impossible": 8}
    assert_same(swept, nd.sweep(SMALL, out=tmp_path / "here"))
    for name in ("results.parquet", "summary.csv", "report.html"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()

    heard.clear()
    rows = nd.repro("hard", scale="1/128", out=tmp_path / "study", executor=executor, progress=lambda done, jobs: heard.append((done, jobs)))
    there = {path.name: path.read_bytes() for path in (tmp_path / "study").iterdir()}
    assert heard[-1][0] == heard[-1][1] > 8 and set(there) >= {"rows.json", "rows.md", "repro.html"}
    alone = console("repro", "hard", "--scale", "1/128", "--quiet", "--out", str(tmp_path / "alone"))
    assert alone.stdout == rows.text and len(rows.rows["id"]) == len(json.loads(there["rows.json"])["rows"])
    assert there == {path.name: path.read_bytes() for path in (tmp_path / "alone").iterdir()}, "and nothing else is left there"

    for workload, lies in [(append, []), (careless, []), (append, ["ignore-flush"])]:
        together = nd.torture(workload, verify, lies=lies, states=300, executor=executor)
        assert document(together) == document(nd.torture(workload, verify, lies=lies, states=300))
    within: dict[str, Any] = {"cuts": "drive", "states": 40, "settings": {"drive.capacity": "64MiB", "flash.channels": 1, "flash.pages_per_block": 64}}
    assert document(nd.torture(append, verify, executor=executor, **within)) == document(nd.torture(append, verify, **within))


def test_commands_are_checked_by_an_executor(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = nd.torture(WRITE, FIRST, states=40, out=tmp_path / "out", executor=pool)
        recording = tmp_path / "out" / "recording"
        again = nd.torture("exit 1", FIRST, states=40, recording=recording)
        assert found.failure is not None and document(found) == document(again)
        assert nd.torture(WRITE, "true", states=40, executor=pool)


def test_a_search_goes_the_same_way() -> None:
    space = {**PLAN, "repetitions": 1, "set": {**TINY, "workload.requests": 40_000}, "axes": {"drive.over_provisioning": {"from": "20%", "to": "60%", "steps": 9}}}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        search = nd.optimize(space, trials=4, executor=pool, at_once=2)
    assert [trial.values for trial in search.study.trials] == [trial.values for trial in nd.optimize(space, trials=4, at_once=2).study.trials]


def killed(build: str, job: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def test_a_worker_that_dies_breaks_the_executor_and_the_same_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []

    # Combinations that cannot be built are done before the first answer comes.
    def tell(done: int, runs: int) -> None:
        heard.append(done)
        if done > heard[0]:
            for worker in multiprocessing.active_children():
                worker.kill()

    with ProcessPoolExecutor(2, mp_context=FORK) as pool:
        with pytest.raises(nd.SimulationError, match="broke .*BrokenProcessPool.* one of these jobs: .*[0-9a-f]{32}.* the same sweep goes on"):
            nd.sweep(PLAN, executor=pool, out=tmp_path / "out", progress=tell)
        with pytest.raises(nd.SimulationError, match="broke"):
            nd.sweep(PLAN, executor=pool, out=tmp_path / "out")
    kept = len(list((tmp_path / "out").glob("runs/*/*/run.json")))
    assert 1 <= kept < 60
    with ProcessPoolExecutor(2, mp_context=FORK) as pool:
        assert nd.sweep(PLAN, executor=pool, out=tmp_path / "out").counts == {"complete": 60, "impossible": 30}
    # Nobody is asked for what is there, so that it may be broken.
    assert nd.sweep(PLAN, executor=pool, out=tmp_path / "out").counts == {"complete": 60, "impossible": 30}

    monkeypatch.setattr(_executor, "answer", killed)
    one = {"stacks": ["page"], "set": {**TINY, "workload.requests": 1000}}
    with ProcessPoolExecutor(1, mp_context=FORK) as pool, pytest.raises(nd.SimulationError, match="the executor broke .* one of these jobs: page"):
        nd.sweep(one, executor=pool, out=tmp_path / "one")
    with ProcessPoolExecutor(1, mp_context=FORK) as pool, pytest.raises(nd.SimulationError, match="jobs: probe, .*the same study goes on"):
        nd.repro("hard", scale="1/128", out=tmp_path / "study", executor=pool)


POOLS: list[Any] = []
"""The pool whose pipe a worker that was forked off writes to."""


def killed_in_an_answer(flag: Path, build: str, job: str) -> str:
    """On the first worker: an answer of 16 MiB ends after its first bytes. The other workers never answer."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        time.sleep(600)
    os.write(POOLS[0]._result_queue._writer.fileno(), struct.pack("!i", 16 << 20) + b"the beginning")
    return killed(build, job)


@pytest.fixture
def half_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """A pool of two workers, of which one dies in the middle of an answer. A third process holds the pipe open."""
    monkeypatch.setattr(_executor, "answer", partial(killed_in_an_answer, tmp_path / "flag"))
    monkeypatch.setattr(_pool, "PATIENCE", 0.5)
    with ProcessPoolExecutor(2, mp_context=FORK) as pool:
        POOLS[:] = [pool]
        holder = FORK.Process(target=time.sleep, args=(600,))
        holder.start()
        yield pool
    holder.kill()
    assert multiprocessing.active_children() in ([], [holder]), "no worker is left"
    POOLS.clear()


def test_a_worker_that_dies_in_the_middle_of_an_answer_breaks_the_executor(half_an_answer: Executor, tmp_path: Path) -> None:
    with pytest.raises(nd.SimulationError, match="the executor broke .*BrokenProcessPool.* the same sweep goes on"):
        nd.sweep(SMALL, executor=half_an_answer, out=tmp_path / "out")


def test_a_pool_can_be_shut_down_though_its_sweep_ended_before_it_broke(half_an_answer: Executor, tmp_path: Path) -> None:
    def stop(done: int, runs: int) -> None:
        if (tmp_path / "flag").exists():
            time.sleep(0.2)  # until the pool waits
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        nd.sweep(SMALL, executor=half_an_answer, out=tmp_path / "out", progress=stop)


def test_a_pool_that_is_slow_to_replace_its_workers_is_not_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_pool, "PATIENCE", 0.2)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        pool.submit(int).add_done_callback(lambda _: time.sleep(3))
        assert nd.sweep({**PLAN, "repetitions": 1}, executor=pool, out=tmp_path / "out").counts == {"complete": 4, "impossible": 2}


def test_jobs_that_fail_on_a_worker_are_named_and_the_others_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_job = _nandarium.run_job

    def fails(job: str, snapshots: str | None = None) -> str:
        if '"workload.seed":"2"' in job or "probe, 2 ways" in job:
            raise MemoryError("none left")
        return run_job(job, snapshots)

    monkeypatch.setattr(_nandarium, "run_job", fails)
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(nd.SimulationError, match="4 jobs were lost, and the others are kept; the same sweep .*first: .*, seed 2 \\([0-9a-f]{32}\\): MemoryError: none left"):
            nd.sweep(SMALL, executor=pool, out=tmp_path / "out")
        with pytest.raises(nd.SimulationError, match="jobs were lost.* the same study .*first: probe, 2 ways: MemoryError: none left"):
            nd.repro("hard", scale="1/128", out=tmp_path / "study", executor=pool)
        monkeypatch.undo()
        told: list[tuple[int, int]] = []
        nd.sweep(SMALL, executor=pool, out=tmp_path / "out", progress=lambda done, runs: told.append((done, runs)))
        assert told[0][0] >= 20, "only those that were lost are due"


def test_workers_and_executors_that_cannot_be_used_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (5, ProcessPoolExecutor, "tcp://127.0.0.1:1"):
        for call in (lambda given: nd.sweep(SMALL, executor=given), lambda given: nd.repro("hard", executor=given), lambda given: nd.torture(append, verify, executor=given)):
            with pytest.raises(nd.ClusterError, match="executor is .*; give a concurrent.futures.Executor"):
                call(wrong)
    pool = ThreadPoolExecutor(1)
    with pytest.raises(nd.ClusterError, match="both given"):
        nd.sweep(SMALL, client="tcp://127.0.0.1:1", executor=pool)
    pool.shutdown()
    with pytest.raises(nd.ClusterError, match="takes no jobs .*after shutdown"):
        nd.sweep(SMALL, executor=pool)
    build = _nandarium.program_hash()
    answers = iter([build])
    monkeypatch.setattr(_nandarium, "program_hash", lambda: next(answers, "another"))
    with ThreadPoolExecutor(1) as pool, pytest.raises(nd.ClusterError, match=r"worker .*, process \d+: it has another build"):
        nd.sweep(SMALL, executor=pool)
    monkeypatch.undo()
    with pytest.raises(nd.ConfigError, match="no study `x`; choose one of drives, hard"):
        nd.repro("x")
    with pytest.raises(nd.ConfigError, match="power of two"):
        nd.repro("hard", scale="1/3")
    with pytest.raises(nd.ConfigError, match="no trace called `x`"):
        nd.repro("hard", traces={"x": "y"})


def test_a_job_that_an_executor_forgets_is_given_to_it_again() -> None:
    class Forgetful(ThreadPoolExecutor):
        """Forgets each job once."""

        seen: set[Any] = set()

        def submit(self, work: Any, *arguments: Any) -> Future[Any]:  # type: ignore[override]
            if arguments in self.seen:
                return super().submit(work, *arguments)
            self.seen.add(arguments)
            forgotten: Future[Any] = Future()
            forgotten.cancel()
            forgotten.set_running_or_notify_cancel()
            return forgotten

    with Forgetful(2) as pool:
        assert nd.sweep(SMALL, executor=pool).counts == {"complete": 16, "impossible": 8}


def test_a_check_that_cannot_be_sent_or_answers_something_is_told() -> None:
    def local(disk: nd.Disk, said: list[str]) -> None:
        pass

    with ProcessPoolExecutor(1, mp_context=FORK) as pool, pytest.raises((nd.SimulationError, TypeError), match="local"):
        nd.torture(append, local, executor=pool)
    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(TypeError, match="the check returned False"):
            nd.torture(append, lambda disk, said: False, executor=threads)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="without any cut"):
            nd.torture(append, lambda disk, said: disk.read(512, 1), executor=threads)  # type: ignore[arg-type]


CTRL_C = """
import sys
from concurrent.futures import ProcessPoolExecutor
import nandarium as nd

if __name__ == "__main__":
    long = {"repetitions": 6, "set": {"drive.capacity": "64MiB", "flash.channels": 1, "workload.requests": 200_000_000, "measure.warm_up": 0}}
    with ProcessPoolExecutor(2) as pool:
        print("begun", flush=True)
        nd.sweep(long, executor=pool, out=sys.argv[1])
"""


def test_ctrl_c_ends_what_an_executor_has_under_way(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(CTRL_C)
    # A group of its own, all of which a terminal would give the signal.
    process = subprocess.Popen([sys.executable, "long.py", "out"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(2)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert time.monotonic() - begun < 10
