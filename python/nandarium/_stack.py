"""Stacks: the layers and flash of a drive."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from . import _nandarium
from ._values import Settings, Value, pairs, text_of, toml_of
from .errors import ConfigError


class Shape(NamedTuple):
    """Sizes of a drive: pages the user sees, and blocks, pages of a block and dies of its flash."""

    user_pages: int
    blocks: int
    pages_per_block: int
    dies: int


@dataclass(frozen=True)
class Stack:
    """A drive: a built-in stack or a stack file, and keys that are changed.

    It is checked when it is used: `resolved`, `shape`, `nandarium.run`. Problems are raised as a
    `ConfigError` then; an empty text as the base at once.

    Attributes:
        base: a name from `stacks()`, the path of a TOML file, or ``None`` for the defaults alone.
        settings: keys and values laid over it; sizes, times and shares are texts with their unit.
        name: its name in results; by default the base and its settings, as the command line writes them.
        description: a line about it.

    Example:
        >>> import nandarium as nd
        >>> stack = nd.Stack("page", {"drive.capacity": "1GiB"}).set({"ftl.gc.victim": "fifo"})
        >>> stack.name
        'page+drive.capacity=1GiB+ftl.gc.victim=fifo'
        >>> stack.resolved()["ftl.gc.victim"]
        'fifo'
    """

    base: str | None = "page"
    settings: Settings = field(default_factory=dict)
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.settings, Mapping):
            raise TypeError("settings of a stack are a mapping of keys to values")
        if self.base == "":
            # As the text of a file it would mean no base, which is None here.
            raise ConfigError("the stack is an empty text; give a built-in one, for example \"page\" (nandarium.stacks() lists them), or the path of a stack file")
        object.__setattr__(self, "settings", dict(self.settings))
        if not self.name:
            stem = Path(self.base).stem if self.base and self.base.endswith(".toml") else self.base or "stack"
            object.__setattr__(self, "name", "+".join([stem, *(f"{key}={text_of(key, value)}" for key, value in self.settings.items())]))

    def __hash__(self) -> int:
        return hash((self.base, tuple(sorted(pairs(self.settings))), self.name))

    def set(self, settings: Settings, *, name: str = "") -> Stack:
        """The same stack with further keys changed."""
        return replace(self, settings={**self.settings, **settings}, name=name)

    @classmethod
    def of(cls, stack: Stack | str | os.PathLike[str]) -> Stack:
        """A stack given as one, as a name, as a file, or as ``"page+ftl.gc.victim=fifo"``.

        Raises:
            ConfigError: a part behind a ``+`` without a ``=``.
        """
        if isinstance(stack, Stack):
            return stack
        path = os.fspath(stack)
        if "+" not in path or os.path.exists(path):
            return cls(path)
        base, *parts = path.split("+")
        settings: dict[str, Value] = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not equals:
                raise ConfigError(f"stack `{path}`: write NAME+key=value, for example page+ftl.gc.victim=fifo")
            settings[key.strip()] = value.strip()
        return cls(base, settings, name=path)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "") -> Stack:
        """A stack from the text of a stack file.

        Raises:
            ConfigError: the text is no TOML, or has a list or a date in it.
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise ConfigError(f"{name or 'stack'}: {problem}") from None
        base, description = table.pop("extends", None), table.pop("description", "")
        return cls(base, dict(_flat("", table)), name=name, description=description)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Stack:
        """A stack from a stack file, as `save` and people write them.

        Raises:
            OSError: the file cannot be read.
            ConfigError: as `from_toml`.
        """
        return cls.from_toml(Path(path).read_text(encoding="utf-8"), name=Path(path).stem)

    def to_toml(self) -> str:
        """The text of a stack file that means this stack, also for ``nandarium run --stack FILE``."""
        head = [f"{key} = {toml_of(key, text)}" for key, text in (("description", self.description), ("extends", self.base)) if text]
        return "\n".join([*head, *(f"{key} = {toml_of(key, value)}" for key, value in self.settings.items())]) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_toml` to a file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    def resolved(self) -> dict[str, str]:
        """Every key that has a value, with the value as text.

        Raises:
            ConfigError: an unknown key, a value out of range, no such stack.
        """
        return _nandarium.resolve(self.name, self.to_toml(), [])

    def shape(self) -> Shape:
        """Sizes of the drive.

        Raises:
            ConfigError: as `resolved`, or values that do not fit together.
        """
        return Shape(*_nandarium.checked(self.name, self.to_toml(), []))


def _flat(prefix: str, table: dict[str, Any]) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = []
    for name, value in table.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict):
            found.extend(_flat(key, value))
        elif isinstance(value, (str, bool, int, float)):
            found.append((key, value))
        else:
            raise ConfigError(f"`{key}` is {type(value).__name__}; write a text in quotes, a number, true or false")
    return found
