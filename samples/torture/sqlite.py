#!/usr/bin/env python3
"""SQLite under power loss: what it has committed must be there, and be whole.

    nandarium torture --mount ext4 --atomic 4KiB --prepare 'samples/torture/sqlite.py prepare WAL' --workload 'samples/torture/sqlite.py commit WAL FULL' \
        --check 'samples/torture/sqlite.py check'

The second word is `PRAGMA journal_mode`, the third `PRAGMA synchronous`. Each commit is printed once SQLite has
answered it: from then on it must be there.
"""

import os
import sqlite3
import sys

COMMITS = 12
PATH = os.path.join(os.environ["NANDARIUM_MOUNT"], "accounts.db")


def text(number: int) -> str:
    return f"{number} " * 300


def opened(journal: str, synchronous: str) -> sqlite3.Connection:
    connection = sqlite3.connect(PATH, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    return connection


def prepare(journal: str) -> None:
    connection = opened(journal, "EXTRA")
    connection.execute("CREATE TABLE account (number INTEGER PRIMARY KEY, text TEXT)")
    connection.close()
    os.sync()


def commit(journal: str, synchronous: str) -> None:
    connection = opened(journal, synchronous)
    for number in range(COMMITS):
        connection.execute("BEGIN")
        connection.execute("INSERT INTO account VALUES (?, ?)", (number, text(number)))
        connection.execute("UPDATE account SET text = text || '!' WHERE number < ?", (number,))
        connection.execute("COMMIT")
        print(number, flush=True)
    # The process ends as a crash would end it: closing would tidy up.
    os._exit(0)


def check() -> None:
    promised = len(open(os.environ["NANDARIUM_SAID"]).readlines())
    connection = sqlite3.connect(PATH)
    problems = connection.execute("PRAGMA integrity_check").fetchall()
    if problems != [("ok",)]:
        sys.exit(f"the database is damaged: {problems[0][0]}")
    rows = connection.execute("SELECT number, text FROM account ORDER BY number").fetchall()
    for number, found in rows:
        if found != text(number) + "!" * (len(rows) - 1 - number):
            sys.exit(f"row {number} is of another transaction than row {len(rows) - 1}")
    if len(rows) < promised:
        sys.exit(f"{promised} commits were answered, and {len(rows)} are there")


if __name__ == "__main__":
    {"prepare": prepare, "commit": commit, "check": check}[sys.argv[1]](*sys.argv[2:])
