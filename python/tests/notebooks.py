"""Runs the notebooks; as a program, writes what they show into them."""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
TIMES = re.compile(r"^computed in .*\n", re.MULTILINE)
"""Lines about this machine at this moment: another one each time, so they are not kept."""


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook with what its cells gave.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    book: nbformat.NotebookNode = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=300, record_timing=False, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    book.metadata.pop("language_info", None)
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output.text = TIMES.sub("", output.text)
    return book


def texts(book: nbformat.NotebookNode) -> list[str]:
    """What each cell prints, in one piece: a busy machine's kernel sends it in several."""
    return ["".join(output.text for output in cell.get("outputs", []) if "text" in output) for cell in book.cells]


if __name__ == "__main__":
    for path in PATHS:
        nbformat.write(executed(path), path)
        print(path.name)
