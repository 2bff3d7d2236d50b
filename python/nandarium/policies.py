"""Policies written in Python, selected by name like the built-in ones.

A policy is a class, of which each drive gets an instance of its own, or a function. It is called with a view of the
candidates as they are at that moment, and answers with the index of one of them; ``None`` is no answer. Views are copies: they may be kept,
and nothing done to them changes the drive.

A run with a policy that depends on nothing but its views, its own state and ``view.below`` gives the same hash every
time; the simulator cannot see to that. The preconditioned state of such a drive is never kept in a snapshot, and a
policy object does not outlive a phase: preconditioning and the measured run have one each.

docs/guides/python.md tells the cost of a call.

Example:
    >>> import nandarium as nd
    >>> @nd.policies.victim("least-worn")
    ... def least_worn(view):
    ...     return view.erases.argmin()
    >>> nd.run("page+ftl.gc.victim=least-worn", settings={"drive.capacity": "1GiB"}, requests=5000).status
    'complete'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, SupportsIndex, TypeVar

from . import _nandarium
from ._nandarium import CommitView, EvictionView, VictimView

__all__ = ["CommitPolicy", "CommitView", "EvictionPolicy", "EvictionView", "VictimPolicy", "VictimView", "commit", "eviction", "victim"]


class VictimPolicy(Protocol):
    """Chooses the block that garbage collection cleans next (``ftl.gc.victim``)."""

    def pick(self, view: VictimView, /) -> SupportsIndex:
        """The index of a candidate, from 0 to ``len(view) - 1``. It is asked when room is needed, so it cannot decline.

        Full blocks are among the candidates (``view.valid == view.pages_per_block``), and collecting one gives no room:
        choosing nothing else while other blocks have invalid pages ends the run with a `PolicyError`.

        Raises:
            Exception: ends the run, and comes out of it as it is. ``None``, or another answer that is no index of a
                candidate, ends it with a `PolicyError`.
        """
        ...


class EvictionPolicy(Protocol):
    """Chooses the page that leaves a write buffer (``buffer.kind``).

    The rest of the buffer is as in ``page-only``: ``buffer.flush_unit`` says whether the page leaves alone or with
    its logical block.
    """

    def pick(self, view: EvictionView, /) -> SupportsIndex:
        """The index of a page, from 0 to ``len(view) - 1``; 0 is the one written longest ago.

        Raises:
            Exception: as `VictimPolicy.pick`, ``None`` included.
        """
        ...


class CommitPolicy(Protocol):
    """Chooses the delayed parity that is written when room is needed (``stripe.cache.victim``)."""

    def pick(self, view: CommitView, /) -> SupportsIndex:
        """The index of a stripe, from 0 to ``len(view) - 1``; 0 is the one updated longest ago.

        Raises:
            Exception: as `VictimPolicy.pick`, ``None`` included.
        """
        ...


_Policy = TypeVar("_Policy", bound=Callable[..., Any])


def _maker(policy: Callable[..., Any]) -> Callable[[], Callable[[Any], SupportsIndex]]:
    if isinstance(policy, type):
        if not callable(getattr(policy, "pick", None)):
            raise TypeError(f"{policy.__name__} has no method pick(view), which a policy needs")
        return lambda: policy().pick
    if not callable(policy):
        raise TypeError("a policy is a class with a method pick(view), or a function of a view")
    return lambda: policy


def _doc(policy: Callable[..., Any], doc: str | None) -> str:
    return doc or (policy.__doc__ or "a policy written in Python").strip().splitlines()[0]


def victim(name: str, *, doc: str | None = None) -> Callable[[_Policy], _Policy]:
    """Registers a `VictimPolicy` class, or a function of a `VictimView`, as ``ftl.gc.victim = name``.

    Args:
        name: lower-case letters, digits and hyphens. A name used again means the new policy from then on.
        doc: a line for `policies()`; by default the first of the docstring.

    Raises:
        ConfigError: a built-in policy has this name, or it is no name.
        TypeError: neither a class with ``pick`` nor a function.
    """

    def register(policy: _Policy) -> _Policy:
        _nandarium.register_victim(name, _doc(policy, doc), _maker(policy))
        return policy

    return register


def eviction(name: str, *, doc: str | None = None) -> Callable[[_Policy], _Policy]:
    """Registers an `EvictionPolicy` class, or a function of an `EvictionView`, as ``buffer.kind = name``.

    Takes the arguments and raises the errors of `victim`.

    Example:
        >>> import nandarium as nd
        >>> @nd.policies.eviction("least-used")
        ... def least_used(view):
        ...     return view.writes.argmin()
        >>> small = {"drive.capacity": "1GiB", "buffer.size": "1MiB"}
        >>> nd.run("page+buffer.kind=least-used", settings=small, requests=2000).status
        'complete'
    """

    def register(policy: _Policy) -> _Policy:
        _nandarium.register_eviction(name, _doc(policy, doc), _maker(policy))
        return policy

    return register


def commit(name: str, *, doc: str | None = None) -> Callable[[_Policy], _Policy]:
    """Registers a `CommitPolicy` class, or a function of a `CommitView`, as ``stripe.cache.victim = name``.

    Takes the arguments and raises the errors of `victim`.
    """

    def register(policy: _Policy) -> _Policy:
        _nandarium.register_commit(name, _doc(policy, doc), _maker(policy))
        return policy

    return register
