"""Where the tests of the logs put them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: for tests that open a log thousands of times."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(prefix="holdfast-", dir=MEMORY))
    yield place
    shutil.rmtree(place)
