#!/usr/bin/env python3
"""Sequences of file operations under power loss, with a model of the files that must survive: for file systems.

    nandarium torture --mount ext4 --atomic 4KiB --workload 'samples/torture/file_operations.py run 7 60' --check 'samples/torture/file_operations.py check 7 60'
    samples/torture/file_operations.py list 2 | while read n; do nandarium torture --mount ext4 --atomic 4KiB --states 200 \\
        --workload "samples/torture/file_operations.py run all $n" --check "samples/torture/file_operations.py check all $n"; done

`run SEED COUNT` makes COUNT operations that the seed draws. `run all SEQUENCE` makes one short sequence: `list LENGTH`
prints all sequences of a length, each with a sync behind it. Operations: create, write, truncate, rename, link,
unlink, fsync of a file, fsync of a folder.

The model is that of POSIX and of journals alike: it demands what a sync has promised, and nothing more.

- `fsync` of a file keeps its contents and size, as long as nothing changes them.
- `fsync` of a folder keeps the names that are in it, with the files that they name, as long as nothing changes the name.
- A name whose change is not synced may be the old or the new one, and a file that was changed since may hold any mix of
  the sectors that were written. It never holds bytes that nobody wrote there.
"""

import itertools
import os
import random
import sys

FOLDER = os.environ.get("NANDARIUM_MOUNT", ".")
FOLDERS = ["", "sub"]
NAMES = ["a", "b", "sub/a", "sub/b"]
BLOCK = 4096
SECTOR = 512
BLOCKS = 4

Operation = tuple


def block(number: int, place: int) -> bytes:
    """The bytes of a block that operation `number` wrote: each tells its operation and its place."""
    return (b"%d at %d " % (number, place) * BLOCK)[:BLOCK]


def drawn(seed: str, count: int, without: str = "") -> list[Operation]:
    chance = random.Random(seed)
    weights = {"create": 3, "write": 6, "truncate": 1, "rename": 3, "link": 2, "unlink": 1, "fsync": 3, "fsyncdir": 3}
    weights.pop(without, None)
    kinds = chance.choices(list(weights), list(weights.values()), k=count)
    return [operation(kind, chance.choice, chance.randrange) for kind in kinds]


def operation(kind: str, choice, number) -> Operation:
    if kind == "fsyncdir":
        return kind, choice(FOLDERS)
    if kind in ("rename", "link"):
        return kind, *choice(list(itertools.permutations(NAMES, 2)))
    if kind in ("write", "truncate"):
        return kind, choice(NAMES), number(BLOCKS)
    return kind, choice(NAMES)


def every(length: int) -> list[list[Operation]]:
    """All sequences of a length over two names and their folder, each after a file that lasts, with a sync behind it."""
    first = [("create", "a"), ("write", "a", 0), ("fsync", "a"), ("fsyncdir", "")]
    changes = [("create", "b"), ("write", "a", 0), ("write", "a", 1), ("truncate", "a", 0), ("rename", "a", "b"), ("link", "a", "b"), ("unlink", "a")]
    syncs = [("fsync", "a"), ("fsync", "b"), ("fsyncdir", "")]
    return [[*first, *middle, last] for middle in itertools.product(changes + syncs[:1] + syncs[2:], repeat=length) for last in syncs]


def sequence(which: str, number: str) -> list[Operation]:
    if which != "all":
        return drawn(which, int(number))
    length, place = map(int, number.split("/"))
    return every(length)[place]


class File:
    """A file of the model. Blocks are the numbers of the operations that wrote them; 0 is a hole."""

    def __init__(self) -> None:
        self.now: list[int] = []
        self.is_synced = False
        self.past: list[set[int]] = [{0} for _ in range(BLOCKS)]
        """All that each block may hold since the last sync."""
        self.lengths = {0}

    def change(self, blocks: list[int]) -> None:
        self.now, self.is_synced = blocks, False
        self.lengths.add(len(blocks))
        for place in range(BLOCKS):
            self.past[place].add(blocks[place] if place < len(blocks) else 0)

    def sync(self) -> None:
        self.is_synced = True
        self.lengths = {len(self.now)}
        self.past = [{number} for number in self.now] + [{0} for _ in range(BLOCKS - len(self.now))]

    def problem(self, path: str, found: bytes) -> str | None:
        """Why this cannot be its contents."""
        # A write may be there in part, so that the size is between two of them.
        least, most = min(self.lengths) * BLOCK, max(self.lengths) * BLOCK
        if not least <= len(found) <= most:
            return f"{path} has {len(found)} bytes, and {least} to {most} are possible"
        for at in range(0, len(found), SECTOR):
            place, part = at // BLOCK, found[at : at + SECTOR]
            numbers = self.past[place]
            begin = at % BLOCK
            if not any(part == (block(number, place) if number else bytes(BLOCK))[begin : begin + len(part)] for number in numbers):
                return f"{path} holds {part[:24]!r} at {at}, and only blocks of the operations {sorted(numbers)} are possible"
        return None


