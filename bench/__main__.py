"""Runs the benchmarks (`make bench`, or `make bench B=name`) and prints one JSON object a line at the end.

A benchmark that yields no figure, or an empty or zero one, fails the run: a table with holes proves nothing.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time

import bench


def names() -> list[str]:
    """Every benchmark there is."""
    return sorted(module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_"))


def main(chosen: list[str]) -> int:
    """Run the benchmarks, with progress on the way and the figures last."""
    unknown = set(chosen) - set(names())
    if unknown:
        print(f"bench: there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
        return 2
    figures: list[dict[str, object]] = []
    for name in chosen or names():
        started = time.monotonic()
        print(f"bench: {name} …", flush=True)
        found = list(importlib.import_module(f"bench.{name}").run())
        if not found or not all(figure["value"] for figure in found):
            print(f"bench: {name} gave no figure, or an empty one: {found}")
            return 1
        figures += found
        print(f"bench: {name} took {time.monotonic() - started:.0f} s", flush=True)
    for figure in figures:
        print(json.dumps(figure))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("bench: interrupted; there are no figures.")
        sys.exit(130)
