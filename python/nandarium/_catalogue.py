"""Stacks, parts, workloads, formats and keys, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from . import _nandarium, _shown


class Policy(NamedTuple):
    """A policy: the key that selects it, its idea, and when to use it at which cost (empty: nobody has said)."""

    key: str
    doc: str
    when: str


Item = TypeVar("Item", bound="str | tuple[Any, ...]")


class Catalogue(dict[str, Item]):
    """Names with texts about them: a dict that a notebook shows as a table."""

    def __init__(self, title: str, items: Iterable[tuple[str, Item]]) -> None:
        super().__init__(items)
        self.title = title

    def __reduce__(self) -> tuple[Any, ...]:
        return Catalogue, (self.title, list(self.items()))

    def _repr_html_(self) -> str:
        texts = {name: (text,) if isinstance(text, str) else text for name, text in self.items()}
        head = ["name", *next((getattr(each, "_fields", ("description",)) for each in self.values()), ())]
        return _shown.items(self.title, head, [(name, *("" if part is None else str(part) for part in parts)) for name, parts in texts.items()])


class Key(NamedTuple):
    """A configuration key: its default as text (``None``: unset), the form of its values, and its meaning."""

    default: str | None
    values: str
    doc: str


def stacks() -> Catalogue[str]:
    """Built-in stacks, each with a line about it.

    Example:
        >>> import nandarium as nd
        >>> "two-level" in nd.stacks()
        True
    """
    return Catalogue("Stacks", _nandarium.items("stacks"))


def drives() -> Catalogue[str]:
    """Stacks that stand for drives for sale, each with a line about it.

    Example:
        >>> import nandarium as nd
        >>> "micron-7450-max-like" in nd.drives()
        True
    """
    return Catalogue("Drives", _nandarium.items("drives"))


def workloads() -> Catalogue[str]:
    """Built-in workloads, each with a line about it."""
    return Catalogue("Workloads", _nandarium.items("workloads"))


def parts() -> Catalogue[str]:
    """Built-in flash parts (``flash.part``), each with a line about it."""
    return Catalogue("Flash parts", _nandarium.items("parts"))


def formats() -> Catalogue[str]:
    """Trace formats, each with a line about it."""
    return Catalogue("Trace formats", _nandarium.items("formats"))


def policies() -> Catalogue[Policy]:
    """Mappings, victim policies, stripe schemes and read policies by name, registered ones as well.

    Example:
        >>> import nandarium as nd
        >>> nd.list_policies()["greedy"].key
        'ftl.gc.victim'
    """
    return Catalogue("Policies", [(name, Policy(*about)) for name, *about in _nandarium.policies()])


def keys() -> Catalogue[Key]:
    """Every configuration key.

    Example:
        >>> import nandarium as nd
        >>> nd.keys()["ftl.gc.victim"].default
        'greedy'
    """
    return Catalogue("Keys", [(key, Key(default, values, doc)) for key, default, values, doc in _nandarium.keys()])


def explain(name: str) -> str:
    """The text of ``nandarium explain`` about a key, a group of keys, a policy, workload, part, stack, format or term.

    For other words it gives the names whose texts have all of them.

    Raises:
        KeyError: no name and no text has the words; the message names the closest name.
    """
    return _nandarium.explain(name)
