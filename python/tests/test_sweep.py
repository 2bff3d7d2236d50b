"""Sweeps from Python are sweeps of the command line."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from conftest import TINY, console

import nandarium as nd

SMALL: dict[str, Any] = {**TINY, "workload.requests": 9000}
PLAN: dict[str, Any] = {
    "stacks": ["page", "dftl"],
    "workloads": ["zipf"],
    "repetitions": 2,
    "set": SMALL,
    "axes": {"drive.over_provisioning": ["50%", "0.1%", "30%"], "ftl.gc.victim": ["greedy", "fifo"]},
}
TEXT = """
stacks = ["page", "dftl"]
workloads = ["zipf"]
repetitions = 2
[set]
drive.capacity = "64MiB"
flash = {channels = 2, dies_per_channel = 2, pages_per_block = 64}
workload.requests = 9000
[axes]
drive.over_provisioning = ["50%", "0.1%", "30%"]
ftl.gc.victim = ["greedy", "fifo"]
"""


def test_a_sweep_is_the_command_s_sweep(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(TEXT)
    done = console("sweep", str(tmp_path / "plan.toml"), "--json", "--quiet", "--out", str(tmp_path / "command"))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    heard: list[tuple[int, int]] = []
    swept = nd.sweep(tmp_path / "plan.toml", progress=lambda *told: heard.append(told))
    assert swept.folder == tmp_path / "plan" and (swept.folder / "report.html").is_file()
    assert heard[-1] == (24, 24) and len(swept) == 24
    assert swept.counts == said["statuses"] == {"complete": 16, "impossible": 8}
    assert swept.combinations["waf"][0] == said["combinations"][0]["metrics"]["waf"]["mean"]
    hashes = {json.loads(run.read_text())["hash"] for run in (tmp_path / "command").glob("runs/*/*/run.json")}
    assert set(swept.runs["hash"]) - {""} == hashes
    # What a machine needed for it is no part of what is compared.
    for name in ("results.parquet", "summary.csv", "report.html"):
        assert (tmp_path / "command" / name).read_bytes() == (swept.folder / name).read_bytes()

    folder = swept.folder

    def written() -> dict[Path, int]:
        return {run: run.stat().st_mtime_ns for run in folder.glob("runs/*/*/result.json")}

    # The same plan in its other two forms has the same results, and all of them are there already.
    before = written()
    for form in (TEXT, PLAN):
        again = nd.sweep(form, out=tmp_path / "plan", progress=lambda *told: heard.append(told))
        assert again.runs["hash"].tolist() == swept.runs["hash"].tolist() and written() == before, "nothing was run again"
    one = nd.run("dftl", "zipf", settings={**SMALL, "drive.over_provisioning": "30%", "ftl.gc.victim": "fifo"}, seed=2)
    assert swept.runs["hash"][-1] == one.hash and str(swept).startswith("plan, 24 runs: 16 complete, 8 impossible")


def test_what_cannot_be_built_is_a_row_and_stops_nobody() -> None:
    swept = nd.sweep(PLAN)
    runs = swept.runs
    impossible = runs["drive_over_provisioning"] == 0.001
    assert impossible.sum() == 8 and set(runs["status"][impossible]) == {"impossible"} and set(runs["status"][~impossible]) == {"complete"}
    assert all("drive.over_provisioning" in error for error in runs["error"][impossible])
    assert np.isnan(runs["waf"][impossible]).all() and not np.isnan(runs["waf"][~impossible]).any()
    assert swept.combinations["complete"].tolist() == [2, 2, 0, 0, 2, 2] * 2
    assert np.isfinite(swept.combinations["iops_ci95"]).tolist() == [True, True, False, False, True, True] * 2


def test_what_is_recommended_is_what_the_command_says(tmp_path: Path) -> None:
    axes = {"drive.over_provisioning": ["25%", "50%", "60%"], "workload.queue_depth": [1, 8]}
    plan = {**PLAN, "repetitions": 3, "axes": axes, "tail": "write_p99_ns", "within": "20%", "set": {**SMALL, "workload.requests": 3000}}
    swept = nd.sweep(plan)
    assert [panel["title"] for panel in swept.panels] == ["zipf, queue_depth 1", "zipf, queue_depth 8"]
    assert swept.document["schema"] == "nandarium.sweep/1" and swept.document["within"] == 0.2
    for panel in swept.panels:
        assert panel["tail"] == "write_p99_ns"
        # Its first sentence stands above the table, the others below.
        said = " ".join(str(swept).split())
        assert all(sentence in said for sentence in re.split(r"(?<=\.) (?=[A-Z])", panel["recommendation"]))
    front = swept.front
    rows = swept.combinations
    assert front.rows == (rows["unbeaten"] == "yes").sum() == sum(len(panel["unbeaten"]) for panel in swept.panels)
    assert set(front["panel"]) == {"zipf, queue_depth 1", "zipf, queue_depth 8"}
    for title in set(front["panel"]):
        assert (np.diff(front["write_p99_ns"][front["panel"] == title]) >= 0).all()
    assert swept.recommendation == swept.document["recommendation"] and "2 panels" in swept.recommendation
    assert np.isnan(rows["write_p999_ns"]).all() and all("too few for p99.9" in absent for absent in rows["absent"])
    copy = pickle.loads(pickle.dumps(swept))
    assert (copy.recommendation, copy.notes, copy.front.rows) == (swept.recommendation, swept.notes, front.rows)


def test_one_panel_and_single_runs_say_so() -> None:
    swept = nd.sweep({"set": {**SMALL, "drive.precondition": "none"}, "axes": {"ftl.gc.victim": ["greedy", "fifo"]}}, settings={"workload.requests": 400})
    assert swept.recommendation.startswith("Nothing is recommended: ") and swept.recommendation == swept.panels[0]["recommendation"]
    assert any("`ftl.gc.victim` had no effect on any run" in note for note in swept.notes)
    assert any("repetitions = 5" in note for note in swept.notes)


def test_tables_are_taken_as_they_are(tmp_path: Path) -> None:
    swept = nd.sweep({"set": SMALL, "axes": {"workload.queue_depth": {"from": 1, "to": 4, "steps": 3, "scale": "log"}}})
    assert polars.DataFrame(swept.runs)["workload_queue_depth"].to_list() == [1, 2, 4]
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(swept.runs)["status"].tolist() == ["complete"] * 3
    assert swept.folder is None
    swept.save(tmp_path / "kept")
    assert polars.read_parquet(tmp_path / "kept/results.parquet")["hash"].to_list() == swept.runs["hash"].tolist()


def test_bad_plans_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for plan, words in (
        ({"axes": {"drive.capactiy": ["16MiB"]}}, "did you mean `drive.capacity`"),
        ({"axes": {"workload.queue_depth": []}}, "is empty"),
        ({"axes": {"ftl.map_cache": ["64MiB", "65536KiB"]}}, "axes.ftl.map_cache: 65536KiB is the same as 64MiB"),
        ({"axes": {"drive.over_provisioning": ["0.1%"]}, "set": SMALL}, "none of the 1 combinations"),
        ({"stacks": ["pgae"]}, "did you mean `page`"),
        ({"workloads": ["zpif"]}, "did you mean `zipf`"),
        ({"stack": ["page"]}, "did you mean `stacks`"),
        ({"stacks": [nd.Stack("page")]}, "give a str"),
        ("stacks = [\n", "the plan"),
        ("", "the plan is an empty text; give"),
        ({"stacks": [""]}, "neither a built-in stack"),
        ({"workloads": [""]}, "neither a built-in workload"),
    ):
        with pytest.raises(nd.ConfigError, match=words):
            nd.sweep(plan, out=tmp_path)
        assert not list(tmp_path.iterdir())
    with pytest.raises(OSError):
        nd.sweep(tmp_path / "nothing.toml")
    for jobs in (-1, 0, 1025):
        with pytest.raises(ValueError, match="1 to 1024 threads"):
            nd.sweep(PLAN, jobs=jobs)
    with pytest.raises(ValueError, match="jobs is 1180591620717411303424; a sweep runs on 1 to 1024 threads"):
        nd.sweep(PLAN, jobs=2**70)
    for no_number in ("2", 1.5, [1]):
        with pytest.raises(TypeError, match=r"jobs is .*; give a whole number: a sweep runs on 1 to 1024 threads"):
            nd.sweep(PLAN, jobs=no_number)  # type: ignore[arg-type]
    with pytest.raises(nd.ClusterError, match="client is 5; give a distributed.Client, or the address"):
        nd.sweep(PLAN, client=5)  # type: ignore[arg-type]


def test_settings_of_a_sweep_are_refused_as_the_plan_s_are(tmp_path: Path) -> None:
    """The message said "the plan: the plan:"."""
    with pytest.raises(nd.ConfigError, match=r"^the plan: drive.capacity: "):
        nd.sweep(PLAN, settings={"drive.capacity": "8"}, out=tmp_path)
    for settings, words in (([("drive.capacity", "1GiB")], r"settings is \[.*\]; give a dict"), ({1: 2}, "settings has the key 1; keys are texts")):
        for refused in (lambda given: nd.sweep(PLAN, settings=given), lambda given: nd.run(settings=given), lambda given: nd.optimize(PLAN, trials=1, settings=given)):
            with pytest.raises(TypeError, match=words):
                refused(settings)


def test_an_empty_text_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, Any]) -> None:
    """It was the one the caller happened to be in."""
    monkeypatch.chdir(tmp_path)
    swept, run = nd.sweep({"set": SMALL}), nd.run(settings=tiny, requests=100)
    writes: list[Callable[[], object]] = [
        lambda: nd.sweep({"set": SMALL}, out=""),
        lambda: nd.optimize({"set": SMALL}, trials=1, out=""),
        lambda: nd.run(settings=tiny, snapshots=""),
        lambda: nd.compare(["page"], settings=tiny, snapshots=""),
        lambda: swept.save(""),
        lambda: run.save(""),
        lambda: run.report(""),
    ]
    for write in writes:
        with pytest.raises(ValueError, match=r"^(out|snapshots|folder|path) is empty; give a path"):
            write()
    assert not list(tmp_path.iterdir())


def test_a_sweep_without_a_single_result_warns(tmp_path: Path) -> None:
    (tmp_path / "torn.csv").write_text("time_ns,device,op,offset_bytes,length_bytes\n0,0,W,0,4096\n10,0,W,\n")
    plan: dict[str, Any] = {"workloads": [str(tmp_path / "torn.csv")], "set": SMALL, "repetitions": 2}
    with pytest.warns(RuntimeWarning, match="no run was measured, 2 failed; the first: "):
        assert nd.sweep(plan).counts == {"failed": 2}
    assert nd.sweep({**plan, "workloads": [*plan["workloads"], "zipf"]}).counts == {"complete": 2, "failed": 2}


def test_a_folder_that_cannot_be_written_is_named() -> None:
    swept = nd.sweep({"set": SMALL})
    for save in (swept.save, pickle.loads(pickle.dumps(swept)).save, lambda out: nd.sweep({"set": SMALL}, out=out), lambda out: nd.optimize({"set": SMALL}, trials=1, out=out)):
        for out in ("/proc", "/proc/nowhere"):
            with pytest.raises(nd.SimulationError, match=f"^{out}.* could not be written"):
                save(out)


def test_a_sweep_is_pickled_with_its_files(tmp_path: Path) -> None:
    swept = nd.sweep({**PLAN, "repetitions": 1}, out=tmp_path / "out")
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(swept))))
    assert (copy.name, copy.folder, copy.counts, str(copy), len(copy)) == (swept.name, swept.folder, swept.counts, str(swept), len(swept))
    assert copy.runs["hash"].tolist() == swept.runs["hash"].tolist() and not copy.runs["waf"].flags.writeable
    copy.save(tmp_path / "copy")
    for name in ("results.parquet", "summary.csv", "report.html"):
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_policy_whose_name_does_not_tell_what_it_does_is_not_swept(tmp_path: Path) -> None:
    nd.policies.victim("of-today")(lambda view: 0)
    with pytest.raises(nd.ConfigError, match="results cannot be kept"):
        nd.sweep({"stacks": ["page+ftl.gc.victim=of-today"], "set": SMALL})
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "page"\nftl.gc.victim = "of-today"\n')
    for plan, place in (
        ({"stacks": ["page+ftl.gc.victim=of-today"], "set": SMALL}, "the plan: stacks:"),
        ({"stacks": [str(mine)], "set": SMALL}, "the plan: stacks: .*mine.toml:"),
        ({"set": {**SMALL, "ftl.gc.victim": "of-today"}}, "the plan: set.ftl.gc.victim:"),
        ({"set": SMALL, "axes": {"ftl.gc.victim": ["greedy", "of-today"]}}, "the plan: axes.ftl.gc.victim:"),
    ):
        with pytest.raises(nd.ConfigError, match=f"{place} ftl.gc.victim = of-today was registered"):
            nd.sweep(plan)


def test_a_sweep_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    plan = {**PLAN, "repetitions": 30, "axes": {}, "set": {**SMALL, "workload.requests": 100_000}}
    code = f"""
