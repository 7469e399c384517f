"""Several batches on their way at once: answers in any order, never more than allowed, never two about one key."""

from __future__ import annotations

import threading
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
from tests.support.deliver_crashes import crash_with_a_hole
from tests.support.deliver_faults import Doors, Errors, transient, unknown
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import SinkBatch
from holdfast.testing import ConcurrentSink, DisjointSink, Flakiness, ManualClock, RecordingSink


def test_answers_in_any_order_move_the_cursor_only_over_what_is_resolved(world: World) -> None:
    doors = Doors([1, 2, 3, 4])
    delivery = world.running(spec("a", ConcurrentSink(before=doors), max_inflight=4))
    world.publish(4, to=delivery)
    doors.wait_inside(1, 2, 3, 4)
    for opened, cursor, answered in [(3, 0, 1), (1, 1, 2), (4, 1, 3), (2, 4, 4)]:
        doors.open(opened)
        status = eventually(delivery, lambda status, n=answered: status.lanes["a"].delivered == n)  # type: ignore[misc]
        assert status.lanes["a"].cursor == cursor
    eventually(delivery, all_on_disk)


@pytest.mark.req("D1", "X5")
def test_a_crash_with_a_hole_repeats_what_is_above_it(world: World) -> None:
    crash_with_a_hole(world)


@pytest.mark.req("M14")
@pytest.mark.parametrize(("kind", "allowed"), [(ConcurrentSink, 3), (DisjointSink, 3), (RecordingSink, 1)])
def test_no_more_are_on_their_way_than_the_sink_and_the_lane_allow(
    world: World, kind: type[RecordingSink], allowed: int
) -> None:
    together = threading.Barrier(allowed)

    def meet(batch: SinkBatch) -> None:
        together.wait(20)

    sink = kind(before=meet)
    delivery = world.running(spec("a", sink, max_inflight=3))
    for oseq in range(1, 7):
        delivery.published(world.outbox.add(pa.table({"id": [oseq], "key": [f"k{oseq}"]})))
    eventually(delivery, all_on_disk)
    assert sink.calls.most_at_once == allowed


def keyed(world: World, *keys: str | None) -> None:
    for key in keys:
        world.outbox.add(pa.table({"id": [f"{key}"], "key": pa.array([key], pa.string())}))


def test_a_disjoint_sink_is_not_sent_two_batches_about_one_key(world: World) -> None:
    keyed(world, "x", "y", "x", "z")
    doors = Doors([1, 2, 3])
    sink = DisjointSink(before=doors)
    delivery = world.running(spec("a", sink, max_inflight=4))
    doors.wait_inside(1, 2)
    assert lane(delivery).in_flight == 2, "batch 3 is about x too, and 4 does not overtake it"
    doors.open(1)
    doors.wait_inside(3)
    doors.open()
    eventually(delivery, all_on_disk)


def test_a_key_stays_taken_while_its_batch_is_retried(world: World) -> None:
    keyed(world, "x", "x")
    sink = DisjointSink(before=Errors(transient()))
    delivery = world.running(spec("a", sink, max_inflight=4))
    world.clock.wait_for_sleepers()
    assert lane(delivery).in_flight == 1
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1, 2]


def test_rows_without_a_key_share_it_with_everything(world: World) -> None:
    world.publish(2)
    doors = Doors([1])
    delivery = world.running(spec("a", DisjointSink(before=doors), max_inflight=4))
    doors.wait_inside(1)
    assert lane(delivery).in_flight == 1
    doors.open()
    eventually(delivery, all_on_disk)


def test_batches_keep_their_place_while_they_wait_for_a_permit(world: World) -> None:
    """Several workers behind a breaker: whoever is admitted first, the cursor has no hole."""
    world.publish(12)
    sink = ConcurrentSink(before=Errors(*[transient()] * 6))
    delivery = world.running(spec("a", sink, max_inflight=4))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sorted(sink.vault.batches) == list(range(1, 13))


