"""Power loss in tests of one's own, with pytest.

In ``conftest.py``::

    from nandarium.testing import torture

and in a test::

    def test_my_log(torture):
        torture(append, verify, states=10_000)

which fails with the lost data, and tells how to see it again.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ._torture import Tortured
from ._torture import torture as _torture

__all__ = ["torture"]


@pytest.fixture(name="torture")
def torture() -> Callable[..., Tortured]:
    """`nandarium.torture`, but a state that fails is a test that fails."""

    def run(*given: object, **options: object) -> Tortured:
        tortured = _torture(*given, **options)  # type: ignore[arg-type]
        if not tortured:
            pytest.fail(tortured.text, pytrace=False)
        return tortured

    return run
