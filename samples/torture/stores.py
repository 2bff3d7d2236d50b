#!/usr/bin/env python3
"""Well-known stores under power loss: a transaction that a store has answered must be there, and be whole.

    store='samples/torture/stores.py leveldb'
    nandarium torture --mount ext4 --atomic 4KiB --prepare "$store prepare" --workload "$store append" --check "$store verify"
    nandarium torture --mount ext4 --atomic 4KiB --prepare "$store prepare" --workload "$store append careless" --check "$store verify"

| store | needs | durable | careless |
|---|---|---|---|
| `duckdb`, `duckdb-checkpoint` | `pip install duckdb` (2.0 or newer) | by default | `fsync_mode = NONE` |
| `leveldb` | `pip install plyvel` | `sync=True` for each write | by default |
| `lmdb` | `pip install lmdb` | by default | `sync=False` |
| `postgresql` | `apt-get install postgresql` | by default | `fsync = off` |
| `redis` | `apt-get install redis-server` | `appendfsync always` | `appendfsync everysec`, the default |
| `rocksdb` | `pip install rocksdict` | `sync = True` for each write | by default |

Each transaction puts a value and counts it, both or neither. Its number is printed once the store has answered.
Buffers are small and checkpoints are early, so that most stores also write tables, new logs or checkpoints meanwhile.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from typing import NoReturn

TRANSACTIONS = 30


def value(number: int) -> str:
    return f"{number} " * 1200


class Store(ABC):
    """A store that is open. Opening it recovers it."""

    @abstractmethod
    def __init__(self, path: str, is_durable: bool) -> None: ...

    @abstractmethod
    def put(self, key: str, value: str, count: int) -> None:
        """One transaction. It returns once the store has answered."""

    @abstractmethod
    def get(self, key: str) -> str | None: ...

    def close(self) -> None: ...

    def kill(self) -> None:
        """End the processes of the store, without all that closing would tidy up."""


class DuckDb(Store):
    def __init__(self, path: str, is_durable: bool) -> None:
        import duckdb

        # More threads take longer to start, and have nothing to do.
        self.tables = duckdb.connect(path, config={"threads": 1})
        if not is_durable:
            self.tables.execute("SET fsync_mode = 'NONE'")
        self.tables.execute("CREATE TABLE IF NOT EXISTS kept (key VARCHAR PRIMARY KEY, value VARCHAR)")

    def put(self, key: str, value: str, count: int) -> None:
        self.tables.execute("BEGIN")
        self.tables.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", [(key, value), ("count", str(count))])
        self.tables.execute("COMMIT")

    def get(self, key: str) -> str | None:
        row = self.tables.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        return row and row[0]

    def close(self) -> None:
        self.tables.close()


class DuckDbWithCheckpoints(DuckDb):
    """`DuckDb` writes too little for a checkpoint by itself."""

    def put(self, key: str, value: str, count: int) -> None:
        super().put(key, value, count)
        self.tables.execute("CHECKPOINT")


class LevelDb(Store):
    def __init__(self, path: str, is_durable: bool) -> None:
        import plyvel

        self.is_durable = is_durable
        # With `paranoid_checks` it does not open after cuts within a write: the last record of its log is there in part.
        self.keys = plyvel.DB(path, create_if_missing=True, write_buffer_size=1 << 16)

    def put(self, key: str, value: str, count: int) -> None:
        with self.keys.write_batch(sync=self.is_durable) as batch:
            batch.put(key.encode(), value.encode())
            batch.put(b"count", str(count).encode())

    def get(self, key: str) -> str | None:
        found = self.keys.get(key.encode())
        return found and found.decode()

    def close(self) -> None:
        self.keys.close()


class Lmdb(Store):
    def __init__(self, path: str, is_durable: bool) -> None:
        import lmdb

        self.keys = lmdb.open(path, map_size=8 << 20, sync=is_durable)

    def put(self, key: str, value: str, count: int) -> None:
        with self.keys.begin(write=True) as transaction:
            transaction.put(key.encode(), value.encode())
            transaction.put(b"count", str(count).encode())

    def get(self, key: str) -> str | None:
        with self.keys.begin() as transaction:
            found = transaction.get(key.encode())
        return found and found.decode()

    def close(self) -> None:
        self.keys.close()


class RocksDb(Store):
    def __init__(self, path: str, is_durable: bool) -> None:
        import rocksdict

        options = rocksdict.Options()
        options.create_if_missing(True)
        options.set_write_buffer_size(1 << 16)
        self.keys = rocksdict.Rdict(path, options)
        self.how = rocksdict.WriteOptions()
        self.how.sync = is_durable
        self.batch = rocksdict.WriteBatch

    def put(self, key: str, value: str, count: int) -> None:
        batch = self.batch()
        batch.put(key, value)
        batch.put("count", str(count))
        self.keys.write(batch, self.how)

    def get(self, key: str) -> str | None:
        return self.keys.get(key)

    def close(self) -> None:
        self.keys.close()


class Redis(Store):
    def __init__(self, path: str, is_durable: bool) -> None:
        import socket

        os.makedirs(path, exist_ok=True)
        place = os.path.join(os.environ["NANDARIUM_FOLDER"], "redis.sock")
        options = {"port": "0", "unixsocket": place, "dir": path, "save": "", "appendonly": "yes"}
        options["appendfsync"] = "always" if is_durable else "everysec"
        words = [word for name, text in options.items() for word in (f"--{name}", text)]
        self.server = subprocess.Popen(["redis-server", *words], stdout=subprocess.PIPE, text=True)
        self.socket = socket.socket(socket.AF_UNIX)
        while self.socket.connect_ex(place):
            if self.server.poll() is not None:
                self.ended()
            time.sleep(0.002)
        self.answers = self.socket.makefile("rb")
        while self.ask("PING") != "PONG":
            time.sleep(0.002)

    def ask(self, *words: str) -> str | None:
        """The answer to a command; an error begins with `-`."""
        try:
            self.socket.sendall(f"*{len(words)}\r\n".encode() + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
            line = self.answers.readline().decode().rstrip()
        except ConnectionError:
            line = ""
        if not line:
            self.ended()
        if line[0] == "$":
            return None if line == "$-1" else self.answers.read(int(line[1:]) + 2)[:-2].decode()
        return line if line[0] == "-" else line[1:]

    def ended(self) -> NoReturn:
        warnings = [line for line in self.server.stdout if " # " in line and "bye bye" not in line]
        sys.exit(f"redis-server has ended: {warnings[-1]}")

    def put(self, key: str, value: str, count: int) -> None:
        if self.ask("MSET", key, value, "count", str(count)) != "OK":
            sys.exit("redis-server refuses a write")
        if count == TRANSACTIONS // 2:
            self.ask("BGREWRITEAOF")
        while count == TRANSACTIONS * 3 // 4 and "rewrite_in_progress:1" in (self.ask("INFO", "persistence") or ""):
            time.sleep(0.01)

    def get(self, key: str) -> str | None:
        return self.ask("GET", key)

    def close(self) -> None:
        self.server.terminate()
        self.server.wait()

    def kill(self) -> None:
        # While a flush takes long, `everysec` keeps answered writes in memory. A kill would lose them without any cut.
        while "aof_buffer_length:0\r\n" not in (self.ask("INFO", "persistence") or ""):
            time.sleep(0.01)
        self.server.kill()
        self.server.wait()


class PostgreSql(Store):
    """In single-user mode: a server with all its processes takes longer to start."""

    def __init__(self, path: str, is_durable: bool) -> None:
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        # It does not run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if not os.path.exists(path):
            os.mkdir(path)
            shutil.chown(path, self.user or os.geteuid())
            options = ["--no-sync", "--data-checksums", "--locale=C", "--auth=trust", "--wal-segsize=1"]
            subprocess.run([f"{programs}/initdb", *options, path], user=self.user, stdout=subprocess.DEVNULL, check=True)
        settings = [f"fsync={'on' if is_durable else 'off'}", "shared_buffers=1MB", "recovery_init_sync_method=syncfs"]
        words = [f"{programs}/postgres", "--single", "-D", path, *(word for text in settings for word in ("-c", text)), "postgres"]
        self.server = subprocess.Popen(words, user=self.user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.answer()
        self.ask("CREATE TABLE IF NOT EXISTS kept (key text PRIMARY KEY, value text)")

    def answer(self) -> str:
        """All until the next prompt."""
        found = b""
        while not found.endswith(b"backend> "):
            part = self.server.stdout.read1()
            if not part:
                sys.exit(f"postgres has ended: {self.server.stderr.read().decode().splitlines()[-1]}")
            found += part
        return found.decode()

    def ask(self, command: str) -> str:
        self.server.stdin.write(command.encode() + b"\n")
        self.server.stdin.flush()
        return self.answer()

    def put(self, key: str, value: str, count: int) -> None:
        self.ask(f"INSERT INTO kept VALUES ('{key}', '{value}'), ('count', '{count}') ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        if count == TRANSACTIONS // 2:
            self.ask("CHECKPOINT")

    def get(self, key: str) -> str | None:
        found = re.search(' = "(.*)"\t', self.ask(f"SELECT value FROM kept WHERE key = '{key}'"))
        return found and found[1]

    def close(self) -> None:
        self.server.stdin.close()
        self.server.wait()

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()


STORES: dict[str, type[Store]] = {
    "duckdb": DuckDb,
    "duckdb-checkpoint": DuckDbWithCheckpoints,
    "leveldb": LevelDb,
    "lmdb": Lmdb,
    "postgresql": PostgreSql,
    "redis": Redis,
    "rocksdb": RocksDb,
}


def append(store: Store) -> None:
    for number in range(TRANSACTIONS):
        store.put(f"{number:04}", value(number), number + 1)
        print(number, flush=True)
    store.kill()
    # The process ends as a crash would end it: closing would tidy up.
    os._exit(0)


def verify(store: Store) -> None:
    promised = len(open(os.environ["NANDARIUM_SAID"]).readlines())
    count = int(store.get("count") or 0)
    for number in range(TRANSACTIONS):
        found = store.get(f"{number:04}")
        if found != (value(number) if number < count else None):
            sys.exit(f"{count} transactions are counted, and value {number} is {'absent' if found is None else 'not as it was put'}")
    if count < promised:
        sys.exit(f"{promised} transactions were answered, and {count} are there")
    store.kill()
    os._exit(0)


def main(name: str, what: str, how: str = "durable") -> None:
    store = STORES[name](os.path.join(os.environ["NANDARIUM_MOUNT"], "store"), how != "careless")
    if what == "prepare":
        store.close()
        os.sync()
    else:
        {"append": append, "verify": verify}[what](store)


if __name__ == "__main__":
    main(*sys.argv[1:])
