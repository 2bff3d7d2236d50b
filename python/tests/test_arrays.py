"""Requests from arrays, results as arrays and Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import console, native, sets

import nandarium as nd


def some(count: int = 3000, *, timed: bool = True) -> nd.Requests:
    rng = np.random.default_rng(5)
    op = rng.choice(["read", "write", "write", "trim", "flush"], count)
    sectors = np.where(op == "flush", 0, rng.integers(1, 17, count))
    first = np.where(op == "flush", 0, rng.integers(0, 100_000, count))
    arrival = np.cumsum(rng.integers(0, 50_000, count)) if timed else None
    if arrival is not None:
        arrival -= arrival[0]  # as a trace is read
    return nd.Requests(op, first, sectors, arrival, fua=(op == "write") & (rng.random(count) < 0.1), name="some")


def test_arrays_are_the_trace_they_came_from(tmp_path: Path, tiny: dict[str, Any]) -> None:
    requests = some()
    table = requests.table
    assert native_header() == "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns"
    columns = zip(table["arrival"], np.array(list("RWTF"))[table["op"]], table["first_sector"], table["sectors"], table["fua"], strict=True)
    lines = [f"{time},0,{op},{512 * first},{512 * sectors},{fua}," for time, op, first, sectors, fua in columns]
    trace = tmp_path / "some.csv"
    trace.write_text("\n".join([native_header(), *lines]) + "\n")
    run = nd.run("page", requests, settings=tiny)
    assert run.workload == "some" and run.requests == len(requests) == 3000
    said = native("run", "--stack", "page", "--workload", str(trace), *sets(tiny))
    assert run.hash == said["hash"]
    assert said["workload"]["loop"] == run.data["workload"]["loop"] == "open"


def native_header() -> str:
    """The header of the project's own format, from the program itself."""
    sample = Path(__file__).parents[2] / "samples/sqlite-git-ext4.csv.zst"
    return console("trace", "head", str(sample), "-n", "1").stdout.splitlines()[0]


def test_without_times_the_loop_is_closed(tiny: dict[str, Any]) -> None:
    run = nd.run("page", some(timed=False), settings={**tiny, "workload.queue_depth": 4})
    assert run.data["workload"] == {"name": "some", "loop": "closed", "queue_depth": 4}
    assert nd.run("page", some(timed=False), settings=tiny, requests=100).requests == 100


def test_codes_and_names_are_the_same(tiny: dict[str, Any]) -> None:
    ones = np.ones(4, np.int64)
    named = nd.Requests(["read", "write", "trim", "write"], 8 * np.arange(4), ones)
    coded = nd.Requests([0, 1, 2, 1], 8 * np.arange(4), ones)
    assert named.op.tolist() == coded.op.tolist() == [0, 1, 2, 1]  # type: ignore[union-attr]
    assert nd.run("page", named, settings=tiny).hash == nd.run("page", coded, settings=tiny).hash


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"op": ["raed"], "first_sector": [0], "sectors": [1]}, "did you mean `read`"),
        ({"op": [7], "first_sector": [0], "sectors": [1]}, r"op\[0\] is 7"),
        ({"op": [0.5], "first_sector": [0], "sectors": [1]}, "op is of float64"),
        ({"op": [0], "first_sector": [0.5], "sectors": [1]}, "first_sector is of float64"),
        ({"op": [0, 0], "first_sector": [0, -1], "sectors": [1, 1]}, r"first_sector\[1\] is -1"),
        ({"op": [0], "first_sector": [0], "sectors": [2**32]}, r"sectors\[0\] is 4294967296"),
        ({"op": [0, 1], "first_sector": [0], "sectors": [1]}, "one length"),
        ({"op": [[0]], "first_sector": [0], "sectors": [1]}, r"shape \(1, 1\)"),
        ({"op": [0], "first_sector": [0], "sectors": [1], "fua": [3]}, "fua is of int64"),
        ({"op": [], "first_sector": [], "sectors": []}, "no request"),
        ({"op": [0, 1], "first_sector": np.ma.array([0, 8], mask=[False, True]), "sectors": [1, 1]}, "first_sector is a masked array, and 1 of its values are masked"),
        ({"op": np.ma.array(["read", "write"], mask=[True, True]), "first_sector": [0, 8], "sectors": [1, 1]}, r"op is a masked array.*column\[~op.mask\]"),
    ],
)
def test_wrong_columns_are_named(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(nd.WorkloadError, match=words):
        nd.Requests(**columns)


def test_a_masked_array_without_a_masked_value_is_an_array() -> None:
    assert nd.Requests([0], np.ma.array([8], mask=[False]), [1]).first_sector == [8]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"op": [0], "first_sector": [0], "sectors": [0]}, "request 0 .* has no sectors"),
        ({"op": [3], "first_sector": [0], "sectors": [1]}, "flush"),
        ({"op": [0], "first_sector": [10**9], "sectors": [1]}, "begins at sector 1000000000"),
        ({"op": [0, 0], "first_sector": [0, 0], "sectors": [1, 1], "arrival": [5, 4]}, "arrives at 4 ns"),
    ],
)
def test_what_a_drive_cannot_serve_is_said_before_it_runs(columns: dict[str, Any], words: str, tiny: dict[str, Any]) -> None:
    with pytest.raises(nd.WorkloadError, match=words):
        nd.run("page", nd.Requests(**columns), settings=tiny)