import nandarium as nd
try:
    nd.sweep({plan!r}, out={str(tmp_path)!r})
except KeyboardInterrupt:
    print("stopped")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("runs/*/*/run.json"))) < 3:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "stopped\n"
    kept = len(list(tmp_path.glob("runs/*/[!.]*/run.json")))
    heard: list[tuple[int, int]] = []
    assert nd.sweep(plan, out=tmp_path, progress=lambda *told: heard.append(told)).counts == {"complete": 60}
    assert 3 <= kept <= heard[0][0] < 60


def busy(work: Callable[[], object]) -> float:
    """Cores that this process keeps busy while it works, all its threads together."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - used) / (time.perf_counter() - started)


def two_threads_of_others() -> None:
    """Work on two threads that share nothing, not even the interpreter lock."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000), range(2)))


def test_a_sweep_on_two_threads_uses_two_cores() -> None:
    """Threads that wait for one lock keep one core busy at most, so that more than one tells them apart beside other programs.

    How much quicker two threads are, `python/costs.py` measures on a quiet machine.
    """
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this process may use one core only")
    plan: dict[str, Any] = {"workloads": ["mixed"], "repetitions": 40, "set": {**SMALL, "workload.requests": 100_000}}
    assert busy(lambda: nd.sweep(plan, jobs=1)) <= 1.1
    had, free = 0.0, 0.0
    for _ in range(3):
        had = max(had, busy(lambda: nd.sweep(plan, jobs=2)))
        if had >= 1.2:
            return
        free = max(free, busy(two_threads_of_others))
    if free < 1.5:
        pytest.skip(f"other programs leave no more than {free:.2f} cores to two threads")
    pytest.fail(f"a sweep on two threads kept {had:.2f} cores busy, where {free:.2f} were free")
