#!/usr/bin/env python3
"""The programs behind sqlite-git-ext4.csv.zst; run in an empty directory of a 1 GiB ext4.

SQLite in both journal modes, git on a few thousand small files, file copies, cold reads, deletes
and trims: first one after the other, then at the same time. All data is made up from a fixed
seed; only timing differs between runs. Needs root, to drop the page cache.

When PHASES names a file, the start of each phase is noted there.
"""

import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

SEED = 20240229
MIB = 1 << 20
THINK_MEAN_S = 0.016  # between two transactions, exponentially distributed

GIT_ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "Sample",
    "GIT_AUTHOR_EMAIL": "sample@example.org",
    "GIT_COMMITTER_NAME": "Sample",
    "GIT_COMMITTER_EMAIL": "sample@example.org",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}


def phase(name):
    """Notes the start of a phase for convert.py."""
    if "PHASES" in os.environ:
        with open(os.environ["PHASES"], "a", encoding="utf-8") as file:
            file.write(f"{time.time():.9f} {name}\n")


def run(*command, **options):
    """Runs a program to its end; its failure ends the recording."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def git(repository, *arguments):
    run("git", "-C", str(repository), *arguments, env=GIT_ENVIRONMENT)


def drop_caches():
    """Writes everything back and makes the next read reach the disk."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")


# --- SQLite ---------------------------------------------------------------------------------


def open_database(path, journal_mode):
    """A connection with explicit transactions and SQLite's default, full, synchronisation."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute(f"PRAGMA journal_mode={journal_mode}")
    database.execute("PRAGMA cache_size=-4096")  # 4 MiB, so that larger tables are read again
    return database


def load_orders(path, journal_mode, rows, draw):
    """Creates and fills the table of orders with its index, 2,000 rows per transaction."""
    database = open_database(path, journal_mode)
    database.execute(
        "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, state TEXT, note BLOB)"
    )
    database.execute("CREATE INDEX orders_by_customer ON orders(customer)")
    for first in range(0, rows, 2000):
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO orders(customer, state, note) VALUES(?, 'new', ?)",
            (
                (draw.randrange(10_000), draw.randbytes(draw.randrange(40, 900)))
                for _ in range(min(2000, rows - first))
            ),
        )
        database.execute("COMMIT")
    return database


def order_transaction(database, draw):
    """One small transaction: an insert, an update or a delete, some with a look-up first."""
    top = database.execute("SELECT max(id) FROM orders").fetchone()[0]
    chosen = draw.randint(1, top)
    kind = draw.random()
    database.execute("BEGIN IMMEDIATE")
    if kind < 0.40:
        note = draw.randbytes(draw.randrange(40, 900))
        database.execute(
            "INSERT INTO orders(customer, state, note) VALUES(?, 'new', ?)",
            (draw.randrange(10_000), note),
        )
    elif kind < 0.85:
        customer = draw.randrange(10_000)
        database.execute("SELECT count(*) FROM orders WHERE customer = ?", (customer,)).fetchone()
        database.execute("UPDATE orders SET state = 'sent' WHERE id = ?", (chosen,))
    else:
        database.execute("DELETE FROM orders WHERE id BETWEEN ? AND ?", (chosen, chosen + 3))
    database.execute("COMMIT")


def serve_orders(database, transactions, draw):
    """Many small transactions with a little time to think between them."""
    for _ in range(transactions):
        order_transaction(database, draw)
        time.sleep(draw.expovariate(1 / THINK_MEAN_S))


# --- files and git --------------------------------------------------------------------------


def write_text_file(path, draw):
    """A compressible file of 0.2 to 30 KiB, mostly small."""
    size = min(30_000, int(200 + draw.expovariate(1 / 3500)))
    words = [f"{draw.randrange(5000):x}" for _ in range(size // 5)]
    path.write_text(" ".join(words)[:size] + "\n", encoding="ascii")


def write_tree(repository, files, draw):
    """A source tree of small files, forty to a folder."""
    paths = []
    for index in range(files):
        folder = repository / f"part{index // 400:02d}" / f"unit{index // 40 % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"file{index % 40:02d}.txt")
        write_text_file(paths[-1], draw)
    return paths


def write_media_file(path, size, draw):
    """One large file that does not compress, written in pieces of 1 MiB."""
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(draw.randbytes(MIB))


def edit_and_commit(repository, paths, edits, branch, draw):
    """Rewrites some files on a new branch and commits them."""
    git(repository, "checkout", "-q", "-b", branch)
    for path in draw.sample(paths, edits):
        write_text_file(path, draw)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", f"Rework on {branch}")


def read_all(folder):
    """Reads every file below the folder, in the order of a directory walk."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            path.read_bytes()


