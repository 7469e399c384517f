"""Flows over stores that cannot vouch for what they list: never an older or a fresh start unasked (X19)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.checkpoint import FileStore, MemoryStore, ReplicatedStore
from holdfast.checkpoint.operators import FlowKeys, FlowSettings, Graph, Link, SnapshotMode
from holdfast.checkpoint.operators.flow import Flow
from holdfast.checkpoint.operators.recovery import recover
from holdfast.model.errors import CheckpointDamaged, InvalidFlow

GRAPH = Graph((Link("in", "source", "sink"),))


@pytest.mark.req("X19")
@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_damaged_newest_document_refuses_to_start(tmp_path: Path, mode: SnapshotMode) -> None:
    with FileStore(tmp_path / "s") as store:
        store.put_raw("other", b"1", epoch=store.take_over())
    newest = max((tmp_path / "s" / "commits").iterdir())
    damaged = bytearray(newest.read_bytes())
    damaged[5] ^= 1
    newest.write_bytes(damaged)
    with FileStore(tmp_path / "s") as store, pytest.raises(CheckpointDamaged):
        recover(store, GRAPH, FlowKeys("f", mode))


async def _start(store: ReplicatedStore) -> None:
    settings = FlowSettings(mode=SnapshotMode.ALIGNED)
    await Flow.recover("f", GRAPH, operators={"sink": object()}, store=store, epoch=1, settings=settings)  # type: ignore[dict-item]


def test_a_store_with_a_remote_tier_is_refused() -> None:
    import asyncio

    store = ReplicatedStore(MemoryStore(), MemoryStore(), every=timedelta(days=1))
    with store, pytest.raises(InvalidFlow):
        asyncio.run(_start(store))
