#!/usr/bin/env python3
"""A file that is replaced by renaming a new one over it: with `fsync` of file and folder, or without.

    nandarium torture --mount ext4 --atomic 4KiB --workload 'samples/torture/replace.py write' --check 'samples/torture/replace.py check'
    nandarium torture --mount ext4 --atomic 4KiB --workload 'samples/torture/replace.py careless' --check 'samples/torture/replace.py check'

A version is printed once it has been renamed: from then on that version or a later one must be there, whole.
"""

import os
import sys

FOLDER = os.environ["NANDARIUM_MOUNT"]
PATH = os.path.join(FOLDER, "config")


def text(version: int) -> str:
    return f"version {version}\n" * 400


def replace(is_careful: bool) -> None:
    for version in range(1, 16):
        with open(PATH + ".new", "w") as file:
            file.write(text(version))
            if is_careful:
                file.flush()
                os.fsync(file.fileno())
        os.rename(PATH + ".new", PATH)
        if is_careful:
            folder = os.open(FOLDER, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        print(version, flush=True)


def check() -> None:
    said = open(os.environ["NANDARIUM_SAID"]).read().split()
    promised = int(said[-1]) if said else 0
    found = open(PATH).read() if os.path.exists(PATH) else ""
    # A file whose blocks were never written holds zeros.
    version = int(found.split()[1]) if found.startswith("version ") else 0
    if version < promised:
        sys.exit(f"version {promised} was there, and now it is {version}")
    if found != (text(version) if version else ""):
        sys.exit(f"version {version} is there in part")


if __name__ == "__main__":
    {"write": lambda: replace(True), "careless": lambda: replace(False), "check": check}[sys.argv[1]]()