# --- the whole ------------------------------------------------------------------------------


def one_after_the_other(top, draw):
    phase("git: write 3000 files, add, commit")
    repository = top / "project"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    git(repository, "config", "gc.auto", "0")
    paths = write_tree(repository, 3000, draw)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Import")
    os.sync()

    phase("sqlite: load two databases")
    rollback = load_orders(top / "rollback.db", "DELETE", 60_000, draw)
    wal = load_orders(top / "wal.db", "WAL", 60_000, draw)

    phase("sqlite: 700 transactions, journal_mode=DELETE")
    serve_orders(rollback, 700, draw)

    phase("sqlite: 1500 transactions, journal_mode=WAL")
    serve_orders(wal, 1500, draw)

    phase("files: write 168 MiB, copy it, copy the tree")
    media = top / "media"
    media.mkdir()
    for index in range(3):
        write_media_file(media / f"clip{index}.bin", 56 * MIB, draw)
    run("cp", "-r", str(media), str(top / "media-copy"))
    run("cp", "-r", str(repository), str(top / "project-copy"))
    os.sync()

    phase("git: three branches, checkouts, gc")
    for index in range(3):
        edit_and_commit(repository, paths, 500, f"topic{index}", draw)
    for branch in ("main", "topic1", "main"):
        git(repository, "checkout", "-q", branch)
    git(repository, "gc", "-q", "--prune=now")

    phase("cold reads: git, small files, SQLite, large files")
    drop_caches()
    git(repository, "status", "--short")
    git(repository, "log", "--stat", "--all")
    for folder in sorted((top / "project-copy").glob("part*")):
        read_all(folder)
    drop_caches()
    rollback.execute("SELECT sum(length(note)) FROM orders").fetchone()
    for _ in range(400):
        chosen = (draw.randrange(10_000),)
        wal.execute("SELECT sum(length(note)) FROM orders WHERE customer = ?", chosen).fetchone()
    read_all(media)

    phase("delete: the large files' copy, then fstrim")
    shutil.rmtree(top / "media-copy")
    os.sync()
    run("fstrim", str(top))
    return repository, paths, rollback, wal


def all_at_once(top, repository, paths, rollback, wal):
    """Two databases, git and file copies in four threads; each draws from its own stream."""

    def git_side(draw):
        for index in range(3):
            edit_and_commit(repository, paths, 400, f"later{index}", draw)
            git(repository, "checkout", "-q", "main")
        git(repository, "gc", "-q", "--prune=now")

    def file_side(draw):
        for index in range(4):
            folder = top / f"backup{index}"
            run("cp", "-r", str(top / "media"), str(folder))
            run("cp", "-r", str(top / "project-copy"), str(folder))
            if index >= 1:
                shutil.rmtree(top / f"backup{index - 1}")
            os.sync()
            time.sleep(1.5)

    sides = [
        lambda draw: serve_orders(rollback, 250, draw),
        lambda draw: serve_orders(wal, 700, draw),
        git_side,
        file_side,
    ]
    failures = []

    def guarded(index, side):
        try:
            side(random.Random(SEED + 1 + index))
        except Exception as error:  # reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=pair) for pair in enumerate(sides)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main():
    top = Path.cwd()
    draw = random.Random(SEED)
    repository, paths, rollback, wal = one_after_the_other(top, draw)

    phase("mix: both databases, git and copies at the same time")
    all_at_once(top, repository, paths, rollback, wal)

    phase("sqlite: purge a third, VACUUM")
    for database in (rollback, wal):
        database.execute("DELETE FROM orders WHERE id % 3 = 0")
        database.execute("VACUUM")
        database.close()

    phase("delete: the last backup, switch branch, fstrim, sync")
    shutil.rmtree(top / "backup3")
    shutil.rmtree(top / "project-copy")
    git(repository, "checkout", "-q", "later2")
    os.sync()
    run("fstrim", str(top))
    os.sync()


if __name__ == "__main__":
    main()
