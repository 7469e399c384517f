"""What tests of Meridian with real processes share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.subscribers import Subscriber


@pytest.fixture
def subscriber(tmp_path: Path) -> Iterator[Subscriber]:
    """A subscriber that listens, and is killed at the end if it still does."""
    subscriber = Subscriber(tmp_path / "book.db")
    subscriber.start()
    yield subscriber
    subscriber.end()
