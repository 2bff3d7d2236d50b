"""Values of configuration keys, as stack files write them."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from . import _nandarium
from .errors import SimulationError

Value: TypeAlias = str | bool | int | float
"""A size or time is a text with its unit (``"4KiB"``, ``"25us"``, ``"7%"``), a count a number, a switch a bool."""

Settings: TypeAlias = Mapping[str, Value]
"""Values by key, such as ``{"drive.capacity": "1GiB"}``; ``keys()`` lists the keys."""


def shown(value: object) -> str:
    """A value as a message tells it: of a name of 100 kB its beginning."""
    return _nandarium.readable(repr(value))


def text_of(key: str, value: object) -> str:
    """A value as ``--set`` takes it.

    Raises:
        TypeError: of a kind that no key takes.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{key} is {shown(value)}; give a str, an int, a float or a bool") from None


def toml_of(key: str, value: object) -> str:
    """A value as a stack file has it."""
    text = text_of(key, value)
    return json.dumps(text, ensure_ascii=False) if isinstance(value, (str, os.PathLike)) else text


def pairs(settings: Settings | None) -> list[tuple[str, str]]:
    """Keys and texts, in the order given.

    Raises:
        TypeError: no mapping of texts, or a value of a kind that no key takes.
    """
    if settings is None:
        return []
    if not isinstance(settings, Mapping):
        raise TypeError(f"settings is {shown(settings)}; give a dict of keys and values, such as {{\"drive.capacity\": \"1GiB\"}}")
    for key in settings:
        if not isinstance(key, str):
            raise TypeError(f"settings has the key {shown(key)}; keys are texts, such as \"drive.capacity\"")
    return [(key, text_of(key, value)) for key, value in settings.items()]


def whole(name: str, value: object, limit: str = "", *, least: int | None = None, most: int | None = None) -> int:
    """An argument that is a whole number, NumPy's included.

    Args:
        limit: the accepted values, for the message.
        least, most: the same in numbers, both included.

    Raises:
        TypeError: no whole number.
        ValueError: out of range.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; give a whole number{limit and f': {limit}'}") from None
    if least is not None and number < least or most is not None and number > most:
        raise ValueError(f"{name} is {shown(number)}; {limit}")
    return number


def threads_of(name: str, what: str, count: object) -> int | None:
    """An argument that is a number of threads, or ``None``.

    Raises:
        TypeError: no whole number.
        ValueError: out of range.
    """
    limit = f"{what} on 1 to {_nandarium.MOST_THREADS} threads"
    return None if count is None else whole(name, count, limit, least=1, most=_nandarium.MOST_THREADS)


def path_of(name: str, path: str | os.PathLike[str], example: str = 'for example "out", or "." for the current folder') -> Path:
    """An argument that is the path of a file or folder to write.

    Raises:
        ValueError: an empty text, which as a folder would be the one the caller happens to be in.
    """
    if not os.fspath(path):
        raise ValueError(f"{name} is empty; give a path, {example}")
    return Path(path)


def written(path: Path, text: str) -> None:
    """Writes a file.

    Raises:
        SimulationError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise SimulationError(f"{path} could not be written: {problem.strerror}") from None