def test_a_sink_is_probed_only_when_no_delivery_is_under_way(world: World) -> None:
    world.publish(2)
    doors, seen = Doors([2]), []

    def before(batch: SinkBatch) -> None:
        if batch.oseq == 1:
            doors.wait_inside(2)
        doors(batch)

    sink = ConcurrentSink(before=before, refuses=lambda row: row["id"] == "1-1")
    probe = sink.probe

    def watched(batch: SinkBatch) -> None:
        seen.append(sink.calls.at_once)
        probe(batch)

    sink.probe = watched  # type: ignore[method-assign]
    delivery = world.running(spec("a", sink, max_inflight=2))
    eventually(delivery, lambda _: delivery._core.lanes["a"].gate._waiting_to_be_alone > 0)
    doors.open()
    eventually(delivery, all_on_disk)
    assert seen
    assert set(seen) == {0}


class Latency:
    """Lets every delivery take a random time, on the clock of the test."""

    def __init__(self, clock: ManualClock, random: Random) -> None:
        self._clock = clock
        self._random = random

    def __call__(self, _: SinkBatch) -> None:
        condition = threading.Condition()
        until = self._clock.monotonic() + self._random.uniform(0.0, 3.0)
        with condition:
            while (left := until - self._clock.monotonic()) > 0:
                self._clock.wait(condition, left)


@pytest.mark.req("M13", "M21")
@pytest.mark.parametrize("seed", range(12))
def test_random_latency_and_failures_with_four_in_flight(world: World, seed: int) -> None:
    random = Random(seed)
    slow, flaky = Latency(world.clock, random), Flakiness(random, rate=0.15)

    def before(batch: SinkBatch) -> None:
        slow(batch)
        flaky.before(batch)

    sinks = {"many": ConcurrentSink(before=before, after=flaky.after), "one": RecordingSink(before=before)}
    delivery = world.running(*[spec(name, sink, max_inflight=4) for name, sink in sinks.items()], seed=seed)
    cursors: list[dict[str, int]] = []

    def checked() -> bool:
        status = delivery.status()
        assert all(found.is_conserved for found in status.lanes.values()), status
        cursors.append({name: found.cursor for name, found in status.lanes.items()})
        for name, found in status.lanes.items():
            assert set(range(1, found.cursor + 1)) <= set(sinks[name].vault.batches), "a cursor passed a hole"
        return all_on_disk(status)

    world.publish(40, to=delivery)
    world.clock.run_until(checked)
    assert sorted(sinks["many"].vault.batches) == list(range(1, 41))
    assert sinks["one"].vault.batches == list(range(1, 41))
    assert all(earlier[name] <= later[name] for earlier, later in pairwise(cursors) for name in sinks)


@pytest.mark.parametrize("seed", range(6))
def test_a_disjoint_sink_keeps_the_order_of_every_key(world: World, seed: int) -> None:
    random = Random(seed)
    slow, flaky = Latency(world.clock, random), Flakiness(random, rate=0.1)

    def before(batch: SinkBatch) -> None:
        slow(batch)
        flaky.before(batch)

    sink = DisjointSink(before=before)
    delivery = world.running(spec("a", sink, max_inflight=4), seed=seed)
    for oseq in range(1, 31):
        key = random.choice("pqrs")
        delivery.published(world.outbox.add(pa.table({"id": [oseq], "key": [key]})))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    for key in "pqrs":
        written = [row["id"] for _, _, row in sink.vault.rows if row["key"] == key]
        assert written == sorted(written)  # type: ignore[type-var]
    assert sink.calls.most_at_once > 1, "some were on their way together"


def test_an_unknown_answer_of_a_sink_without_order_is_sent_again_and_changes_nothing(world: World) -> None:
    world.publish(3)
    sink = ConcurrentSink(after=Errors(unknown(), unknown()))
    delivery = world.running(spec("a", sink, max_inflight=3))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sorted(sink.vault.batches) == [1, 2, 3]
