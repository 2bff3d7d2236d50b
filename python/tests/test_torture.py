"""Power loss under functions and commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import nandarium as nd
import pytest

SAMPLES = Path(__file__).parents[2] / "samples" / "torture"
RECORDS = 20


def record(number: int) -> bytes:
    return b"%08d" % number * 128


def append(disk: nd.Disk) -> None:
    for number in range(RECORDS):
        disk.write(number * 1024, record(number))
        disk.flush()
        disk.say(str(number))


def careless(disk: nd.Disk) -> None:
    for number in range(RECORDS):
        disk.write(number * 1024, record(number))
        disk.say(str(number))
    disk.flush()


def verify(disk: nd.Disk, said: list[str]) -> None:
    for number in range(len(said)):
        assert disk.read(number * 1024, 1024) == record(number), f"record {number} is gone"


def test_a_log_that_flushes_holds_and_one_that_does_not_is_caught(tmp_path: Path) -> None:
    held = nd.torture(append, verify, states=5000)
    assert held and held.states == 5000 and 0 < held.checked < 5000 and held.failure is None
    caught = nd.torture(careless, verify, out=tmp_path / "out")
    assert not caught and caught.failure is not None
    assert caught.failure["why"].startswith("AssertionError: record ")
    assert len(caught.failure["lost"]) == 1, "one record is enough"
    assert (tmp_path / "out" / "torture.json").is_file() and "power goes" in (tmp_path / "out" / "torture.html").read_text()
    again = nd.torture(careless, verify, replay=caught.failure["state"])
    assert again.failure == caught.failure


def test_cuts_within_a_drive_and_a_die_that_goes_with_the_power() -> None:
    settings: dict[str, nd.Value] = {
        "drive.capacity": "32MiB",
        "flash.channels": 4,
        "flash.dies_per_channel": 1,
        "flash.pages_per_block": 32,
        "drive.over_provisioning": "200%",
    }
    for stack, wanted in [("raid5-ppc", True), ("page", False)]:
        found = nd.torture(append, verify, cuts="drive", stack=stack, settings=settings, faults=["die 1"], states=100)
        assert found.holds == wanted, found.text


def test_lies_by_name() -> None:
    assert not nd.torture(append, verify, lies=["ignore-flush"])
    assert nd.torture(append, verify, lies=["early-fua"])


def test_a_check_may_write_and_nothing_of_it_goes_on() -> None:
    def recover(disk: nd.Disk, said: list[str]) -> None:
        verify(disk, said)
        disk.write(0, bytes(512 * RECORDS))
        disk.trim(0, 512)
        disk.flush()
        assert disk.read(0, 512) == bytes(512)

    assert nd.torture(append, recover, states=300)


def test_whatever_a_check_raises_is_a_verdict_and_threads_may_write() -> None:
    def fails(disk: nd.Disk, said: list[str]) -> None:
        if len(said) < RECORDS:
            pytest.fail("not all of it")

    def exits(disk: nd.Disk, said: list[str]) -> None:
        if len(said) < RECORDS:
            sys.exit("not all of it")

    def threaded(disk: nd.Disk) -> None:
        thread = threading.Thread(target=append, args=(disk,))
        thread.start()
        thread.join()
        disk.write(1 << 20, memoryview(bytearray(512)))

    for check in (fails, exits):
        found = nd.torture(threaded, check)
        assert found.failure is not None and "not all of it" in found.failure["why"], found.text
    assert nd.torture(threaded, verify).requests == 2 * RECORDS + 1


def test_trims_mean_the_same_everywhere() -> None:
    def workload(disk: nd.Disk) -> None:
        disk.write(0, b"x" * 8192, True)
        disk.trim(0, 512)
        disk.trim(4096, 4096)
        disk.flush()
        disk.say(str(disk.read(0, 512)[0]))
        disk.write(65536, bytes(512))

    def check(disk: nd.Disk, said: list[str]) -> None:
        assert not said or disk.read(0, 512)[0] == int(said[0]), "a part of a piece is otherwise than it was read"
        assert not said or disk.read(4096, 4096) == bytes(4096), "a whole piece is back"

    assert nd.torture(workload, check)
    assert nd.torture(workload, check, cuts="drive", states=300)


def test_what_cannot_be_is_told() -> None:
    kept: list[nd.Disk] = []

    def keep(disk: nd.Disk) -> None:
        kept.append(disk)
        append(disk)

    def interrupted(disk: nd.Disk, said: list[str]) -> None:
        raise KeyboardInterrupt

    assert nd.torture(keep, verify, states=1)
    with pytest.raises(ValueError, match="has ended"):
        kept[0].flush()
    for problem, options in [
        ("whole sectors", {"bytes": 1000}),
        ("in memory", {"bytes": 1 << 50}),
        ("power of two", {"atomic": 1000}),
        ("keeps its own promise", {"atomic": 4096, "cuts": "drive"}),
        ("cuts is 'x'", {"cuts": "x"}),
        ("lies are", {"lies": ["x"]}),
        ("a guarantee is", {"guarantee": "x"}),
        ('add cuts="drive"', {"faults": ["die 1"]}),
        ("not a kind of fault", {"faults": ["dye 1"], "cuts": "drive"}),
        ("belong to commands", {"mount": "ext4"}),
        ("belong to commands", {"recording": "kept"}),
        ("belongs to commands", {"jobs": 2}),
        ("jobs is 0; checks run on 1 to", {"jobs": 0}),
    ]:
        with pytest.raises(ValueError, match=problem):
            nd.torture(append, verify, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="written nothing"):
        nd.torture(lambda disk: disk.flush(), verify)
    with pytest.raises(ValueError, match="without any cut"):
        nd.torture(append, lambda disk, said: disk.read(512, 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="multiples of a sector"):
        nd.torture(lambda disk: disk.write(1, b"x"), verify)
    # It was taken for content.
    with pytest.raises(TypeError, match="the check returned False"):
        nd.torture(append, lambda disk, said: False)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        nd.torture(append, interrupted)
    with pytest.raises(TypeError, match="two functions or two commands"):
        nd.torture(append, "true")
    with pytest.raises(ValueError, match="none of ext4"):
        nd.torture("true", "true", mount="ext5")
    with pytest.raises(nd.SimulationError, match="written nothing"):
        nd.torture("true", "true")
    with pytest.raises(ValueError, match="kept in memory"):
        nd.torture("true", "true", settings={"drive.capacity": "32GiB"})


WRITE = "qemu-io -f raw -c 'write -P 7 0 64k' -c flush \"$NANDARIUM_URI\" > /dev/null && echo all of it"
FIRST = "qemu-io -f raw -c 'read -P 7 0 512' \"$NANDARIUM_URI\" | grep -q failed && echo it is gone && exit 1; true"


def test_commands_run_in_this_process_and_their_recording_is_taken_again(tmp_path: Path) -> None:
    found = nd.torture(WRITE, FIRST, states=40, out=tmp_path / "out")
    assert found.failure is not None and found.failure["why"].startswith("it is gone"), found.text
    assert f"recording={str(tmp_path / 'out' / 'recording')!r}".replace("'", '"') in found.text
    recording, number = tmp_path / "out" / "recording", found.failure["state"]
    again = nd.torture("exit 1", FIRST, recording=recording, replay=number, out=tmp_path / "out")
    assert again.failure is not None and again.failure["lost"] == found.failure["lost"]
    assert (tmp_path / "out" / "earlier" / "1" / "after.img").is_file(), "what was there before is kept"


def test_a_command_ends_with_ctrl_c_and_no_other_child_of_this_process_does() -> None:
    own = subprocess.Popen(["sleep", "600"])
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        nd.torture("sleep 600", "true", settings={"drive.capacity": "64MiB"})
    assert own.poll() is None, "it is no child of a command"
    own.kill()
    own.wait()


def test_the_fixture_passes_what_holds_and_fails_what_does_not(torture: Callable[..., nd.Tortured]) -> None:  # noqa: F811
    assert torture(append, verify).states == 1000
    with pytest.raises(pytest.fail.Exception, match="FAILS in state"):
        torture(careless, verify)


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="mounting takes root and a loop device")
@pytest.mark.parametrize(("store", "states"), [("lmdb", 60), ("rocksdb", 30), ("duckdb", 8)])
def test_a_store_keeps_what_it_answered_and_without_syncs_it_does_not(store: str, states: int) -> None:
    def run(how: str, states: int) -> nd.Tortured:
        command = f"{sys.executable} {SAMPLES / 'stores.py'} {store}"
        return nd.torture(
            f"{command} append {how}",
            f"{command} verify",
            prepare=f"{command} prepare",
            mount="ext4",
            atomic=4096,
            states=states,
        )

    held = run("durable", states)
    assert held, held.text
    assert not run("careless", 500), "it is lost, or so damaged that the store cannot be read"


def in_process(sample: str, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of a sample that needs no mount."""
    done = subprocess.run([sys.executable, SAMPLES / sample, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, done.stdout


def test_sqlite_on_a_disk_in_the_process_keeps_what_its_manual_says() -> None:
    for journal in ("WAL", "PERSIST"):
        code, told = in_process("sqlite_in_process.py", journal, "FULL", "2000")
        assert code == 0, told
        code, told = in_process("sqlite_in_process.py", journal, "NORMAL", "2000")
        assert code == 3 and "commits were answered" in told, told
        code, told = in_process("sqlite_in_process.py", journal, "OFF", "2000")
        assert code == 3, told
    code, told = in_process("sqlite_in_process.py", "TRUNCATE", "FULL", "2000")
    assert code == 0, told
    # A journal in memory is lost. It held as long as SQLite used the write-ahead log in each mode.
    code, told = in_process("sqlite_in_process.py", "MEMORY", "FULL", "2000")
    assert code == 3, told


def test_file_operations_on_littlefs_survive_unless_its_driver_leaves_out_flushes() -> None:
    code, told = in_process("littlefs_in_process.py", "1", "60", "3000")
    assert code == 0, told
    code, told = in_process("littlefs_in_process.py", "1", "60", "3000", "careless")
    assert code == 3 and "operations" in told, told


def test_each_seeded_bug_is_found_in_process_and_no_correct_program_is_blamed() -> None:
    done = subprocess.run([sys.executable, SAMPLES / "seeded.py", "in process"], capture_output=True, text=True, timeout=300)
    rows = [line for line in done.stdout.splitlines() if line.endswith(" s |")]
    assert done.returncode == 0 and sum("| state " in row for row in rows) == 10 and sum("| nothing, " in row for row in rows) == 2, done.stdout + done.stderr
