"""The plugin for pytest: runs with limits, a served drive whose power can be cut, and power loss in a test's own process.

pytest finds it by itself once the package is installed. docs/guides/ci.md has an example of each fixture.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote

import pytest

from ._life import life
from ._run import AnyStack, compare, run
from ._scratch import MARK, scratch_folder
from ._stack import Stack
from ._torture import Tortured
from ._torture import torture as _torture
from ._values import Settings, pairs
from .errors import SimulationError

__all__ = ["Runs", "ServedDrive", "nandarium", "nandarium_drive", "torture"]

READY_WITHIN = 60
"""Seconds that a served drive has to begin: it may be preconditioned first."""

_Given = ParamSpec("_Given")
_Told = TypeVar("_Told")

_shown = pytest.StashKey[list[Callable[[], tuple[str, str]]]]()
"""Titles and texts for the report of a test, made if it fails."""


class Runs:
    """`nandarium.run`, `compare` and `life`, with their arguments. A test that fails shows the results."""

    def __init__(self, keep: Callable[[object], object]) -> None:
        self.run = _kept(run, keep)
        self.compare = _kept(compare, keep)
        self.life = _kept(life, keep)


def _kept(call: Callable[_Given, _Told], keep: Callable[[object], object]) -> Callable[_Given, _Told]:
    @wraps(call)
    def kept(*given: _Given.args, **options: _Given.kwargs) -> _Told:
        result = call(*given, **options)
        keep(result)
        return result

    return kept


class ServedDrive:
    """A drive that `nandarium serve` offers on a unix socket until the end of a test, or of the tests' process.

    Attributes:
        path: the socket.
        uri: the address for NBD clients, such as ``nbdcopy`` and ``fio --ioengine=nbd``.
    """

    def __init__(self, folder: Path, stack: AnyStack, settings: Settings) -> None:
        self.path = folder / "drive.sock"
        self.uri = f"nbd+unix:///?socket={quote(str(self.path))}"
        Stack.of(stack).save(folder / "stack.toml")
        given = [part for key, value in pairs(settings) for part in ("--set", f"{key}={value}")]
        self._said = folder / "said"
        command = [sys.executable, "-m", "nandarium", "serve", "--stack", str(folder / "stack.toml"), "--socket", str(self.path), "--quiet", *given]
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={**os.environ, MARK: str(folder)})
        end = time.monotonic() + READY_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self.end()
                raise SimulationError(f"the drive does not begin: {self._said.read_text(encoding='utf-8').strip() or 'it takes too long'}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self.ctl("live")
        except OSError:
            return False
        return True

    def ctl(self, command: str) -> dict[str, Any]:
        """Sends a command, as ``nandarium ctl`` does, such as ``"smart"`` or ``"fault reads 0.1%"``. Returns the answer.

        Raises:
            ValueError: the drive does not know the command.
            OSError: the drive has ended.
        """
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{self.path}.ctl")
            client.sendall(f"{command}\n".encode())
            answer = json.loads(client.makefile().readline() or "{}")
        if "ok" not in answer:
            raise ValueError(f"{command}: {answer.get('error', 'the drive gave no answer')}")
        told: dict[str, Any] = answer["ok"]
        return told

    def fault(self, text: str) -> None:
        """Lets something fail from now on, such as ``"flip writes share 1%"`` or ``"off"``; ``nandarium explain faults`` has all of them.

        Raises:
            ValueError: there is no such fault, with the reason.
        """
        self.ctl(f"fault {text}")

    def fault_log(self, first: int = 0) -> list[dict[str, Any]]:
        """The faults that were given and the requests that they have hit, in order, from the entry `first` on."""
        entries: list[dict[str, Any]] = []
        while True:
            answer = self.ctl(f"fault-log {first + len(entries)}")
            entries += answer["entries"]
            if not answer["entries"]:
                return entries

    def cut(self, seed: int = 1) -> None:
        """Cuts the power, and gives it back at once. Clients lose their connection, and writes without a flush may be lost."""
        self.ctl(f"power-cut {seed}")

    def end(self) -> None:
        """Ends the server."""
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def nandarium(request: pytest.FixtureRequest) -> Runs:
    """Runs whose results stand in the report of a test that fails."""
    shown = request.node.stash.setdefault(_shown, [])
    return Runs(lambda result: shown.append(lambda: ("nandarium", str(result))))


@pytest.fixture
def nandarium_drive(request: pytest.FixtureRequest) -> Iterator[ServedDrive]:
    """A drive on a unix socket. ``@pytest.mark.nandarium(stack="page", settings={...})`` chooses it."""
    marker = request.node.get_closest_marker("nandarium")
    options = {} if marker is None else marker.kwargs
    # The folder of a test may be too deep for the path of a socket.
    with scratch_folder() as folder:
        drive = ServedDrive(folder, options.get("stack", "page"), options.get("settings", {}))
        shown = request.node.stash.setdefault(_shown, [])
        shown.append(lambda: ("nandarium drive", json.dumps(drive.ctl("smart"), indent=2)))
        try:
            yield drive
        finally:
            drive.end()


@pytest.fixture(name="torture")
def torture() -> Callable[..., Tortured]:
    """`nandarium.torture`, but a state that fails is a test that fails."""

    def run(*given: object, **options: object) -> Tortured:
        tortured = _torture(*given, **options)  # type: ignore[arg-type]
        if not tortured:
            pytest.fail(tortured.text, pytrace=False)
        return tortured

    return run


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", "nandarium(stack, settings): the drive of the fixture nandarium_drive.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts results into the report of a test that has failed."""
    report = yield
    if report.when == "call" and report.failed:
        for show in item.stash.get(_shown, []):
            try:
                report.sections.append(show())
            except OSError as gone:
                report.sections.append(("nandarium", f"the drive does not answer: {gone}"))
    return report
