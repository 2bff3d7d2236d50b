"""Runs the commands and the examples of Markdown pages as they stand there, and compares the outputs, with numbers masked.

`console` blocks: each line that begins with `$ ` is a command, and its standard output follows (or standard error, if there is none); a line `...`
stands for any lines. `sh` blocks are run as
they are. `python` blocks run one after the other. A block whose first line is `# NAME.toml`, or another name of a file, is written to that file.
`<!-- not run: REASON -->` on the line before a block leaves it out. All blocks of a page share one folder, which is thrown away.

    NANDARIUM=target/debug/nandarium python3 python/tests/documents.py [--write] [--no-python] PAGE...

`--write` puts the present outputs into the pages. `--no-python` leaves out the `python` blocks, which need the package.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# ([\w./-]+\.(?:toml|py|csv|fio))\b")
MARK = "\x1e"


class Broken(Exception):
    """A page and the program differ."""


@dataclass
class Block:
    """A fenced block of a page."""

    kind: str
    body: str
    start: int
    line: int
    why: str | None

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows."""
        found = FILE.match(self.body)
        return found[1] if found and self.kind not in ("sh", "console") else None

    @property
    def runs(self) -> bool:
        """Whether the block is a part of the test."""
        return self.kind in ("sh", "console", "python") and self.why is None and not self.file


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in BLOCK.finditer(text):
        yield Block(found["kind"], found["body"], found.start("body"), text.count("\n", 0, found.start("body")) + 1, found["why"])


