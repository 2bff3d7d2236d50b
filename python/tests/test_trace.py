"""What is said of a trace is what the command line says."""

from __future__ import annotations

import pickle
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import console, program, sets

import nandarium as nd

ROWS = "time_ns,device,op,offset_bytes,length_bytes\n0,0,R,0,4096\n1000,0,W,4096,8192\n5000,1,T,0,4096\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "small.nandarium"
    path.write_text(ROWS)
    return path


def test_a_trace_is_summed_up_as_by_the_command(trace: Path) -> None:
    info = nd.trace_info(trace)
    assert info.to_json() == console("trace", "info", str(trace), "--json").stdout
    assert str(info) == console("trace", "info", str(trace)).stdout
    assert (info.format, info.records, info.duration_ns) == ("nandarium", 3, 5000)
    assert [(op.op, op.records) for op in info.ops][:2] == [("read", 1), ("write", 1)]
    assert info.sizes is not None and info.sizes.bytes_max == info["sizes"]["bytes_max"] == 8192
    assert len(info.devices) == 2


def test_what_is_absent_is_none(tmp_path: Path) -> None:
    path = tmp_path / "one.nandarium"
    path.write_text(ROWS.splitlines()[0] + "\n0,0,F,0,0\n")
    info = nd.trace_info(path)
    assert info.sizes is None and info.inter_arrival_ns_mean is None


def test_it_is_read_like_a_dict_and_cannot_be_changed(trace: Path) -> None:
    info = nd.trace_info(trace, "nandarium", order="error")
    assert dict(info)["records"] == info.get("records") == 3 and "records" in info and "records" in dir(info)
    for record in (info, info.ops[0]):
        with pytest.raises(AttributeError, match="cannot be set"):
            record.records = 4
    with pytest.raises(AttributeError, match="has no `recrods`; there is format, records"):
        info.recrods
    copy = pickle.loads(pickle.dumps(info))
    assert copy == info and str(copy) == str(info) and copy.sizes == info.sizes
    assert pickle.loads(pickle.dumps(info.sizes)) == info.sizes
    assert "3 requests in 5.00" in info._repr_html_()


def test_mistakes_have_the_words_of_the_command_line(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(nd.WorkloadError, match="nowhere"):
        nd.trace_info(tmp_path / "nowhere")
    with pytest.raises(nd.WorkloadError, match="spcc"):
        nd.trace_info(trace, "spcc")
    with pytest.raises(nd.WorkloadError, match="order is `srot`; give error, clamp, sort or whole"):
        nd.trace_info(trace, order="srot")
    trace.write_text(ROWS + "0,0,R,0,4096\n")
    with pytest.raises(nd.WorkloadError, match="line 5"):
        nd.trace_info(trace)
    assert nd.trace_info(trace, order="sort").records == 4


def test_odd_lines_are_left_out_and_told(trace: Path) -> None:
    trace.write_text(ROWS + "an odd line\n")
    info = nd.trace_info(trace, "nandarium")
    assert info.records == 3 and info.statistics.dropped_odd == 1
    assert info.odd_line is not None and info.odd_line.place == "line 5"
    assert info.notes[0].startswith("1 odd line was left out: line 5")
    for strict in (0, "0%"):
        with pytest.raises(nd.WorkloadError, match="line 5"):
            nd.trace_info(trace, "nandarium", odd_lines=strict)
    with pytest.raises(nd.WorkloadError, match="workload.odd_lines = many"):
        nd.trace_info(trace, "nandarium", odd_lines="many")


def test_tables_and_archives_are_read_by_what_the_caller_says(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("when;rw;sector;n\n" + "".join(f"{row};w;{row * 8};8\n" for row in range(100)))
    columns = "time=when:ms,op=rw,offset=sector:sectors,size=n:sectors"
    info = nd.trace_info(table, columns=columns)
    assert (info.format, info.records, info.duration_ns) == ("columns", 100, 99_000_000)
    with pytest.raises(nd.WorkloadError, match="no column is called lba; the header of .* has when, rw, sector, n"):
        nd.trace_info(table, columns=columns.replace("sector:", "lba:"))
    archive = tmp_path / "set.tgz"
    with tarfile.open(archive, "w:gz") as files:
        files.add(table, "set/mine.csv")
        files.add(table, "set/other.csv")
    assert nd.trace_info(archive, columns=columns, member="mine.csv").records == 100
    with pytest.raises(nd.WorkloadError, match="2 files .set/mine.csv, set/other.csv."):
        nd.trace_info(archive, columns=columns)
    workload = nd.Workload(str(archive), columns=columns, member="set/mine.csv")
    assert nd.run("page", workload, settings={"drive.capacity": "1GiB"}).requests == 100


def test_requests_of_a_workload_are_written_as_by_the_command(tmp_path: Path, tiny: dict[str, Any]) -> None:
    said, out = tmp_path / "said.csv", tmp_path / "out.csv"
    command = [program(), "trace", "convert", "zipf", *sets(tiny), "--requests", "500", "--seed", "3", "--out", str(said)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    notes = nd.trace_convert("zipf", out, settings=tiny, requests=500, seed=3)
    assert out.read_text() == said.read_text() and done.stderr == "".join(f"note: {note}\n" for note in notes)
    alike = nd.Workload("zipf", requests=500, seed=3, interarrival="100us")
    assert len(nd.trace_convert(alike, out, stack=nd.Stack("page", settings=tiny))) == 1
    info = nd.trace_info(out)
    assert info.records == 500 and info.inter_arrival_ns_mean is not None and 80e3 < info.inter_arrival_ns_mean < 120e3


def test_a_run_of_the_file_is_a_run_of_the_workload(tmp_path: Path, tiny: dict[str, Any]) -> None:
    out, counted = tmp_path / "out.csv", {**tiny, "engine.time": "none"}
    nd.trace_convert("mixed", out, settings=counted, requests=3000, seed=3)
    runs = [nd.run("page", workload, settings=counted, seed=3, requests=3000, snapshots=False) for workload in ("mixed", out)]
    assert runs[0].hash == runs[1].hash


def test_a_trace_is_converted_and_what_has_no_effect_is_refused(trace: Path, tmp_path: Path, tiny: dict[str, Any]) -> None:
    out = tmp_path / "out.csv"
    assert nd.trace_convert(nd.Workload(str(trace), format="nandarium", odd_lines=3), out) == ()
    assert [row.split(",")[:5] for row in out.read_text().splitlines()] == [row.split(",") for row in ROWS.splitlines()]
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: nd.trace_convert("zipf", out), "--set drive.capacity=64GiB"),
        (lambda: nd.trace_convert("zpif", out), "did you mean `zipf`"),
        (lambda: nd.trace_convert(trace, out, seed=3), "seed has no effect on the file written from the trace"),
        (lambda: nd.trace_convert(nd.Workload(str(trace), repeat=2), out), "workload.repeat has no effect"),
        (lambda: nd.trace_convert(nd.Workload("zipf", repeat=2), out, settings=tiny), "workload.repeat has no effect"),
    )
    for call, match in calls:
        with pytest.raises(nd.WorkloadError, match=match):
            call()
    with pytest.raises(ValueError, match="out is empty"):
        nd.trace_convert("zipf", "", settings=tiny)
