#!/usr/bin/env python3
"""littlefs under power loss without a mount: its blocks are a disk of `nd.torture` (`pip install littlefs-python`).

    samples/torture/littlefs_in_process.py 1 100 5000              # seed, operations, states
    samples/torture/littlefs_in_process.py 1 100 5000 careless     # its driver leaves out each flush
    samples/torture/littlefs_in_process.py 1 100 5000 unrepaired   # the check reads before littlefs has repaired itself

`unrepaired` finds that an interrupted rename to another folder hides other names as well, until the first write or
`fs_mkconsistent` (littlefs-python 0.19).

The operations and the model of the files that must survive are those of `file_operations.py`. littlefs has no links.
A file is written when it is closed, so that a sync has nothing to do. Exit code 3 means that a promise was broken.
"""

import sys
import time
from contextlib import suppress

from file_operations import BLOCK, FOLDERS, NAMES, Operation, block, drawn, expected, Model
from littlefs import LittleFS

import nandarium as nd

SECTOR = 512
BLOCKS = 128
SIZES = {"block_size": BLOCK, "block_count": BLOCKS, "read_size": SECTOR, "prog_size": SECTOR, "cache_size": SECTOR, "mount": False}


class Driver:
    """The driver of littlefs: an erase writes bytes of ones, a sync is a flush.

    Flash does not program a block before it has erased it, and littlefs relies on that. A disk may keep later writes and
    lose earlier ones, so that a flush stands behind each erase.
    """

    def __init__(self, disk: nd.Disk, is_careful: bool = True) -> None:
        self.disk = disk
        self.is_careful = is_careful

    def read(self, config, number: int, offset: int, size: int) -> bytearray:
        return bytearray(self.disk.read(number * BLOCK + offset, size))

    def prog(self, config, number: int, offset: int, data: bytes) -> int:
        self.disk.write(number * BLOCK + offset, bytes(data))
        return 0

    def erase(self, config, number: int) -> int:
        self.disk.write(number * BLOCK, b"\xff" * BLOCK)
        return self.sync(config)

    def sync(self, config) -> int:
        if self.is_careful:
            self.disk.flush()
        return 0


def perform(files: LittleFS, number: int, kind: str, *arguments) -> None:
    if kind == "rename":
        files.rename(*arguments)
    elif kind == "unlink":
        files.remove(arguments[0])
    elif kind == "create":
        files.open(arguments[0], "xb").close()
    elif kind == "write":
        with files.open(arguments[0], "r+b") as file:
            # A hole is written as zeros.
            size = file.seek(0, 2)
            file.write(bytes(max(0, arguments[1] * BLOCK - size)))
            file.seek(arguments[1] * BLOCK)
            file.write(block(number, arguments[1]))
    elif kind == "truncate" and files.stat(arguments[0]).size > arguments[1] * BLOCK:
        with files.open(arguments[0], "r+b") as file:
            # The package cuts the file where it stands, whatever size is given.
            file.seek(arguments[1] * BLOCK)
            file.truncate()


def workload(disk: nd.Disk, operations: list[Operation], is_careful: bool) -> None:
    files = LittleFS(context=Driver(disk, is_careful), **SIZES)
    files.format()
    files.mount()
    for folder in FOLDERS[1:]:
        files.mkdir(folder)
    disk.flush()
    disk.say("ready")
    model = Model()
    for place, one in enumerate(operations, 1):
        if model.may(*one):
            model.do(place, *one)
            perform(files, place, *one)
        disk.say(" ".join(map(str, (place, *one))))
    files.unmount()


def check(disk: nd.Disk, said: list[str], operations: list[Operation], is_repaired: bool) -> None:
    if not said:
        return
    files = LittleFS(context=Driver(disk), **SIZES)
    files.mount()
    if is_repaired:
        files.fs_mkconsistent()
    found = {}
    for path in NAMES:
        with suppress(FileNotFoundError), files.open(path, "rb") as file:
            found[path] = file.read()
    problem = expected(operations, len(said) - 1).problem(found)
    assert problem is None, problem


def main(seed: str, count: str, states: str, how: str = "careful") -> None:
    operations = drawn(seed, int(count), without="link")
    checks = 0
    seconds = 0.0

    def timed(disk: nd.Disk, said: list[str]) -> None:
        nonlocal checks, seconds
        begin = time.perf_counter()
        try:
            check(disk, said, operations, how != "unrepaired")
        finally:
            checks += 1
            seconds += time.perf_counter() - begin

    tried = nd.torture(lambda disk: workload(disk, operations, how != "careless"), timed, bytes=BLOCKS * BLOCK, states=int(states))
    print(tried)
    print(f"a check takes {seconds / checks * 1e6:.0f} us")
    sys.exit(0 if tried else 3)


if __name__ == "__main__":
    main(*sys.argv[1:])
