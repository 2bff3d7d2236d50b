"""The plugin for pytest, as a project of others uses it: found by its entry point, without an import."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
from documents import ROOT, blocks

DRIVE = '{"drive.capacity": "64MiB", "flash.channels": 2, "flash.dies_per_channel": 2, "flash.pages_per_block": 64}'


def outcome_of(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_mine.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_mine.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_limit_reads_well_and_its_failure_shows_the_result(tmp_path: Path) -> None:
    done = outcome_of(
        tmp_path,
        f"""
def test_holds(nandarium):
    assert nandarium.run("page", "zipf", settings={DRIVE}, requests=5000).write.p99_us > 0


def test_misses(nandarium):
    result = nandarium.run("page", "zipf", settings={DRIVE}, requests=5000)
    assert result.write.p99_us < 1


def test_of_two(nandarium):
    both = nandarium.compare(["page", "dftl"], "zipf", settings={DRIVE}, requests=5000)
    assert both[1].waf < both[0].waf / 100
""",
    )
    assert done.returncode == 1 and "2 failed, 1 passed" in done.stdout, done.stdout
    assert re.search(r"assert [\d.]+ < 1\n.* where [\d.]+ = Latency\(.*\)\.p99_us\n", done.stdout), done.stdout
    assert done.stdout.count("- nandarium -") == 2 and "write latency p99" in done.stdout and "page under zipf" in done.stdout


def test_a_drive_is_served_and_its_power_is_cut(tmp_path: Path) -> None:
    done = outcome_of(
        tmp_path,
        f"""
import subprocess
import pytest

pytestmark = pytest.mark.nandarium(stack="page", settings={DRIVE})


def read(drive):
    return subprocess.run(["nbdcopy", drive.uri, "-"], check=True, capture_output=True).stdout[:4]


def test_a_flush_lasts(nandarium_drive):
    subprocess.run(["nbdcopy", "--flush", "-", nandarium_drive.uri], input=b"data" * 1024, check=True)
    nandarium_drive.cut(seed=3)
    assert read(nandarium_drive) == b"data"
    assert nandarium_drive.ctl("smart")["since_start"]["power_cuts"] == 1


def test_a_flush_fails_once(nandarium_drive):
    nandarium_drive.fault("fail flushes count 1")
    assert subprocess.run(["nbdcopy", "--flush", "-", nandarium_drive.uri], input=b"data" * 1024, capture_output=True).returncode != 0
    subprocess.run(["nbdcopy", "--flush", "-", nandarium_drive.uri], input=b"data" * 1024, check=True)
    assert [entry.get("op") for entry in nandarium_drive.fault_log()] == [None, "flush"]
    assert nandarium_drive.fault_log(1)[0]["kind"] == "fail"
    with pytest.raises(ValueError, match="is not a kind of fault"):
        nandarium_drive.fault("lie")


def test_misses(nandarium_drive):
    with pytest.raises(ValueError, match="jump"):
        nandarium_drive.ctl("jump")
    assert nandarium_drive.ctl("smart")["since_start"]["power_cuts"] == 5
""",
        "--strict-markers",
    )
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("- nandarium drive -") == 1 and '"power_cuts": 0' in done.stdout


def test_a_drive_that_cannot_begin_is_an_error_with_its_words(tmp_path: Path) -> None:
    done = outcome_of(tmp_path, 'import pytest\n\n@pytest.mark.nandarium(settings={"drive.capactiy": "1GiB"})\ndef test_it(nandarium_drive): pass\n')
    assert "1 error" in done.stdout and "did you mean `drive.capacity`" in done.stdout


SERVED = f"""
import os, time, pytest

@pytest.mark.nandarium(stack="page", settings={DRIVE})
def test_waits(nandarium_drive):
    child = os.fork()
    if child == 0:
        try:
            time.sleep(60)  # with a copy of each pipe of its parent
        finally:
            os._exit(0)
    with open("made", "w") as file:
        file.write(str(child))
    os.rename("made", "ready")
    time.sleep(60)
"""
# A folder is there at the time of the first progress.
SWEPT = f"""
import time, nandarium as nd

def ready(done, runs):
    open("ready", "w").close()
    time.sleep(60)

if __name__ == "__main__":
    nd.sweep({{"stacks": ["page"], "set": {DRIVE}}}, progress=ready)
"""
COMMANDS = """
import nandarium as nd
nd.torture("touch ready; sleep 60", "true", settings={"drive.capacity": "64MiB"})
"""


def with_temporary(folder: Path) -> set[int]:
    """The processes with this folder for their temporary files."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}\0".encode() in (process / "environ").read_bytes():
                found.add(int(process.name))
        except OSError:
            pass  # it has ended, or it is of another user
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["killed", "terminated", "interrupted"])
@pytest.mark.parametrize("text", [SERVED, SWEPT, COMMANDS], ids=["served", "swept", "commands"])
def test_a_process_that_ends_early_leaves_no_process_and_no_file(text: str, how: signal.Signals, tmp_path: Path) -> None:
    scratch, ready = tmp_path / "tmp", tmp_path / "ready"
    scratch.mkdir()
    (tmp_path / "test_mine.py").write_text(text)
    command = ["-m", "pytest", "-p", "no:cacheprovider", "test_mine.py"] if text is SERVED else ["test_mine.py"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, *command], cwd=tmp_path, env=environment, stdout=said, stderr=said, start_new_session=True)
    try:
        end = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < end, (tmp_path / "said").read_text()
            time.sleep(0.02)
        own = {int(number) for number in ready.read_text().split()}
        assert any(scratch.iterdir()) and len(with_temporary(scratch)) > 1
        # Ctrl-C reaches the whole group, and other signals one process.
        (os.killpg if how is signal.SIGINT else os.kill)(process.pid, how)
        process.wait(timeout=30)
        end = time.monotonic() + 10
        while (left := [*(with_temporary(scratch) - own), *scratch.iterdir()]) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_the_guide_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/ci.md").read_text(encoding="utf-8")
    examples = [block.body for block in blocks(page) if block.file == "test_drive.py"]
    assert len(examples) == 1
    (tmp_path / "test_drive.py").write_text(examples[0])
    (command,) = [block.body for block in blocks(page) if "--junitxml" in block.body]

    def tested() -> tuple[int, ElementTree.Element]:
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTEST_ADDOPTS": "--strict-markers -p no:cacheprovider"}
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, ElementTree.parse(tmp_path / "report.xml").getroot()

    code, report = tested()
    names = ["test_commits_are_fast", "test_a_flush_survives_a_power_cut", "test_a_log_keeps_its_promises"]
    assert code == 0 and [case.get("name") for case in report.iter("testcase")] == names
    assert not list(report.iter("failure")) and not list(report.iter("error"))
    # The log without its flush.
    (tmp_path / "test_drive.py").write_text(examples[0].replace("            disk.flush()\n", ""))
    code, report = tested()
    (failure,) = report.iter("failure")
    assert code == 1 and re.search(r"FAILS in state \d+: AssertionError: record \d+ is gone", failure.text or ""), failure.text
