"""The command ``nandarium``, also as ``python -m nandarium``."""

from __future__ import annotations

import os
import signal
import sys

from . import _nandarium, _sweep, policies


def main() -> None:
    """Runs the command line on ``sys.argv`` and ends the process with its exit code."""
    # The interpreter would only note Ctrl-C down and look at the note after the command. The command's own handler,
    # or where it has none the system's, is in place of it: either way the process ends with 130.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    program = sys.argv[0] if os.path.basename(sys.argv[0]) != "__main__.py" else "nandarium"
    sys.exit(_nandarium.command([program, *sys.argv[1:]], _sweep.on_cluster, policies.load))


if __name__ == "__main__":
    main()
