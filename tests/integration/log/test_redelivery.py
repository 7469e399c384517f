"""Rows that were dead letters are published once more: once, for one lane, and Spark does not notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.log import Outbox, outbox_index
from holdfast.log.redelivery import addressee, unaddressed
from tests.integration.log.test_outbox import new_batch, published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = pa.table({"seq": [7, 3], "text": ["seven", "three"]})


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox.open(tmp_path, epoch=1) as outbox:
        published(outbox, 2)
        yield outbox


def test_a_redelivery_is_a_batch_that_says_whom_it_is_for(outbox: Outbox) -> None:
    batch = outbox.redeliver(ROWS, lane="table", entries=["a", "b"])
    assert batch is not None
    assert (batch.oseq, batch.rows, batch.positions, batch.ends) == (3, 2, {}, {})
    rows = outbox.read(3)
    assert addressee(rows) == "table"
    assert unaddressed(rows) == ROWS.take([1, 0]), "in the order of seq, as every batch"
    assert unaddressed(rows).schema.metadata is None
    assert [each.oseq for each in outbox.batches()] == [1, 2, 3]


@pytest.mark.req("K10")
def test_a_row_is_redelivered_once_also_after_a_restart(outbox: Outbox, tmp_path: Path) -> None:
    outbox.redeliver(ROWS, lane="table", entries=["a", "b"])
    assert outbox.redeliver(ROWS, lane="table", entries=["a", "b"]) is None
    outbox.close()
    with Outbox.open(tmp_path, epoch=2) as later:
        again = later.redeliver(ROWS, lane="table", entries=["b", "c"])
        assert again is not None
        assert later.read(again.oseq)["text"].to_pylist() == ["three"]
        assert later.redeliver(ROWS, lane="table", entries=["c", "b"]) is None
        assert later.last_oseq() == 4


def test_spark_knows_nothing_of_it(outbox: Outbox) -> None:
    before = outbox.newest()
    outbox.redeliver(ROWS, lane="table", entries=["a", "b"])
    assert outbox.newest() == before
    assert [each.batch_id for each in outbox.remembered()] == [0, 1]
    assert outbox.publish(new_batch(outbox, 2, [2])).oseq == 4
    assert outbox.publish(new_batch(outbox, 1, [1])).oseq == 2, "a replay is recognised"


def test_many_redeliveries_do_not_make_sparks_batches_be_forgotten(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_index, "KEPT_ROWS", 3)
    newest = outbox.newest()
    for number in range(10):
        outbox.redeliver(ROWS, lane="table", entries=[f"{number}a", f"{number}b"])
        outbox.release(outbox.last_oseq())
    assert outbox.newest() == newest
    for batch_id in range(2, 9):
        outbox.publish(new_batch(outbox, batch_id, [batch_id]))
        outbox.release(outbox.last_oseq())
    assert [each.batch_id for each in outbox.remembered()] == [6, 7, 8], "old ones are forgotten all the same"


def test_what_a_rollback_voids_can_be_redelivered_again(outbox: Outbox) -> None:
    outbox.redeliver(ROWS, lane="table", entries=["a", "b"])
    outbox.open_generation(reason="rollback", void_after=2)
    again = outbox.redeliver(ROWS, lane="table", entries=["a", "b"])
    assert again is not None
    assert [each.oseq for each in outbox.batches()] == [1, 2, 4]
