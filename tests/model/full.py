"""The long exploration behind `make model`: every world of `FULL`, two at a time, and the number of states it saw."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.model.bounds import FULL, explore_full


def main() -> int:
    """Explore, print what was seen, and fail on a violation or on too few states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-least", type=int, default=11_000_000, help="how many distinct states must be seen")
    parser.add_argument("--limit", type=int, default=2_200_000, help="how many states of each world at the most")
    options = parser.parse_args()
    started = time.monotonic()
    _say(f"model: exploring {len(FULL)} worlds of the real ledger, up to {options.limit:,} states each")
    total, failed = 0, False
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        for name, seen in pool.imap_unordered(explore_full, [(name, options.limit) for name in FULL], chunksize=1):
            _say(f"  {name}: {seen}")
            failed |= isinstance(seen, str)
            total += 0 if isinstance(seen, str) else seen.states
    minutes = (time.monotonic() - started) / 60
    if failed or total < options.at_least:
        _say(f"model: FAILED after {total:,} distinct states, {options.at_least:,} were asked for")
        return 1
    _say(f"model: {total:,} distinct states, every invariant holds in each of them ({minutes:.0f} minutes)")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
