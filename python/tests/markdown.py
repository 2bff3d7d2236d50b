"""Runs the Python blocks of a page, in order and in one folder that is thrown away: examples of the documentation are tests."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path


def main() -> None:
    """Runs the blocks of each page given."""
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        text = page.read_text(encoding="utf-8")
        names: dict[str, object] = {"__name__": "__main__"}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
                line = text.count("\n", 0, block.start(1))
                with redirect_stdout(StringIO()):
                    exec(compile("\n" * line + block[1], str(page), "exec"), names)
            os.chdir(page.parent)
        print(f"{page.name}: every example runs")


if __name__ == "__main__":
    main()
