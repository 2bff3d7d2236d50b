"""The notebooks run, and what they claim holds: each ends with assertions."""

from pathlib import Path

import nbformat
import pytest
from notebooks import PATHS, executed, texts


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_runs(path: Path) -> None:
    book = executed(path)
    assert texts(book) == texts(nbformat.read(path, as_version=4)), "`make notebooks` keeps what they show now"
    pictures = [output for cell in book.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    assert pictures, "a page without a picture"


def test_there_are_three() -> None:
    assert [path.stem for path in PATHS] == ["a-policy-of-your-own", "choose-spare-space", "one-figure-each"]
