"""Where the real catalogs and conjunction messages are, on a machine that has them.

They are never copied into the project. A module of tests over all of them is named `test_real_…` and is collected only
where they are; each requirement that it holds is held by literal cases as well.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HOLDFAST_DATA", ROOT.parent / "shared" / "data"))


def catalogs() -> list[Path]:
    """The files of element sets, one for each day."""
    return sorted((DATA / "tle").glob("*.tle.gz"))


def catalog_text(path: Path) -> str:
    """A catalog as it was published."""
    return gzip.decompress(path.read_bytes()).decode()


def messages() -> list[Path]:
    """Every conjunction data message."""
    return sorted([*(DATA / "cdm").glob("*.cdm"), *(DATA / "alfano").glob("*.cdm")])
