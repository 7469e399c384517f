"""A process that writes its number down and stays until it is told to end.

python -m tests.support.staying FILE [EXIT_CODE]

With an exit code it does not stay.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main(file: str, code: str | None = None) -> None:
    """Until SIGTERM, which ends it with 0."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Path(file).open("a") as written:
        written.write(f"{os.getpid()}\n")
    if code is not None:
        sys.exit(int(code))
    while True:
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
