"""Values of configuration keys, as stack files write them."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = str | bool | int | float
"""A size or time is a text with its unit (``"4KiB"``, ``"25us"``, ``"7%"``), a count a number, a switch a bool."""

Settings: TypeAlias = Mapping[str, Value]
"""Values by key, such as ``{"drive.capacity": "1GiB"}``; ``keys()`` lists the keys."""


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
        raise TypeError(f"{key} is {value!r}; give a str, an int, a float or a bool") from None


def toml_of(key: str, value: object) -> str:
    """A value as a stack file has it."""
    text = text_of(key, value)
    return json.dumps(text, ensure_ascii=False) if isinstance(value, (str, os.PathLike)) else text


def pairs(settings: Settings | None) -> list[tuple[str, str]]:
    """Keys and texts, in the order given."""
    return [(key, text_of(key, value)) for key, value in (settings or {}).items()]