class Model:
    """The files after some operations, and the names that a cut may leave."""

    def __init__(self) -> None:
        self.names: dict[str, File | None] = dict.fromkeys(NAMES)
        self.possible: dict[str, list[File | None]] = {name: [None] for name in NAMES}
        self.kept: list[File] = []
        """Files of which some name was synced and none removed: a rename keeps one of two names."""

    def name(self, path: str, file: File | None) -> None:
        self.names[path] = file
        self.possible[path].append(file)

    def may(self, kind: str, *arguments) -> bool:
        """Whether an operation does something: the others are left out."""
        if kind == "fsyncdir":
            return True
        file = self.names[arguments[0]]
        if kind == "create":
            return file is None
        if kind == "rename":
            return file is not None and self.names[arguments[1]] is not file
        return file is not None and (kind != "link" or self.names[arguments[1]] is None)

    def do(self, number: int, kind: str, *arguments) -> None:
        if kind == "fsyncdir":
            for path in NAMES:
                if os.path.dirname(path) == arguments[0]:
                    self.possible[path] = [self.names[path]]
                    self.kept += [file for file in self.possible[path] if file is not None and file not in self.kept]
            return
        path = arguments[0]
        file = self.names[path]
        if kind == "create":
            self.name(path, File())
        elif kind == "unlink":
            self.name(path, None)
        elif kind == "rename":
            self.name(arguments[1], file)
            self.name(path, None)
        elif kind == "link":
            self.name(arguments[1], file)
        elif kind == "fsync":
            file.sync()
        elif kind == "truncate":
            file.change(file.now[: arguments[1]])
        elif kind == "write":
            blocks = file.now + [0] * (arguments[1] + 1 - len(file.now))
            blocks[arguments[1]] = number
            file.change(blocks)
        self.kept = [file for file in self.kept if file in self.names.values()]

    def problem(self, found: dict[str, bytes]) -> str | None:
        """Why these cannot be the files after a cut."""
        holding: list[File] = []
        for path, files in self.possible.items():
            if path not in found:
                if None not in files:
                    return f"{path} is not there, and its folder was synced"
                continue
            problems = {file: file.problem(path, found[path]) for file in files if file is not None}
            fitting = [file for file, problem in problems.items() if problem is None]
            if not fitting:
                return next(iter(problems.values()), f"{path} is there, and was never created")
            holding += fitting
        if any(file not in holding for file in self.kept):
            return "a file that was renamed is under neither of its names"
        return None


def perform(number: int, kind: str, *arguments) -> None:
    """Makes an operation on the file system."""
    paths = [os.path.join(FOLDER, argument) for argument in arguments if isinstance(argument, str)]
    if kind in ("rename", "link", "unlink"):
        getattr(os, kind)(*paths)
        return
    flags = {"create": os.O_CREAT | os.O_EXCL | os.O_WRONLY, "fsyncdir": os.O_RDONLY}.get(kind, os.O_RDWR)
    file = os.open(paths[0], flags)
    if kind == "write":
        os.pwrite(file, block(number, arguments[1]), arguments[1] * BLOCK)
    elif kind == "truncate" and os.fstat(file).st_size > arguments[1] * BLOCK:
        os.ftruncate(file, arguments[1] * BLOCK)
    elif kind in ("fsync", "fsyncdir"):
        os.fsync(file)
    os.close(file)


def run(which: str, number: str) -> None:
    for path in FOLDERS[1:]:
        os.makedirs(os.path.join(FOLDER, path), exist_ok=True)
    os.sync()
    print("ready", flush=True)
    model = Model()
    for place, done in enumerate(sequence(which, number), 1):
        if model.may(*done):
            model.do(place, *done)
            perform(place, *done)
        # Each operation is a line: the next one may have begun, and all syncs up to here have ended.
        print(place, *done, flush=True)


def expected(operations: list[Operation], done: int) -> Model:
    """The model after so many operations. The next one may have been done in part, and is no promise."""
    model = Model()
    for place, one in enumerate(operations[: done + 1], 1):
        is_promised = place <= done
        if (is_promised or "fsync" not in one[0]) and model.may(*one):
            model.do(place, *one)
    return model


def check(which: str, number: str) -> None:
    said = open(os.environ["NANDARIUM_SAID"]).read().splitlines()
    if not said:
        return
    whole = {path: os.path.join(FOLDER, path) for path in NAMES}
    found = {path: open(place, "rb").read() for path, place in whole.items() if os.path.lexists(place)}
    if problem := expected(sequence(which, number), len(said) - 1).problem(found):
        sys.exit(problem)


if __name__ == "__main__":
    if sys.argv[1] == "list":
        for place in range(len(every(int(sys.argv[2])))):
            print(f"{sys.argv[2]}/{place}")
    else:
        {"run": run, "check": check}[sys.argv[1]](*sys.argv[2:])