def masked(text: str) -> str:
    """The text without numbers, units of time, signs of a difference, hashes, widths of columns and line ends."""
    text = re.sub(r"\b[0-9a-f]{16}\b", "#", text)
    text = re.sub(r"[-+±]?\d[\d.,]*(?: ?(?:ns|us|µs|ms|s|min|k|M|KiB|MiB|GiB|TiB)\b)?", "#", text)
    return " ".join(text.split())


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with its output."""
    parts = re.split(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n", body, flags=re.MULTILINE)
    if parts[0].strip():
        raise Broken("a console block begins with a command")
    return list(zip(parts[1::2], parts[2::2], strict=True))


def differs(expected: str, found: str) -> str | None:
    """The first part of an expected output that is not in the output found."""
    pieces = [masked(piece) for piece in re.split(r"^\s*\.\.\.\n", expected, flags=re.MULTILINE)]
    rest = masked(found)
    for number, piece in enumerate(pieces):
        at = rest.find(piece) if number else (0 if rest.startswith(piece) else -1)
        if at < 0:
            return piece
        rest = rest[at + len(piece) :]
    return f"(end), and not {rest.strip()[:200]}" if pieces[-1] and rest.strip() else None


def renewed(expected: str, found: str) -> str:
    """The expected output with the lines that are now in their place, between the same lines of `...`."""
    if not expected:
        return found
    lines = found.splitlines(keepends=True)
    result, at = [], 0
    pieces = re.split(r"^(\s*\.\.\.\n)", expected, flags=re.MULTILINE)
    for number, piece in enumerate(pieces):
        wanted = piece.splitlines(keepends=True)
        if number % 2 or not wanted:
            result.append(piece)
            continue
        if number:
            first = wanted[0].split()[:2]
            at = next((n for n in range(at, len(lines)) if lines[n].split()[: len(first)] == first), -1)
            if at < 0:
                raise Broken(f"no line begins with {' '.join(first)!r} any more: change the page by hand")
        end = len(lines) if number == len(pieces) - 1 else at + len(wanted)
        result += lines[at:end]
        at = end
    return "".join(result)


def shell(script: str, folder: Path, started: list[int]) -> tuple[int, str]:
    """Runs a script in the folder of a page; exit code and output. Programs that it starts in the background go on, in the group that `started` gets."""
    with open(folder / ".said", "w+", encoding="utf-8") as said:
        shell = subprocess.Popen(
            ["bash", "-c", script], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        started.append(shell.pid)
        status = shell.wait()
        if re.search(r"[^&]&\n", script):
            end = time.monotonic() + 20
            while not any(path.is_socket() for path in folder.iterdir()) and time.monotonic() < end:
                time.sleep(0.05)
        said.seek(0)
        return status, said.read()


def ended(groups: list[int]) -> None:
    """Ends all programs of these groups."""
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def environment(folder: Path) -> dict[str, str]:
    """Variables of the commands of a page: the program by its name, and a home of its own."""
    program = Path(os.environ.get("NANDARIUM") or ROOT / "target/debug/nandarium").resolve()
    path = f"{folder / '.bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"
    if not (folder / ".bin").exists():
        (folder / ".bin").mkdir()
        (folder / ".bin/nandarium").symlink_to(program)
        (folder / "samples").symlink_to(ROOT / "samples")
    return {**os.environ, "PATH": path, "HOME": str(folder / ".home"), "XDG_CACHE_HOME": str(folder / ".cache"), "NO_COLOR": "1"}


def console(block: Block, folder: Path, started: list[int], write: bool) -> str:
    """Runs a `console` block; the body with the outputs as they are now."""
    lines = commands(block.body)
    script = "".join(
        f"exec 2>.err{number}\n(exit ${{_said:-0}})\n{command}\n_said=$?; printf '\\n{MARK}%d{MARK}' $_said\n" for number, (command, _) in enumerate(lines)
    )
    _, out = shell(script, folder, started)
    parts = re.split(rf"\n{MARK}(\d+){MARK}", out)
    body = ""
    for number, (command, expected) in enumerate(lines):
        found, status = parts[2 * number], int(parts[2 * number + 1])
        asked = number + 1 < len(lines) and "$?" in lines[number + 1][0]
        warned = (folder / f".err{number}").read_text(encoding="utf-8")
        if status and not asked:
            raise Broken(f"{command}: exit code {status}\n{found}{warned}")
        found = warned if expected.strip() and not found.strip() else found
        found = found if found.endswith("\n") or not found else f"{found}\n"
        found = "".join(f"{line.rstrip()}\n" for line in found.splitlines())
        missing = differs(expected, found) if command != "echo $?" or expected == found else expected
        if missing is not None and not write:
            raise Broken(f"{command}: the page has\n{missing}\nthe program said\n{masked(found)}")
        body += f"$ {command}\n{renewed(expected, found) if write else expected}"
    return body


def run(page: Path, write: bool = False, python: bool = True) -> int:
    """Runs the blocks of a page, those of Python too if asked for, and returns their number."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    started: list[int] = []
    result, end, ran, home = "", 0, 0, Path.cwd()
    with tempfile.TemporaryDirectory(prefix="nandarium-page-") as name, ExitStack() as last:
        last.callback(ended, started)
        folder = Path(name)
        for block in blocks(text):
            body = block.body
            try:
                if block.file and block.file.startswith("samples/"):
                    pass  # the folder has the file, and a test of the sample compares it with the page
                elif block.file:
                    (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                    (folder / block.file).write_text(body)
                elif block.runs and block.kind == "python" and python:
                    os.chdir(folder)
                    with redirect_stdout(StringIO()):
                        exec(compile("\n" * (block.line - 1) + body, str(page), "exec"), names)
                elif block.runs and block.kind == "console":
                    body = console(block, folder, started, write)
                elif block.runs and block.kind == "sh":
                    status, out = shell(f"set -e\n{body}", folder, started)
                    if status:
                        raise Broken(f"exit code {status}\n{out}")
            except Broken as broken:
                raise Broken(f"{page}:{block.line}: {broken}") from None
            finally:
                os.chdir(home)
            ran += block.runs and (python or block.kind != "python")
            result += text[end : block.start] + body
            end = block.start + len(block.body)
    if write:
        page.write_text(result + text[end:], encoding="utf-8")
    return ran


def main() -> None:
    """Runs the blocks of each page given."""
    pages = [name for name in sys.argv[1:] if not name.startswith("--")]
    for page in pages:
        begun = os.times()
        ran = run(Path(page).resolve(), "--write" in sys.argv, "--no-python" not in sys.argv)
        used = os.times()
        cost = used.children_user + used.children_system - begun.children_user - begun.children_system
        print(f"{page}: {ran} blocks run, {cost:.1f} s of CPU")


if __name__ == "__main__":
    main()
