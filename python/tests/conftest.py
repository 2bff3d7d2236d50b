"""What the tests share: a drive as small as a drive can be, and the command line beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TINY = {
    "drive.capacity": "64MiB",
    "flash.channels": 2,
    "flash.dies_per_channel": 2,
    "flash.pages_per_block": 64,
}
"""A drive of a few hundred blocks."""

USED = {**TINY, "drive.precondition": "overwrite"}
"""The same, written over before it is measured, so that it collects from the first request on."""


@pytest.fixture
def tiny() -> dict[str, Any]:
    return dict(TINY)


@pytest.fixture
def used() -> dict[str, Any]:
    return dict(USED)


def console(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command the package installs."""
    command = Path(sys.executable).parent / "nandarium"
    return subprocess.run([str(command), *arguments], capture_output=True, text=True, timeout=120, **options)


def program() -> str:
    """The program built from the same sources (NANDARIUM), or else the installed command."""
    return os.environ.get("NANDARIUM") or str(Path(sys.executable).parent / "nandarium")


def native(*arguments: str) -> dict[str, Any]:
    """The result of that program."""
    done = subprocess.run([program(), *arguments, "--json", "--quiet", "--no-snapshots"], capture_output=True, text=True, timeout=120, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def sets(settings: dict[str, Any]) -> list[str]:
    """Settings as arguments."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
