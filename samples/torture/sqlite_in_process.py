#!/usr/bin/env python3
"""SQLite under power loss without files: a VFS of apsw over the disk of `nd.torture` (`pip install apsw`).

    samples/torture/sqlite_in_process.py WAL FULL          # journal mode and synchronous
    samples/torture/sqlite_in_process.py PERSIST NORMAL    # others: DELETE, TRUNCATE, MEMORY and OFF; EXTRA and OFF
    samples/torture/sqlite_in_process.py WAL OFF 20000     # states

A check opens the database as it is after a cut, which lets SQLite recover it, and reads all of it. No process and no
file system is between SQLite and the disk, so that a check takes a fraction of a millisecond.

The disk has three areas of fixed places and sizes: the database, its rollback journal, its write-ahead log. So no name
and no size of a file has to last. Exit code 3 means that a commit was lost or the database is damaged.
"""

import sys
import time

import apsw

import nandarium as nd

SECTOR = 512
AREA = 1 << 20
AREAS = ["", "-journal", "-wal"]
COMMITS = 12


class Area:
    """A file of SQLite: an area of the disk."""

    def __init__(self, disk: nd.Disk, suffix: str) -> None:
        self.disk = disk
        self.start = AREAS.index(suffix) * AREA
        self.is_main = suffix == ""

    def xRead(self, amount: int, offset: int) -> bytes:
        begin = offset // SECTOR * SECTOR
        end = -(-(offset + amount) // SECTOR) * SECTOR
        return self.disk.read(self.start + begin, end - begin)[offset - begin : offset - begin + amount]

    def xWrite(self, data: bytes, offset: int) -> None:
        begin = offset // SECTOR * SECTOR
        end = -(-(offset + len(data)) // SECTOR) * SECTOR
        if end - begin != len(data):
            whole = bytearray(self.disk.read(self.start + begin, end - begin))
            whole[offset - begin : offset - begin + len(data)] = data
            data = bytes(whole)
        self.disk.write(self.start + begin, data)

    def xSync(self, flags: int) -> None:
        self.disk.flush()

    def xFileSize(self) -> int:
        return AREA

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xTruncate(self, size: int) -> None:
        # An area keeps its size. A journal without a header is an empty one.
        if size == 0 and not self.is_main:
            self.disk.write(self.start, bytes(SECTOR))

    def xLock(self, level: int) -> None: ...
    def xUnlock(self, level: int) -> None: ...
    def xClose(self) -> None: ...


class OnDisk(apsw.VFS):
    """Files with names such as `NUMBER-wal` are areas of the disk with that number."""

    def __init__(self) -> None:
        super().__init__("disk", base="")
        self.disks: dict[str, nd.Disk] = {}

    def xOpen(self, name, flags):
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        number, dash, suffix = path.partition("-")
        return Area(self.disks[number], dash + suffix)

    def xFullPathname(self, name: str) -> str:
        return name

    def xAccess(self, path: str, flags: int) -> bool:
        # SQLite uses each write-ahead log that is there, whatever mode is set. Byte 18 of the database tells its mode.
        number, _, suffix = path.partition("-")
        return suffix != "wal" or self.disks[number].read(0, SECTOR)[18] == 2

    def xDelete(self, path: str, sync_folder: bool) -> None:
        number, _, suffix = path.partition("-")
        area = Area(self.disks[number], f"-{suffix}")
        area.xTruncate(0)
        if sync_folder:
            area.xSync(0)


FILES = OnDisk()


def opened(disk: nd.Disk) -> apsw.Connection:
    FILES.disks["0"] = disk
    connection = apsw.Connection("0", vfs="disk")
    # Without shared memory a write-ahead log belongs to one connection.
    connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
    return connection


def text(number: int) -> str:
    return f"{number} " * 60


class Commits:
    """Commits with a journal mode and a `synchronous`; each is promised once SQLite has answered it."""

    def __init__(self, journal: str, synchronous: str) -> None:
        self.journal, self.synchronous = journal, synchronous

    def workload(self, disk: nd.Disk) -> None:
        empty = apsw.Connection(":memory:")
        empty.execute("PRAGMA page_size=1024; CREATE TABLE account (number INTEGER PRIMARY KEY, text TEXT)")
        disk.write(0, empty.serialize("main"))
        disk.flush()
        connection = opened(disk)
        assert connection.pragma("journal_mode", self.journal) == self.journal.lower()
        connection.pragma("synchronous", self.synchronous)
        disk.say("made")
        for number in range(COMMITS):
            connection.execute("BEGIN; INSERT INTO account VALUES (?, ?)", (number, text(number)))
            connection.execute("UPDATE account SET text = text || '!' WHERE number < ?; COMMIT", (number,))
            disk.say(str(number))
        connection.close()

    def check(self, disk: nd.Disk, said: list[str]) -> None:
        if not said:
            return
        connection = opened(disk)
        try:
            ((problem,),) = connection.execute("PRAGMA integrity_check(1)")
            assert problem == "ok", f"the database is damaged: {problem}"
            rows = list(connection.execute("SELECT number, text FROM account ORDER BY number"))
        finally:
            connection.close()
        for number, found in rows:
            whole = text(number) + "!" * (len(rows) - 1 - number)
            assert found == whole, f"row {number} is of another transaction than row {len(rows) - 1}"
        assert len(rows) >= len(said) - 1, f"{len(said) - 1} commits were answered, and {len(rows)} are there"


def main(journal: str, synchronous: str, states: str = "2000") -> None:
    commits = Commits(journal, synchronous)
    checks = 0
    seconds = 0.0

    def check(disk: nd.Disk, said: list[str]) -> None:
        nonlocal checks, seconds
        begin = time.perf_counter()
        try:
            commits.check(disk, said)
        finally:
            checks += 1
            seconds += time.perf_counter() - begin

    tried = nd.torture(commits.workload, check, bytes=len(AREAS) * AREA, states=int(states))
    print(tried)
    print(f"a check takes {seconds / checks * 1e6:.0f} us")
    sys.exit(0 if tried else 3)


if __name__ == "__main__":
    main(*sys.argv[1:])
