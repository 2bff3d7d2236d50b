"""Runs from Python are runs of the command line."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import native, sets

import nandarium as nd
from nandarium import _nandarium


@pytest.mark.parametrize("stack", ["page", "fast", "tpm", "two-level", "raid5-ppc", "page+ftl.gc.victim=d-choices"])
def test_a_run_has_the_hash_of_the_command_line(stack: str, tiny: dict[str, Any]) -> None:
    if stack.startswith("raid"):
        tiny |= {"flash.channels": 4, "flash.dies_per_channel": 1, "stripe.cache.entries": 64, "stripe.in_flight": 16}
    run = nd.run(stack, "mixed", settings=tiny, requests=5000, seed=3, snapshots=False)
    said = native("run", "--stack", stack, "--workload", "mixed", "--requests", "5000", "--seed", "3", *sets(tiny))
    assert run.hash == said["hash"]
    # What lies over a stack is part of the stack in Python, and given beside it on the command line.
    apart = ("wall_s", "requests_per_wall_s", "provenance", *(["config_given"] if "+" in stack else []))
    same = {key for key in said if key not in apart}
    assert {key: run.data[key] for key in same} == {key: said[key] for key in same}
    assert list(run.data) == list(said)


def test_a_drive_that_does_not_fit_into_memory_does_not_end_the_interpreter() -> None:
    large = {"drive.capacity": "5TiB", "flash.page_size": "4KiB", "engine.contents": "stamp"}
    with pytest.raises(nd.ConfigError, match="drive.capacity = 5TiB: the tables of this drive take at least"):
        nd.run("page", "mixed", settings=large, requests=100)
    with pytest.warns(RuntimeWarning, match="no run was measured"):
        assert nd.sweep({"stacks": ["page"], "set": {**large, "workload.requests": 100}}).counts == {"no-memory": 1}


def test_a_stack_file_means_the_same_in_both(tmp_path: Path, tiny: dict[str, Any]) -> None:
    stack = nd.Stack("page", {**tiny, "ftl.gc.copyback": True}, description="a \"small\" drive")
    stack.save(tmp_path / "small.toml")
    again = nd.Stack.from_file(tmp_path / "small.toml")
    assert (again.base, again.settings, again.description) == (stack.base, stack.settings, stack.description)
    said = native("run", "--stack", str(tmp_path / "small.toml"), "--requests", "3000")
    assert nd.run(stack, requests=3000).hash == nd.run(tmp_path / "small.toml", requests=3000).hash == said["hash"]
    assert stack.resolved()["ftl.gc.copyback"] == "true"
    assert stack.shape().dies == 4


def test_everything_is_named(tiny: dict[str, Any]) -> None:
    assert {"page", "two-level", "hard"} <= set(nd.stacks())
    assert {"mixed", "zipf", "sample"} <= set(nd.workloads())
    assert "greedy" in nd.list_policies() and "mlc-4k" in nd.parts() and nd.formats()
    assert "write amplification" in nd.explain("waf").lower()
    with pytest.raises(KeyError, match="did you mean"):
        nd.explain("ftl.gc.victm")
    fields = {f"workload.{name}" for name in nd.Workload.__dataclass_fields__ if name != "name"}
    assert fields == {key for key in nd.keys() if key.startswith("workload.")}


def test_a_workload_sets_its_keys(tiny: dict[str, Any]) -> None:
    workload = nd.Workload("zipf", requests=2000, queue_depth=4, zipf_exponent=1.1, seed=9)
    run = nd.run("page", workload, settings=tiny)
    assert run.requests == 2000 and run.config["workload.zipf_exponent"] == "1.1"
    assert nd.run("page", workload, settings={**tiny, "workload.queue_depth": 8}).config["workload.queue_depth"] == "8"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"drive.capactiy": "8GiB"}, "did you mean `drive.capacity`"),
        ({"drive.capacity": 8}, "has no unit"),
        ({"ftl.gc.victim": "gredy"}, "greedy"),
        ({"flash.channels": 0}, "smallest value"),
    ],
)
def test_mistakes_have_the_words_of_the_command_line(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(nd.ConfigError, match=words) as caught:
        nd.run("page", settings=settings)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, nd.NandariumError)


def test_other_mistakes(tiny: dict[str, Any]) -> None:
    with pytest.raises(nd.ConfigError, match="did you mean `page`"):
        nd.run("pgae")
    with pytest.raises(nd.WorkloadError, match="did you mean `zipf`"):
        nd.run("page", "zpif", settings=tiny)
    with pytest.raises(nd.WorkloadError, match="read_share"):
        nd.run("page", nd.Workload("sequential-write", read_share="30%"), settings=tiny)
    with pytest.raises(TypeError, match="drive.capacity"):
        nd.run("page", settings={"drive.capacity": [1]})  # type: ignore[dict-item]
    with pytest.raises(nd.ConfigError, match=r"NAME\+key=value"):
        nd.run("page+fifo")


def test_an_empty_text_is_no_stack_and_no_workload(tiny: dict[str, Any]) -> None:
    """It ran the defaults."""
    for use in (lambda: nd.run(""), lambda: nd.run("+drive.capacity=1GiB"), lambda: nd.compare(["page", ""]), lambda: nd.Stack(""), lambda: nd.Stack.from_toml('extends = ""')):
        with pytest.raises(nd.ConfigError, match='the stack is an empty text; give a built-in one, for example "page"'):
            use()
    for workload in ("", nd.Workload("")):
        with pytest.raises(nd.WorkloadError, match="neither a built-in workload nor a file; `nandarium list workloads`"):
            nd.run("page", workload, settings=tiny)


def test_numbers_that_are_none_are_named(tiny: dict[str, Any]) -> None:
    for name, value in (("seed", 1.5), ("seed", "1"), ("requests", "many"), ("threads", "2")):
        run: Any = nd.compare if name == "threads" else nd.run
        with pytest.raises(TypeError, match=f"{name} is {value!r}; give a whole number"):
            run(["page"] if name == "threads" else "page", settings=tiny, **{name: value})
    for threads in (0, -1, 2**70):
        with pytest.raises(ValueError, match=f"threads is {threads}; a comparison runs on 1 to 1024 threads"):
            nd.compare(["page"], settings=tiny, threads=threads)
    assert nd.run("page", settings=tiny, requests=np.int64(100), seed=np.uint8(3)).requests == 100  # type: ignore[arg-type]


def test_an_operation_that_nobody_asked_for_has_no_latency(tiny: dict[str, Any]) -> None:
    """It was 0 ns: the fastest of all."""
    latency = nd.run("page", "sequential-write", settings=tiny, requests=2000).latency
    assert latency.write.count == 2000 and latency.write.p99 is not None
    for nothing in (latency.read, latency.trim, latency.flush):
        assert nothing == nd.Latency(0, *[None] * 8)
    table = nd.compare(["page"], "sequential-write", settings=tiny, requests=2000).table
    assert np.isnan(table["read_p99_ns"]).all() and not np.isnan(table["write_p99_ns"]).any()


def test_a_full_drive_has_its_result() -> None:
    full: dict[str, Any] = {"drive.capacity": "64MiB", "flash.channels": 1, "flash.dies_per_channel": 1, "flash.endurance": 3, "drive.precondition": "none"}
    with pytest.raises(nd.DriveFull, match="host writes") as caught:
        nd.run("page", nd.Workload("uniform-write", request_size="4KiB"), settings=full, requests=400_000)
    assert caught.value.result is not None and caught.value.result.requests > 0
    assert caught.value.result.status in ("worn-out", "drive-full")


def test_a_comparison_is_a_run_each(tmp_path: Path, tiny: dict[str, Any]) -> None:
    both = nd.compare(["page", "page+ftl.gc.victim=fifo"], "zipf", settings=tiny, requests=4000)
    assert [run.hash for run in both] == [nd.run(stack, "zipf", settings=tiny, requests=4000).hash for stack in ("page", "page+ftl.gc.victim=fifo")]
    assert "ratio" in str(both) and both.table["requests"].tolist() == [4000, 4000]
    both.report(tmp_path / "two.html")
    assert "ftl.gc.victim=fifo" in (tmp_path / "two.html").read_text(encoding="utf-8")
    with pytest.raises(nd.ConfigError):
        nd.compare(["page", "page+ftl.gc.victim=nothing"], settings=tiny)
    for alone in ("page", Path("mine.toml"), nd.Stack("page")):
        with pytest.raises(nd.ConfigError, match=r"stacks is `(page|mine.toml)` alone; compare takes a list, such as \["):
            nd.compare(alone, settings=tiny)  # type: ignore[arg-type]


def test_repetitions_tell_what_the_command_tells(tiny: dict[str, Any]) -> None:
    stacks = ["page", "page+flash.read_time=200us"]
    told = nd.compare(stacks, settings=tiny, requests=2000, seed=5, repetitions=3)
    iops = [nd.run("page", settings=tiny, requests=2000, seed=seed).iops or 0.0 for seed in (5, 6, 7)]
    assert told[0].repeated is not None and told[0].repeated["figures"][0]["mean"] == pytest.approx(sum(iops) / 3)
    [verdict] = told.verdicts
    assert "worse in" in verdict and "are means of 3 runs" in str(told) and f"verdict   {verdict[:40]}" in str(told)
    assert str(pickle.loads(pickle.dumps(told))) == str(told)
    said = native("compare", *stacks, *sets(tiny), "--requests", "2000", "--seed", "5", "--repetitions", "3")
    assert [result["repeated"] for result in said["results"]] == [result.repeated for result in told]
    for wrong in (0, 1001):
        with pytest.raises(ValueError, match="repetitions"):
            nd.compare(["page"], settings=tiny, repetitions=wrong)


def test_results_are_pickled(used: dict[str, Any], tmp_path: Path) -> None:
    both = nd.compare(["page", "page+ftl.gc.victim=fifo"], "mixed", settings=used, requests=4000)
    one, copy = both[0], pickle.loads(pickle.dumps(both[0]))
    assert copy.to_json() == one.to_json() and str(copy) == str(one) and copy.hash == one.hash and copy.wall_s == one.wall_s
    for name in ("series", "histogram", "blocks"):
        table, same = getattr(one, name), getattr(copy, name)
        assert list(table) == list(same) and all(np.array_equal(table[column], same[column], equal_nan=table[column].dtype.kind == "f") for column in table)
        assert all(same[column].flags.writeable == table[column].flags.writeable for column in table)
    assert (copy.addresses.writes == one.addresses.writes).all() and copy.latency == one.latency
    assert str(pickle.loads(pickle.dumps(both))) == str(both)
    copy.save(tmp_path / "out")
    assert len(pickle.dumps(one)) < 300_000
    assert pickle.loads(pickle.dumps(one.series))["time_ns"].tolist() == one.series["time_ns"].tolist()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(nd.run, "page", "mixed", settings=used, requests=4000).result().hash == one.hash
    with pytest.raises(nd.SimulationError, match="not a result of this build"):
        _nandarium.Outcome.restored(b"{}")


def test_a_full_drive_is_pickled_with_its_result() -> None:
    full: dict[str, Any] = {"drive.capacity": "64MiB", "flash.channels": 1, "flash.dies_per_channel": 1, "flash.endurance": 3, "drive.precondition": "none"}
    with pytest.raises(nd.DriveFull) as caught:
        nd.run("page", nd.Workload("uniform-write", request_size="4KiB"), settings=full, requests=400_000)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and copy.result.hash == caught.value.result.hash  # type: ignore[union-attr]


def test_results_become_files(tmp_path: Path, tiny: dict[str, Any]) -> None:
    run = nd.run("page", settings=tiny, requests=4000)
    run.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "result.json", "series.csv"]
    assert json.loads((tmp_path / "out/result.json").read_text()) == run.data
    assert (tmp_path / "out/result.json").read_text() == run.to_json()
    with pytest.raises(nd.SimulationError, match="could not be written"):
        run.report("/proc/nowhere/report.html")
    with pytest.raises(nd.SimulationError, match="/proc/.* could not be written"):
        run.save("/proc")


def test_the_interpreter_goes_on_during_a_run(used: dict[str, Any]) -> None:
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    nd.run("page", "mixed", settings=used, requests=400_000, snapshots=False)
    took = time.perf_counter() - started
    ended.set()
    thread.join()
    assert ticks > 100 * took, f"{ticks} ticks in {took:.2f} s"


def test_progress_is_told_and_may_end_a_run(used: dict[str, Any]) -> None:
    heard: list[tuple[str, int, int | None]] = []

    def tell(phase: str, done: int, total: int | None) -> None:
        heard.append((phase, done, total))
        if phase == "measuring":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        nd.run("page", "mixed", settings=used, requests=50_000_000, snapshots=False, progress=tell)
    assert heard[-1][0] == "measuring" and heard[-1][2] == 50_000_000


def test_snapshots_are_kept_where_one_says(tmp_path: Path, used: dict[str, Any]) -> None:
    first = nd.run("page", settings=used, requests=3000, snapshots=tmp_path)
    assert len(list(tmp_path.glob("*.nandstate"))) == 1
    assert nd.run("page", settings=used, requests=3000, snapshots=tmp_path).hash == first.hash
    assert nd.run("page", settings=used, requests=3000, snapshots=False).hash == first.hash


def test_eight_written_pages_have_no_write_amplification(tiny: dict[str, Any]) -> None:
    """It was 785.13, and the key figure."""
    few = nd.run("page", "uniform-write", settings={**tiny, "drive.precondition": "overwrite"}, requests=8, snapshots=False)
    assert (few.waf, few.waf_pages, few.waf_absent, few.waf_by_cause["gc"]) == (None, None, "too few writes", None)
    assert "no WAF: too few writes" in few._repr_html_() and "WAF none" in repr(few)
    half = nd.run("page", "uniform-write", settings={**tiny, "drive.precondition": "none", "workload.request_size": "2KiB"}, requests=500, snapshots=False)
    assert half.waf is not None and half.waf_pages is not None and half.waf > 1.9 * half.waf_pages and half.waf_absent is None


def test_reads_of_unwritten_pages_are_counted_apart(tiny: dict[str, Any]) -> None:
    run = nd.run("page", "mixed", settings={**tiny, "drive.precondition": "none"}, requests=2000, snapshots=False)
    unwritten = run.latency.unwritten_read
    assert unwritten.count > 0 and unwritten.max == 0 and run.latency.read.p50 is not None and run.latency.read.p50 > 0
    assert run.unwritten_read_share == unwritten.count / (unwritten.count + run.latency.read.count)
    assert run.series["unwritten_read_requests"].sum() == unwritten.count
    assert run.histogram["requests"][run.histogram["op"] == "unwritten_read"].sum() == unwritten.count