def test_settings_for_other_workloads_are_refused(tiny: dict[str, Any]) -> None:
    with pytest.raises(nd.WorkloadError, match="workload.read_share has no effect"):
        nd.run("page", some(), settings={**tiny, "workload.read_share": "50%"})


def test_a_result_is_arrays(used: dict[str, Any]) -> None:
    run = nd.run("page", "mixed", settings=used, requests=30_000)
    series = run.series
    assert list(series) == list(run.data["series"]["columns"])
    assert all(column.dtype == np.float64 and len(column) == series.rows for column in series.values())
    assert series["read_requests"].sum() + series["write_requests"].sum() == 30_000
    assert series["time_ns"][1] == run.interval_ns == run.data["series"]["interval_ns"]
    for table in (series, run.histogram, run.blocks):
        for column in table.values():
            with pytest.raises(ValueError, match="read-only"):
                column[0] = column[1]
    histogram = run.histogram
    of_reads = histogram["op"] == "read"
    assert histogram["requests"][of_reads].sum() == run.latency.read.count
    assert histogram["latency_ns"][of_reads].max() == run.latency.read.max
    assert run.blocks.rows == run.counters["flash.blocks"] and run.blocks["erases"].max() == run.wear.max
    assert run.addresses.reads.sum() + run.addresses.writes.sum() == 30_000
    assert run.waf == pytest.approx(run.waf_by_cause["total"]) and run.iops == run.data["iops"]
    assert set(run.waiting) == {"all", "p99", "p999"} and run.flash["erases"]["total"] > 0
    assert run.latency.read.p50 is not None and run.latency.read.p50 <= run.latency.read.p99  # type: ignore[operator]


def test_tables_speak_arrow_without_a_library() -> None:
    table = nd.Table({"name": ["a", "bc"], "real": [0.5, 1.5], "whole": np.array([1, 2**63], np.uint64), "on": np.array([True, False])})
    for _ in range(100):
        schema, array = table.__arrow_c_array__()
        stream = table.__arrow_c_stream__()
        assert "arrow_schema" in repr(schema) and "arrow_array" in repr(array) and "arrow_array_stream" in repr(stream)
        assert "arrow_schema" in repr(table.__arrow_c_schema__())
    with pytest.raises(ValueError, match="one length"):
        nd.Table({"a": [1], "b": [1, 2]})


def test_data_frames_take_tables_as_they_are(tiny: dict[str, Any]) -> None:
    run = nd.run("page", "mixed", settings=tiny, requests=4000)
    tables = [run.series, run.histogram, run.blocks, nd.compare(["page"], settings=tiny, requests=100).table, some().table]
    polars = pytest.importorskip("polars")
    for table in tables:
        frame = polars.DataFrame(table)
        assert frame.columns == list(table) and frame.height == table.rows
        for name, column in table.items():
            assert frame[name].to_list() == column.tolist()


def test_pandas_takes_tables(tiny: dict[str, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    run = nd.run("page", "mixed", settings=tiny, requests=4000)
    frame = pandas.DataFrame(run.histogram)
    assert list(frame.columns) == ["op", "latency_ns", "requests"] and len(frame) == run.histogram.rows
    again = nd.Requests(**{name: column for name, column in pandas.DataFrame(some().table).items()}, name="some")
    assert nd.run("page", again, settings=tiny).hash == nd.run("page", some(), settings=tiny).hash


def test_duckdb_takes_tables(tiny: dict[str, Any]) -> None:
    duckdb = pytest.importorskip("duckdb")
    histogram = nd.run("page", "mixed", settings=tiny, requests=4000).histogram
    assert duckdb.sql("select distinct op from histogram order by op").fetchall() == [("read",), ("write",)]
    assert duckdb.sql("select sum(requests) from histogram").fetchall() == [(4000,)]
