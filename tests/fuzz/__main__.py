"""`make fuzz SECONDS=n`: gives every reader inputs in turn until the time is over; other inputs in every run.

Ends with 1 when a reader failed. The inputs that did are printed, with the seed that finds them again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

from tests.fuzz.readers import GROUPS, READERS
from tests.fuzz.search import WAYS, search

AT_ONCE = {"changed": 200, "bytes": 40, "repeated": 10}
"""Inputs of each kind in one turn of a reader."""


def main() -> int:
    """Search, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--group", choices=GROUPS, help="only these readers")
    parser.add_argument("--reader", choices=READERS, action="append", help="only this reader; may be given again")
    parser.add_argument("--seed", type=int, help="of the first turn, to see a failure again")
    asked = parser.parse_args()
    names = asked.reader or list(GROUPS[asked.group] if asked.group else READERS)
    tried, failed = _searched(names, asked.seconds, random.randrange(2**32) if asked.seed is None else asked.seed)
    said = f"{len(failed)} failed: {', '.join(failed)}" if failed else "none failed"
    print(f"fuzz: {tried:,} inputs to {len(names)} readers, {said}")
    return 1 if failed else 0


def _searched(names: list[str], seconds: float, seed: int) -> tuple[int, list[str]]:
    """How many inputs were tried, and the readers that failed; one that failed gets no further turn."""
    until, tried = time.monotonic() + seconds, 0
    failed: list[str] = []
    while time.monotonic() < until and len(failed) < len(names):
        for name in [name for name in names if name not in failed]:
            if time.monotonic() >= until:
                break
            for way in WAYS:
                tried += AT_ONCE[way]
                try:
                    search(READERS[name], way, AT_ONCE[way], seed=seed)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    print(f"fuzz: reader {name!r}, inputs {way!r}, --seed {seed}", file=sys.stderr)
                    traceback.print_exception(error)
                    failed.append(name)
                    break
        seed += 1
    return tried, failed


if __name__ == "__main__":
    sys.exit(main())
