"""Sweeps on a scheduler of Dask, with workers that are processes of their own, over the loopback interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
from conftest import TINY, console

import nandarium as nd
from nandarium import _cluster, _nandarium

PLAN: dict[str, Any] = {
    "stacks": ["page", "dftl"],
    "repetitions": 15,
    "set": {**TINY, "workload.requests": 15_000},
    "axes": {"drive.over_provisioning": ["50%", "0.1%", "30%"]},
}
"""60 runs of some hundredths of a second, and 30 that cannot be built."""


class Cluster:
    """A scheduler, and workers that are processes of one thread each."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        said = folder / "scheduler.json"
        # Without anything to do it ends by itself, should nobody be left to end it.
        self.start("scheduler", "--port", "0", "--scheduler-file", str(said), "--idle-timeout", "60s", *options)
        until = time.monotonic() + 30
        while not said.exists() or not said.read_text():
            assert time.monotonic() < until
            time.sleep(0.02)
        self.address: str = json.loads(said.read_text())["address"]

    def start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a scheduler or a worker."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1", "--no-dashboard", *arguments]
        log = (self.folder / f"{what}-{len(self.processes)}.log").open("wb")
        self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder))
        return self.processes[-1]

    def worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a worker."""
        return self.start("worker", self.address, "--no-nanny", "--nthreads", "1", "--death-timeout", "20", "--local-directory", str(self.folder), *arguments)

    def workers(self, count: int) -> list[subprocess.Popen[bytes]]:
        """Starts workers, and waits for them."""
        started = [self.worker() for _ in range(count)]
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=30)
        return started

    def end(self) -> None:
        """Ends every process; none of them has anything to lose."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.end()


def assert_same(one: nd.SweepResult, other: nd.SweepResult) -> None:
    assert list(one.runs) == list(other.runs)
    for name in one.runs:
        left, right = one.runs[name], other.runs[name]
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f"), name


def test_a_worker_that_is_killed_loses_nothing_and_nothing_counts_twice(cluster: Cluster, tmp_path: Path) -> None:
    first, *_ = cluster.workers(3)
    heard: list[tuple[int, int]] = []

    def tell(done: int, runs: int) -> None:
        heard.append((done, runs))
        if done >= 40 and first.poll() is None:
            first.send_signal(signal.SIGKILL)
            first.wait()

    swept = nd.sweep(PLAN, client=cluster.address, out=tmp_path / "out", progress=tell)
    assert first.returncode == -signal.SIGKILL and heard[-1] == (90, 90)
    assert swept.counts == {"complete": 60, "impossible": 30}
    assert_same(swept, nd.sweep(PLAN))
    runs = sorted(run.parent.name for run in (tmp_path / "out").glob("runs/*/*/run.json"))
    assert runs == sorted(set(swept.runs["address"][swept.runs["status"] == "complete"]))
    # All of it is there: nobody is asked again.
    assert nd.sweep(PLAN, client="tcp://127.0.0.1:1", out=tmp_path / "out").counts == swept.counts


