"""Batches that are addressed to one lane, and batches of which delivery is told in the wrong order."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.support.deliver_world import World, all_on_disk, eventually, rows, spec

from holdfast.deliver.rows import chosen, parcel_for
from holdfast.log.redelivery import addressed
from holdfast.model.errors import Fatal
from holdfast.testing import ConcurrentSink, RecordingSink


@pytest.mark.req("K10")
def test_rows_that_are_redelivered_reach_one_sink_and_no_other(world: World) -> None:
    a, b, c = RecordingSink(), RecordingSink(keeps_cursor=False), ConcurrentSink()
    delivery = world.running(spec("a", a), spec("b", b), spec("c", c))
    world.publish(1, to=delivery)
    delivery.published(world.outbox.add(addressed(rows(2), "b")))
    world.publish(1, to=delivery)
    status = eventually(delivery, all_on_disk)
    assert b.vault.values("id") == ["1-0", "1-1", "1-2", "2-0", "2-1", "2-2", "3-0", "3-1", "3-2"]
    assert a.vault.values("id") == c.vault.values("id") == ["1-0", "1-1", "1-2", "3-0", "3-1", "3-2"]
    assert (status.lanes["a"].rows_read, status.lanes["a"].rows_out, status.lanes["a"].rows_filtered) == (9, 6, 3)
    assert all(lane.is_conserved for lane in status.lanes.values())


def test_a_redelivered_row_reaches_its_sink_whatever_its_route() -> None:
    table = pa.table({"id": [1, 2], "route": ["eu", "us"]})
    assert parcel_for("a", table, only="eu").rows["id"].to_pylist() == [1]
    parcel = parcel_for("a", addressed(table, "a"), only="eu")
    assert parcel.rows == table
    assert parcel.rows.schema.metadata is None, "a sink sees nothing of the address"
    nothing = parcel_for("b", addressed(table, "a"), only=None)
    assert (len(nothing), nothing.rows.schema) == (0, table.schema)


def test_a_sink_is_given_the_columns_it_is_declared_with(world: World) -> None:
    sink, whole = RecordingSink(), RecordingSink()
    delivery = world.running(replace(spec("a", sink), columns=["n", "id"]), spec("b", whole))
    delivery.published(world.outbox.add(rows(1, n=[1, 2, 3], weight=[4, 5, 6])))
    eventually(delivery, all_on_disk)
    assert [list(row) for *_, row in sink.vault.rows] == [["n", "id"]] * 3
    assert [list(row) for *_, row in whole.vault.rows] == [["id", "n", "weight"]] * 3


def test_columns_that_the_rows_do_not_have_stop_the_lane_before_anything_is_delivered() -> None:
    table = pa.table({"id": [1], "n": [2]})
    assert chosen(table, ["n"]).column_names == ["n"]
    assert chosen(table, None) is table
    with pytest.raises(Fatal, match="weight"):
        chosen(table, ["n", "weight"])
    assert chosen(table.slice(1), ["n", "weight"]).column_names == ["n"], "what has no rows lacks nothing"


@pytest.mark.req("D1")
def test_a_batch_is_not_left_behind_when_a_later_one_is_told_of_first(world: World) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    first, second = world.outbox.add(rows(1)), world.outbox.add(rows(2))
    delivery.published(second)
    delivery.published(first)
    eventually(delivery, all_on_disk)
    assert sink.vault.batches == [1, 2]
