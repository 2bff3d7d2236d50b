"""Requests from arrays, results as arrays and Arrow."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY, console, native, sets

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
    sample = Path(__file__).parents[2] / "crates/sim/simulator/samples/sqlite-git-ext4.csv.zst"
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


@pytest.mark.parametrize("kind", [np.uint8, np.int64], ids=["taken as it is", "converted"])
def test_a_buffer_that_is_used_again_does_not_change_requests_made_of_it(kind: Any, tiny: dict[str, Any]) -> None:
    """Columns of the right type were the caller's own arrays."""
    count = 100
    op, fua = np.ones(count, kind), np.zeros(count, np.uint8)
    first, sectors, arrival = np.arange(count, dtype=np.uint64) * 8, np.ones(count, np.uint32), np.arange(count, dtype=np.uint64)
    requests = nd.Requests(op, first, sectors, arrival, fua)
    before = {name: column.tolist() for name, column in requests.table.items()}
    for column in (op, first, sectors, arrival, fua):
        column[:] = 3
    assert {name: column.tolist() for name, column in requests.table.items()} == before
    assert nd.run("page", requests, settings=tiny).latency.write.count == count


def test_columns_that_were_checked_cannot_be_changed() -> None:
    for requests in (some(10), pickle.loads(pickle.dumps(some(10))), copy.deepcopy(some(10))):
        for column in (requests.op, requests.first_sector, requests.sectors, requests.arrival, requests.fua, *requests.table.values()):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                column.flags.writeable = True


def test_an_array_that_is_unlocked_again_does_not_change_requests_made_of_it() -> None:
    op = np.ones(3, np.uint8)
    op.flags.writeable = False
    requests = nd.Requests(op, np.zeros(3, np.uint64), np.ones(3, np.uint32))
    assert np.shares_memory(requests.op, requests.table["op"]), "a table of requests is no copy"
    op.flags.writeable = True
    op[:] = 0
    assert requests.table["op"].tolist() == [1, 1, 1]


def test_requests_are_pickled_before_and_after_a_run(tiny: dict[str, Any]) -> None:
    """After one they held what the simulator had made of them, which cannot be."""
    for requests in (some(), some(timed=False)):
        copies = [pickle.loads(pickle.dumps(requests)), copy.deepcopy(requests)]
        ran = nd.run("page", requests, settings=tiny).hash
        copies += [pickle.loads(pickle.dumps(requests)), copy.copy(requests)]
        assert {nd.run("page", each, settings=tiny).hash for each in copies} == {ran}
        assert all(each.name == "some" and len(each) == len(requests) for each in copies)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"op": ["raed"], "first_sector": [0], "sectors": [1]}, "did you mean `read`"),
        ({"op": [7], "first_sector": [0], "sectors": [1]}, r"op\[0\] is 7"),
        ({"op": [0.5], "first_sector": [0], "sectors": [1]}, "op is of float64"),
        ({"op": np.array([1, 0], object), "first_sector": [0, 8], "sectors": [1, 1]}, r"op is of object, and op\[0\] is 1; give texts \(read, .*\), or codes from 0 to 3 .*astype\(\"uint8\"\)"),
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


def test_no_column_of_a_table_can_be_changed() -> None:
    """Texts were in arrays that could be unlocked, and a table that a result keeps took new columns."""
    texts, numbers = np.array(["a", "bc"]), np.array([1.5, 2.5])
    table = nd.Table({"name": texts, "real": numbers})
    texts[0], numbers[0] = "z", 0.0
    swept = nd.sweep({"set": {**TINY, "workload.requests": 100}})
    changes: list[Callable[[Any], object]] = [
        lambda one: one.__setitem__("new", [1, 2]),
        lambda one: one.__delitem__(next(iter(one))),
        lambda one: one.update(new=[1]),
        lambda one: one.pop(next(iter(one))),
        lambda one: one.popitem(),
        lambda one: one.clear(),
        lambda one: one.setdefault("new", [1]),
        lambda one: one.__ior__({"new": [1]}),
    ]
    for tables in (table, pickle.loads(pickle.dumps(table)), copy.deepcopy(table), swept.runs, swept.combinations):
        for column in tables.values():
            with pytest.raises(ValueError, match="WRITEABLE"):
                column.flags.writeable = True
            with pytest.raises(ValueError, match="read-only"):
                column[:1] = column[1:]
        for change in changes:
            with pytest.raises(TypeError, match=r"dict\(table\) makes a copy that can be changed"):
                change(tables)
    assert table["name"].tolist() == ["a", "bc"] and table["real"].tolist() == [1.5, 2.5]
    assert list(table | {"new": 1}) == list(dict(table, new=1)) == ["name", "real", "new"]
    own = table.copy()
    own["new"] = texts
    assert list(table) == ["name", "real"]


def test_data_frames_take_tables_as_they_are(tiny: dict[str, Any]) -> None:
    run = nd.run("page", "mixed", settings=tiny, requests=4000)
    tables = [run.series, run.histogram, run.blocks, nd.compare(["page"], settings=tiny, requests=100).table, some().table]
    polars = pytest.importorskip("polars")
    for table in tables:
        frame = polars.DataFrame(table)
        assert frame.columns == list(table) and frame.height == table.rows
        for name, column in table.items():
            # Where there was no request there is no latency: NaN, which is no equal of itself.
            np.testing.assert_array_equal(np.asarray(frame[name].to_list()), column)


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