def test_the_command_and_a_search_go_the_same_way(cluster: Cluster, tmp_path: Path) -> None:
    cluster.workers(2)
    (tmp_path / "mine.toml").write_text('extends = "dftl"\ndrive.capacity = "1GiB"\ndrive.over_provisioning = "28%"\ndrive.precondition = "fill"\n')
    trace = tmp_path / "mail.csv.zst"
    trace.write_bytes((Path(__file__).parents[2] / "crates/sim/simulator/samples/sqlite-git-ext4.csv.zst").read_bytes())
    plan = tmp_path / "plan.toml"
    # A stack file and a trace beside the plan: the workers run in another folder.
    plan.write_text('stacks = ["mine.toml+ftl.gc.victim=fifo"]\nworkloads = ["mail.csv.zst", "zipf"]\nrepetitions = 2\n[set]\nworkload.requests = 3000\n')
    there = console("sweep", "plan.toml", "--scheduler", cluster.address, "--json", "--quiet", "--out", "there", cwd=tmp_path)
    assert (there.returncode, there.stderr) == (0, "")
    here = console("sweep", "plan.toml", "--json", "--quiet", "--out", "here", cwd=tmp_path)

    assert there.stdout == here.stdout and json.loads(there.stdout)["statuses"] == {"complete": 4}
    for name in ("results.parquet", "summary.csv", "report.html"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()

    # Writes enough for the percentile that a search looks at by itself.
    space = {**PLAN, "repetitions": 1, "set": {**TINY, "workload.requests": 40_000}, "axes": {"drive.over_provisioning": {"from": "20%", "to": "60%", "steps": 9}}}
    search = nd.optimize(space, trials=4, client=cluster.address, at_once=2)
    assert [trial.values for trial in search.study.trials] == [trial.values for trial in nd.optimize(space, trials=4, at_once=2).study.trials]

    with distributed.Client(cluster.address, set_as_default=False) as client:
        trace.write_bytes(b"something else")
        problem = _nandarium.trace_problem(str(trace), "0")
        assert problem and "another file" in problem
        assert nd.sweep({**PLAN, "repetitions": 1}, client=client).counts == {"complete": 4, "impossible": 2}


def test_a_sweep_that_is_interrupted_keeps_what_came_in(cluster: Cluster, tmp_path: Path) -> None:
    cluster.workers(2)
    (tmp_path / "plan.toml").write_text('repetitions = 60\n[set]\ndrive.capacity = "64MiB"\nflash.channels = 1\nworkload.requests = 60000\n')
    command = [str(Path(sys.executable).parent / "nandarium"), "sweep", "plan.toml", "--scheduler", cluster.address]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while len(list(tmp_path.glob("plan/runs/*/*/run.json"))) < 3:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 130 and "not run" in out and "continues from there" in said
    rest = console("sweep", "plan.toml", "--scheduler", cluster.address, cwd=tmp_path)
    assert rest.returncode == 0 and "60 complete" in rest.stdout and "of 60 runs are done already" in rest.stderr


def test_runs_that_take_their_workers_down_are_told_and_the_others_kept(tmp_path: Path) -> None:
    os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
    try:
        cluster = Cluster(tmp_path)
    finally:
        del os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"]
    try:
        first, _ = cluster.workers(2)

        def tell(done: int, runs: int) -> None:
            if done >= 35:
                first.kill()

        with pytest.raises(nd.SimulationError, match="the same sweep tries them again.*KilledWorker"):
            nd.sweep(PLAN, client=cluster.address, out=tmp_path / "out", progress=tell)
        assert nd.sweep(PLAN, client=cluster.address, out=tmp_path / "out").counts == {"complete": 60, "impossible": 30}
        # And a scheduler that goes away.
        def end(done: int, runs: int) -> None:
            cluster.processes[0].kill()

        with pytest.raises(nd.SimulationError, match="the scheduler is gone"):
            nd.sweep(PLAN, client=cluster.address, progress=end)
    finally:
        cluster.end()


def test_workers_that_cannot_be_used_are_refused_before_anything_runs(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_cluster, "CONNECT_WITHIN", 1)
    monkeypatch.setattr(_cluster, "WORKERS_WITHIN", 1)

    def refused(address: str, words: str) -> None:
        with pytest.raises(nd.ClusterError, match=words):
            nd.sweep(PLAN, client=address, out=tmp_path / "out")
        assert not list((tmp_path / "out").glob("runs/*"))

    refused("127.0.0.1:8786", "write tcp://HOST:PORT")
    refused("tcp://127.0.0.1", "write tcp://HOST:PORT")
    refused("tcp://127.0.0.1:99999", "no scheduler answers at tcp://127.0.0.1:99999")
    refused("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1")
    refused(cluster.address, "has no workers; `dask worker tcp://")
    for code, words in (
        ("import nandarium\nnandarium._nandarium.program_hash = lambda: 'another'", "another build of nandarium"),
        ("import sys\nsys.modules['nandarium'] = None", "cannot load this package"),
        ("import nandarium._cluster as one\nfor name in ('_problem', '_work'): vars(one).pop(name, None)", "cannot load this package .*install the nandarium of this machine"),
    ):
        (tmp_path / "preload.py").write_text(code)
        worker = cluster.worker("--preload", str(tmp_path / "preload.py"))
        monkeypatch.setattr(_cluster, "WORKERS_WITHIN", 30)
        refused(cluster.address, words)
        worker.kill()
        worker.wait()

    (tmp_path / "plan.toml").write_text("repetitions = 2\n")
    for address in ("127.0.0.1:1", "tcp://nowhere"):
        command = console("sweep", str(tmp_path / "plan.toml"), "--scheduler", address)
        assert command.returncode == 2 and "write tcp://HOST:PORT" in command.stderr and not command.stdout


@pytest.mark.parametrize("wrong", ["build", "trace"])
def test_a_worker_that_comes_later_and_cannot_be_used_is_named(wrong: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = {
        "build": "import nandarium\nnandarium._nandarium.program_hash = lambda: 'another'",
        "trace": "",
    }[wrong]
    (tmp_path / "preload.py").write_text(code)
    cluster.worker("--preload", str(tmp_path / "preload.py"))
    trace = tmp_path / "trace.csv"
    trace.write_text("time_ns,device,op,offset_bytes,length_bytes\n0,0,W,0,4096\n")
    words = {"build": "another build of nandarium", "trace": "trace.csv cannot be read there"}[wrong]
    # As if nobody had been there to be looked at before.
    monkeypatch.setattr(_cluster, "_check", lambda client, errand: trace.unlink() if wrong == "trace" else None)
    plan = {"workloads": [str(trace)] if wrong == "trace" else ["zipf"], "repetitions": 2, "set": {**TINY, "workload.requests": 500}}
    with pytest.raises(nd.ClusterError, match=f"worker tcp://[0-9.:]+: .*{words}"):
        nd.sweep(plan, client=cluster.address)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "nandarium._cluster")
    monkeypatch.delattr(nd, "_cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(nd.ClusterError, match=r"pip install '\.\[cluster\]'"):
        nd.sweep(PLAN, client="tcp://127.0.0.1:1")
