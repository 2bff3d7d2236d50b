#!/usr/bin/env python3
"""Bugs and broken drives that `nandarium torture` must find: runs each on every stack, and prints a table with its state and seconds.

    samples/torture/seeded.py                    # all stacks
    samples/torture/seeded.py 'in process' NBD   # some

A cell is the number of the first state that fails, and the seconds of the whole run, in which the failure is made small as well. Exit code 1: a bug was
not found, or a program without a bug was blamed. The variable NANDARIUM is the program (`nandarium`). A column that cannot run says why below the table.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

SECTOR, PLACE, PAGE, COUNT, STATES = 512, 4096, 16384, 20, 2000
STACKS = ["in process", "NBD", "within a drive", "ext4"]
# The drive of the third stack has a volatile cache: without one each answered write lasts.
CACHE = {"buffer.kind": "page-lru", "buffer.size": "64KiB"}
# Of each kind: the program, the lie of a drive of which only promises are known, and the fault of the simulated drive.
KINDS: dict[str, tuple[str, str, str]] = {
    "none: a correct log": ("log", "", ""),
    "none: a correct counter": ("counter", "", ""),
    "no flush before the answer": ("unflushed", "", ""),
    "an answer before the flush": ("early", "", ""),
    "a page of 16 KiB in place, torn": ("page", "", ""),
    "two places in the wrong order": ("order", "", ""),
    "a flush that does nothing": ("log", "ignore-flush", "lose flushes"),
    "a lost write": ("log", "lost-write", "lose writes share 20%"),
    "a misdirected write": ("log", "misdirected-write", "misdirect writes share 20%"),
    "a flipped bit": ("log", "flipped-bit", "flip writes share 20%"),
    "an unreadable sector": ("log", "unreadable-sector", "cut-unreadable flushed share 2%"),
    "stale data": ("counter", "stale-read", "cut-old flushed share 20%"),
}
# Of each kind on ext4: options of the mount, and the commands of samples beside this one: prepare, workload, check.
ON_EXT4: dict[str, tuple[str, str, str, str]] = {
    "none: SQLite, WAL with FULL": ("", "sqlite.py prepare WAL", "sqlite.py commit WAL FULL", "sqlite.py check"),
    "SQLite, synchronous = OFF": ("", "sqlite.py prepare WAL", "sqlite.py commit WAL OFF", "sqlite.py check"),
    "SQLite, a deleted journal with FULL": ("", "sqlite.py prepare DELETE", "sqlite.py commit DELETE FULL", "sqlite.py check"),
    "a rename without a sync of file and folder": ("", "true", "replace.py careless", "replace.py check"),
    "ext4 with barrier=0": (":barrier=0", "true", "file_operations.py run 7 60", "file_operations.py check 7 60"),
}


def sector(number: int) -> bytes:
    return (b"%d " % number).ljust(SECTOR, b".")


def work(disk, program: str) -> None:
    for number in range(1, COUNT + 1):
        data = bytes([number]) * PAGE if program == "page" else sector(number)
        disk.write(0 if program in ("page", "counter") else number * PLACE, data)
        if program == "early":
            disk.say(str(number))
        if program == "order":
            disk.write(0, bytes([number]) * SECTOR)  # points to the record, which may not be there yet
        if program != "unflushed":
            disk.flush()
        if program != "early":
            disk.say(str(number))


def verify(disk, said: list[str], program: str) -> None:
    first = disk.read(0, PAGE)
    if program == "page":
        assert len(set(first)) == 1, f"the page is torn: {sorted(set(first))}"
    elif program == "counter":
        newest = int(first[:3].strip(b"\0 .") or 0)
        assert newest >= len(said), f"{len(said)} was answered, and {newest} is there"
    else:
        for number in range(1, (first[0] if program == "order" else len(said)) + 1):
            assert disk.read(number * PLACE, SECTOR) == sector(number), f"record {number} is gone"


def by_nbd() -> SimpleNamespace:
    """The same calls by NBD, for a command of `torture`."""
    import nbd
    handle = nbd.NBD()
    handle.connect_uri(os.environ["NANDARIUM_URI"])
    read, write = (lambda offset, length: bytes(handle.pread(length, offset))), (lambda offset, data: handle.pwrite(data, offset))
    return SimpleNamespace(read=read, write=write, flush=handle.flush, say=lambda line: print(line, flush=True))


def within(program: str, **options) -> int | None:
    import nandarium as nd
    tried = nd.torture(lambda disk: work(disk, program), lambda disk, said: verify(disk, said, program), states=STATES, **options)
    return None if tried.failure is None else tried.failure["state"]


def by_command(*arguments: str) -> int | None:
    command = [os.environ.get("NANDARIUM", "nandarium"), "torture", "--states", str(STATES), "--json", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), f"{' '.join(command)}\n{done.stderr}"
    failure = json.loads(done.stdout)["failure"]
    return None if failure is None else failure["state"]


def found(stack: str, kind: str) -> int | None:
    if stack == "ext4":
        options, prepare, workload, check = ON_EXT4[kind]
        here = f"{sys.executable} {Path(__file__).resolve().parent}"
        prepare, workload, check = (text if text == "true" else f"{here}/{text}" for text in (prepare, workload, check))
        return by_command("--mount", f"ext4{options}", "--atomic", "4KiB", "--prepare", prepare, "--workload", workload, "--check", check)
    program, lie, fault = KINDS[kind]
    if stack == "in process":
        return within(program, lies=[lie] if lie else [])
    if stack == "within a drive":
        return within(program, cuts="drive", settings=CACHE, faults=[fault] if fault else [])
    own = f"/usr/bin/python3 {Path(__file__).resolve()}"
    return by_command(*(["--lie", lie] if lie else []), "--workload", f"{own} work {program}", "--check", f"{own} verify {program}")


def missing() -> dict[str, str]:
    """The needs of the stacks that cannot run here."""
    package = {} if importlib.util.find_spec("nandarium") else dict.fromkeys(("in process", "within a drive"), "the Python package nandarium")
    has_nbd = Path("/usr/bin/python3").exists() and subprocess.run(["/usr/bin/python3", "-c", "import nbd"], capture_output=True).returncode == 0
    may_mount = os.geteuid() == 0 and Path("/dev/loop-control").exists()
    return package | ({} if has_nbd else {"NBD": "python3-libnbd"}) | ({} if may_mount else {"ext4": "root and a loop device"})


def main(stacks: list[str]) -> None:
    skipped = {stack: need for stack, need in missing().items() if stack in stacks}
    print(f"| kind | {' | '.join(stacks)} |\n|---|{'---|' * len(stacks)}")
    is_right = len(skipped) < len(stacks)
    for kind in [*KINDS, *ON_EXT4]:
        cells = [""] * len(stacks)
        for place, stack in enumerate(stacks):
            if stack not in skipped and (stack == "ext4") == (kind in ON_EXT4):
                begin = time.monotonic()
                state = found(stack, kind)
                is_right &= (state is None) == kind.startswith("none")
                cells[place] = f"{'nothing' if state is None else f'state {state}'}, {time.monotonic() - begin:.1f} s"
        if any(cells):
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print("".join(f"\n{stack}: not run here: it needs {need}" for stack, need in skipped.items()))
    sys.exit(not is_right)


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(by_nbd(), sys.argv[2])
    elif sys.argv[1:2] == ["verify"]:
        verify(by_nbd(), Path(os.environ["NANDARIUM_SAID"]).read_text().split(), sys.argv[2])
    else:
        if unknown := [name for name in sys.argv[1:] if name not in STACKS]:
            sys.exit(f"seeded.py: there is no stack {unknown[0]!r}; there are {', '.join(map(repr, STACKS))}")
        main(sys.argv[1:] or STACKS)
