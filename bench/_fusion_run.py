"""Fusion over the logs of an edge, until it is told to stop.

python -m bench._fusion_run DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench._fusion_feed import LOGS
from meridian.fusion.pipeline import pipeline
from meridian.operation.assembling import FromHome
from meridian.operation.home import Home
from meridian.sensors import EdgeLog


def main(directory: Path) -> None:
    home = Home(directory)
    sources = [EdgeLog(home.edge, name, consumer="fusion") for name in LOGS.values()]
    pipeline(directory, FromHome.of(home), *sources).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
