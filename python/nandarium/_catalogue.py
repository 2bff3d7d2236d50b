"""Stacks, parts, workloads, formats and keys, by name."""

from __future__ import annotations

from typing import NamedTuple

from . import _nandarium


class Key(NamedTuple):
    """A configuration key: its default as text (``None``: unset), the form of its values, and its meaning."""

    default: str | None
    values: str
    doc: str


def stacks() -> dict[str, str]:
    """Built-in stacks, each with a line about it.

    Example:
        >>> import nandarium as nd
        >>> "two-level" in nd.stacks()
        True
    """
    return dict(_nandarium.items("stacks"))


def drives() -> dict[str, str]:
    """Stacks that stand for drives for sale, each with a line about it.

    Example:
        >>> import nandarium as nd
        >>> "micron-7450-max-like" in nd.drives()
        True
    """
    return dict(_nandarium.items("drives"))


def workloads() -> dict[str, str]:
    """Built-in workloads, each with a line about it."""
    return dict(_nandarium.items("workloads"))


def parts() -> dict[str, str]:
    """Built-in flash parts (``flash.part``), each with a line about it."""
    return dict(_nandarium.items("parts"))


def formats() -> dict[str, str]:
    """Trace formats, each with a line about it."""
    return dict(_nandarium.items("formats"))


def policies() -> dict[str, str]:
    """Mappings, victim policies, stripe schemes and read policies, each with its key and a line about it; registered ones as well."""
    return dict(_nandarium.items("policies"))


def keys() -> dict[str, Key]:
    """Every configuration key.

    Example:
        >>> import nandarium as nd
        >>> nd.keys()["ftl.gc.victim"].default
        'greedy'
    """
    return {key: Key(default, values, doc) for key, default, values, doc in _nandarium.keys()}


def explain(name: str) -> str:
    """The text of ``nandarium explain`` about a key, a group of keys, a policy, workload, part, stack, format or term.

    For other words it gives the names whose texts have all of them.

    Raises:
        KeyError: no name and no text has the words; the message names the closest name.
    """
    return _nandarium.explain(name)
