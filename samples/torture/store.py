#!/usr/bin/env python3
"""A key-value store, LMDB, under power loss (`pip install lmdb`).

    nandarium torture --mount ext4 --atomic 4KiB --prepare 'samples/torture/store.py prepare' --workload 'samples/torture/store.py put' --check 'samples/torture/store.py check'

`store.py put nosync` lets the store leave out its syncs: what it has answered is lost then, and what it has can be
damaged. A key is printed once its transaction is committed.
"""

import os
import sys

import lmdb

PATH = os.path.join(os.environ["NANDARIUM_MOUNT"], "store")
SIZE = 8 << 20


def value(number: int) -> bytes:
    return b"%d " % number * 200


def prepare() -> None:
    lmdb.open(PATH, map_size=SIZE).close()
    os.sync()


def put(how: str = "sync") -> None:
    store = lmdb.open(PATH, map_size=SIZE, sync=how == "sync")
    for number in range(15):
        with store.begin(write=True) as transaction:
            transaction.put(b"%04d" % number, value(number))
            transaction.put(b"count", b"%d" % (number + 1))
        print(number, flush=True)
    os._exit(0)


def check() -> None:
    promised = len(open(os.environ["NANDARIUM_SAID"]).readlines())
    store = lmdb.open(PATH, map_size=SIZE)
    with store.begin() as transaction:
        count = int(transaction.get(b"count", b"0"))
        for number in range(count):
            if transaction.get(b"%04d" % number) != value(number):
                sys.exit(f"{count} keys are counted, and number {number} is not what was put")
    if count < promised:
        sys.exit(f"{promised} transactions were answered, and {count} are there")


if __name__ == "__main__":
    {"prepare": prepare, "put": put, "check": check}[sys.argv[1]](*sys.argv[2:])
