"""Runs the commands that the samples of `samples/torture` show, each store that can be had among them: `make samples-test`.

    NANDARIUM=target/debug/nandarium python3 python/tests/samples.py [NAME...]

A name is a file (`sqlite.py`) or a store (`leveldb`); by default all of them run. A sample that cannot run here is named with the reason, and is no
failure. Each sample states in its commands what must hold: a command with a careless setting must find a failure (exit code 3), and others must find none.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "samples/torture"
# States of a run without a failure. The careless settings fail within 25 states, and one in DuckDB's metadata only after 1,100.
STATES, MOST_STATES = 60, 500
# Settings that leave out what a promise needs.
CARELESS = re.compile(r"\b(careless|unrepaired|OFF|NORMAL)\b")


class Need(NamedTuple):
    """What a store or a sample is run with, and where it comes from."""

    package: str = ""
    module: str = ""
    program: str = ""
    debian: str = ""


NEEDS: dict[str, Need] = {
    "duckdb": Need(package="duckdb", module="duckdb"),
    "duckdb-checkpoint": Need(package="duckdb", module="duckdb"),
    "leveldb": Need(package="plyvel==1.5.1", module="plyvel"),
    "lmdb": Need(package="lmdb", module="lmdb"),
    "postgresql": Need(program="/usr/lib/postgresql/*/bin/postgres", debian="postgresql"),
    "redis": Need(program="redis-server", debian="redis-server"),
    "rocksdb": Need(package="rocksdict", module="rocksdict"),
    "littlefs_in_process.py": Need(package="littlefs-python", module="littlefs"),
    "sqlite_in_process.py": Need(package="apsw", module="apsw"),
    "stores_go": Need(program="go"),
}


class Missing(Exception):
    """A sample cannot run on this machine."""


def is_there(need: Need) -> bool:
    importlib.invalidate_caches()
    has_module = not need.module or importlib.util.find_spec(need.module) is not None
    return has_module and (not need.program or shutil.which(need.program) is not None or bool(glob.glob(need.program)))


def obtain(need: Need) -> None:
    """Installs a package of Python or of Debian.

    Raises:
        Missing: it cannot be installed.
    """
    command = []
    if need.package:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        command += ["-c", str(ROOT / "python/requirements-test.txt"), need.package]
    elif need.debian and os.geteuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", need.debian]
    if not is_there(need) and command:
        subprocess.run(command, stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False)
    if not is_there(need):
        wanted = need.package or need.debian or need.program
        raise Missing(f"{wanted} is missing" + (f", and could not be installed ({shlex.join(command)})" if command else ": install it"))


def commands(text: str) -> Iterator[str]:
    """The commands in the head of a sample: lines that are indented by four spaces or a tab, joined where they go on."""
    shown = [match[1] for line in text.splitlines()[1:40] if (match := re.match(r"(?://)?(?: {4}|\t)(?! *\|)(\S.*| {4}\S.*)$", line))]
    joined = "\n".join(shown).replace("\\\\\n", "\\\n").replace("\\\n", " ")
    yield from (command.partition("  #")[0].strip() for command in joined.splitlines())


def shown(file: str) -> tuple[list[str], list[str]]:
    """Commands that prepare others, and the others."""
    path = FOLDER / (f"{file}/main.go" if file == "stores_go" else file)
    head = path.read_text(encoding="utf-8").split('"""' if path.suffix == ".py" else "package main")[1 if path.suffix == ".py" else 0]
    found = [command for command in commands("\n" + head if path.suffix == ".py" else head)]
    prepare = [command for command in found if command.startswith(("store=", "(cd "))]
    return prepare, [command for command in found if command.startswith(("nandarium", "samples/")) and " list " not in command]


def cases() -> Iterator[tuple[str, str, str, str]]:
    """Of each case its name, its file, and the words of its command that are replaced, before and after."""
    for path in sorted(FOLDER.iterdir()):
        if path.name == "stores.py":
            yield from ((store, path.name, "stores.py leveldb", f"stores.py {store}") for store in NEEDS if "." not in store and store != "stores_go")
        elif path.name == "stores_go":
            yield from ((store, path.name, "bbolt", store) for store in ("bbolt", "badger"))
        elif path.suffix == ".py":
            yield path.name, path.name, "", ""


def run(script: str, folder: Path) -> tuple[int, str]:
    """Runs a command in the root of the project, with fewer states where it is `nandarium`."""
    states = MOST_STATES if CARELESS.search(script) else STATES
    wrapped = f'nandarium() {{ "$NANDARIUM" "$@" --states {states} --quiet --out {shlex.quote(str(folder / "out"))}; }}\n'
    done = subprocess.run(["bash", "-c", wrapped + script], cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    return done.returncode, done.stdout + done.stderr


def check(file: str, before: str, after: str, need: Need | None, folder: Path) -> int:
    """Runs the commands of a case. The number of commands.

    Raises:
        Missing: they cannot run here.
        AssertionError: a command found something else than it must.
    """
    if need:
        obtain(need)
    prepare, found = shown(file)
    assert found, f"{file} shows no command"
    if any("--mount" in command for command in found) and (os.geteuid() != 0 or not Path("/dev/loop-control").exists()):
        raise Missing("mounting takes root and a loop device")
    if file.endswith("_in_process.py") and importlib.util.find_spec("nandarium") is None:
        raise Missing("the package nandarium is not installed in this Python (make python-test)")
    if file == "stores_go":
        # The head shows the durable command; its text tells the careless word.
        found += [command.replace(" append'", " append careless'") for command in found]
    for command in found:
        script = "\n".join([*prepare, command]).replace(before, after) if before else command
        code, told = run(script, folder)
        expected = 3 if CARELESS.search(command) else 0
        assert code == expected, f"{command}\nexit code {code}, and not {expected}:\n{told}"
    return len(found)


def main(names: list[str]) -> int:
    python = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{python}:{os.environ['PATH']}:/usr/local/go/bin:/usr/sbin:/sbin"
    os.environ["NANDARIUM"] = str(Path(os.environ.get("NANDARIUM", "target/release/nandarium")).resolve())
    known = {name: (file, before, after) for name, file, before, after in cases()}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no sample is called {unknown[0]}; there are {', '.join(known)}")
    passed, failed, absent = 0, 0, 0
    for name in names or known:
        file, before, after = known[name]
        try:
            with tempfile.TemporaryDirectory() as folder:
                count = check(file, before, after, NEEDS.get(name, NEEDS.get(file)), Path(folder))
            print(f"samples-test: {name}: {count} commands found what they must", flush=True)
            passed += 1
        except Missing as reason:
            print(f"samples-test: {name}: not run here: {reason}", flush=True)
            absent += 1
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            print(f"samples-test: {name}: FAILS: {problem}", flush=True)
            failed += 1
    print(f"{passed} passed, {failed} failed, {absent} skipped")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
