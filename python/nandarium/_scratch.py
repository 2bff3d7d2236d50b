"""Folders that do not outlive this process, and neither do the processes that were started for them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "NANDARIUM_SCRATCH"
"""In the environment of each process that ends with its folder."""

# The guard makes the folder, so that there is no moment at which a folder has no guard. It then waits for the end of its input, which ends with this
# process, however that ends. Then it ends the processes with the folder in their environment, and removes the folder.
_GUARD = f"""
trap '' PIPE
cd /
folder=$(mktemp -d "$1/nandarium-XXXXXX") || exit
printf %s "$folder"
exec > /dev/null 2>&1
read -r _
for turn in 1 2 3 4 5; do
  for of in $(grep -lszxF "{MARK}=$folder" /proc/[0-9]*/environ); do of=${{of#/proc/}}; kill -9 "${{of%/*}}"; done
  rm -rf --one-file-system "$folder" && exit
  sleep 0.2
done
"""

_guards: set[subprocess.Popen[bytes]] = set()
# No thread forks between the making of a guard's pipes and their entry among the guards, nor between their leaving and their end.
_pipes = threading.Lock()


def _left_to_the_parent() -> None:
    # A child with a copy of the pipes would keep the guards waiting after the end of this process.
    for guard in _guards:
        for pipe in (guard.stdin, guard.stdout):
            assert pipe is not None
            pipe.close()
    _guards.clear()
    _pipes.release()


os.register_at_fork(before=_pipes.acquire, after_in_parent=_pipes.release, after_in_child=_left_to_the_parent)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, which is removed at the end, and also if this process is killed before.

    Raises:
        OSError: it cannot be made.
    """
    place = tempfile.gettempdir()
    # In a session of its own Ctrl-C does not reach the guard.
    with _pipes:
        guard = subprocess.Popen(["sh", "-c", _GUARD, "sh", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        _guards.add(guard)
    assert guard.stdin is not None and guard.stdout is not None
    try:
        with guard.stdout as said:
            folder = said.read()
        if not folder:
            raise OSError(f"no folder can be made in {place}")
        yield Path(os.fsdecode(folder))
    finally:
        with _pipes:
            _guards.discard(guard)
            guard.stdin.close()
        guard.wait()
