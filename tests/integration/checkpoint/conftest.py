"""Gives a test a checkpoint store of every kind, and as many handles on it as it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.backends import BACKENDS
from tests.support.stores import StoreFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.checkpoint.contract import CheckpointStore
    from tests.support.servers import Servers


@pytest.fixture(params=BACKENDS)
def store_factory(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[StoreFactory]:
    """A fresh backend of each kind in turn."""
    factory = StoreFactory(BACKENDS[request.param](tmp_path, servers))
    with factory.handles:
        yield factory


@pytest.fixture
def store(store_factory: StoreFactory) -> CheckpointStore:
    """One handle."""
    return store_factory.open()


@pytest.fixture
def epoch(store: CheckpointStore) -> int:
    """The epoch under which `store` owns the data."""
    return store.take_over()
