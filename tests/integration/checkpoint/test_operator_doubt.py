"""Flows over stores that cannot vouch for what they list: never an older or a fresh start unasked (X19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint import FileStore
from holdfast.checkpoint.operators import SnapshotMode
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.mending import mend_and_find_restart
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.model.errors import CheckpointDamaged
from tests.support.operator_flows import GRAPH, Crashed, Matches, World

if TYPE_CHECKING:
    from pathlib import Path


def damage_newest_document(place: Path) -> None:
    newest = max((place / "commits").iterdir())
    damaged = bytearray(newest.read_bytes())
    damaged[5] ^= 1
    newest.write_bytes(damaged)


def restart(place: Path, mode: SnapshotMode) -> None:
    with FileStore(place) as store:
        keys, epoch = FlowKeys("test", mode), store.take_over()
        mend_and_find_restart(store, GRAPH, keys, epoch=epoch, paths=recovery_path_total())


@pytest.mark.req("X19")
@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_damaged_newest_document_refuses_to_start_a_flow_that_may_have_been_in_it(
    tmp_path: Path, mode: SnapshotMode
) -> None:
    with FileStore(tmp_path) as store:
        store.put_raw("other", b"1", epoch=store.take_over())
    damage_newest_document(tmp_path)
    with pytest.raises(CheckpointDamaged):
        restart(tmp_path, mode)


@pytest.mark.req("X19")
@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_damaged_newest_document_refuses_to_start_a_flow_of_which_it_may_have_held_the_newest_snapshot(
    tmp_path: Path, mode: SnapshotMode
) -> None:
    values = list(range(1, 21))
    with FileStore(tmp_path) as store, pytest.raises(Crashed):
        World(store, values, values, merge=Matches, mode=mode, cadence=3.0).run(40)
    damage_newest_document(tmp_path)
    with pytest.raises(CheckpointDamaged):
        restart(tmp_path, mode)
