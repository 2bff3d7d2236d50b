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

import hashlib
import os
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Protocol, SupportsIndex, TypeVar

from . import _nandarium
from ._nandarium import CommitView, EvictionView, VictimView
from .errors import ClusterError, ConfigError

__all__ = ["CommitPolicy", "CommitView", "EvictionPolicy", "EvictionView", "VictimPolicy", "VictimView", "commit", "eviction", "load", "victim"]


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


_file: ContextVar[tuple[str, str] | None] = ContextVar("_file", default=None)
"""The file that is being loaded, with the hash of its bytes: it tells what its policies do."""
_loaded: ContextVar[list[str]] = ContextVar("_loaded")
"""Names of the policies that the file has registered."""


def load(path: str | os.PathLike[str]) -> list[str]:
    """Runs a file of Python that registers policies. Returns their names.

    A sweep takes the policies of such a file, because the bytes of the file tell what they do. It keeps results for these
    bytes, and runs a changed file anew. Workers of an executor or a scheduler load the file from the same path. Modules
    that the file imports do not count, so keep everything that decides in the file.

    ``nandarium --policies mine.py run`` loads a file as well, and so does every other command.

    Raises:
        ConfigError: the file cannot be read, is not Python, raises an exception, or registers no policy.

    Example:
        >>> import pathlib, tempfile
        >>> import nandarium as nd
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "mine.py"
        ...     _ = file.write_text("import nandarium as nd\\nnd.policies.victim('oldest-first')(lambda view: view.age.argmax())\\n")
        ...     nd.policies.load(file)
        ['oldest-first']
    """
    try:
        return _executed(os.path.abspath(path), _bytes_of(path), os.fspath(path))
    except OSError as problem:
        raise ConfigError(f"{os.fspath(path)}: {problem.strerror}; give a file of Python that registers policies") from None


def load_for_job(job: str) -> None:
    """On a worker: loads the files of policies that a job needs, each from its path.

    Raises:
        ClusterError: a file is not there, is another one, or cannot be used.
    """
    for place, digest in _nandarium.unread_policies(job):
        try:
            text = _bytes_of(place)
            if hashlib.sha256(text).hexdigest() != digest:
                raise ClusterError(f"{place} is another file there; every worker needs the same policies at the same path")
            _executed(place, text, place)
        except OSError as problem:
            raise ClusterError(f"{place} cannot be read there ({problem.strerror}); every worker needs the policies at the same path") from None
        except ConfigError as problem:
            raise ClusterError(str(problem)) from None


def _bytes_of(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _executed(place: str, text: bytes, told: str) -> list[str]:
    """Runs the text of a file; `told` is its name in messages."""
    digest = hashlib.sha256(text).hexdigest()
    module = ModuleType(f"nandarium_policies_{digest[:16]}")
    module.__file__ = place
    # Classes of the file are looked up by the name of their module, for example by dataclasses.
    sys.modules[module.__name__] = module
    names: list[str] = []
    tokens = _file.set((place, digest)), _loaded.set(names)
    try:
        exec(compile(text, place, "exec"), module.__dict__)
    except Exception as problem:
        lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == place]
        line = problem.lineno if isinstance(problem, SyntaxError) else lines[-1] if lines else None
        said = problem.msg if isinstance(problem, SyntaxError) else problem
        raise ConfigError(f"{told}{'' if line is None else f', line {line}'}: {type(problem).__name__}: {said}") from problem
    finally:
        _file.reset(tokens[0])
        _loaded.reset(tokens[1])
    if not names:
        raise ConfigError(f'{told} registers no policy; it needs one, for example a function below @nandarium.policies.victim("mine")')
    return names


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


def _registered(register: Callable[..., None], name: str, doc: str, make: Callable[..., Any]) -> None:
    file = _file.get()
    register(name, doc, make, file)
    if file is not None:
        _loaded.get().append(name)


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
        _registered(_nandarium.register_victim, name, _doc(policy, doc), _maker(policy))
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
        _registered(_nandarium.register_eviction, name, _doc(policy, doc), _maker(policy))
        return policy

    return register


def commit(name: str, *, doc: str | None = None) -> Callable[[_Policy], _Policy]:
    """Registers a `CommitPolicy` class, or a function of a `CommitView`, as ``stripe.cache.victim = name``.

    Takes the arguments and raises the errors of `victim`.
    """

    def register(policy: _Policy) -> _Policy:
        _registered(_nandarium.register_commit, name, _doc(policy, doc), _maker(policy))
        return policy

    return register
