"""Dead letters go their way again: each once, as what it was, and to nobody but whom it was for."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from holdfast.control import Rate, Standing
from holdfast.log import DeadLetterFilter, EntryState, Fate
from holdfast.log.dead_entry import packed, unpacked
from holdfast.log.redelivery import addressee, unaddressed
from holdfast.model.errors import LogQuota
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support.control_world import EVENTS, ControlWorld, about, of_sink, of_step, row
from tests.support.log_events import events

ALL = DeadLetterFilter()
MANY = 10_000


def states(world: ControlWorld) -> set[EntryState]:
    return {found.state for found in world.dead.select()}


def redelivered(world: ControlWorld) -> list[tuple[str | None, list[int]]]:
    tables = [world.outbox.read(batch.oseq) for batch in world.outbox.batches()]
    return [(addressee(table), unaddressed(table)["n"].to_pylist()) for table in tables]


def test_an_event_goes_back_to_its_inbox_as_what_it_was(world: ControlWorld) -> None:
    world.bury_event(3)
    world.bury_event(5)
    done = world.letters.reprocess(ALL)
    assert (done.again, done.before, done.refused) == (2, 0, [])
    assert world.events(after=EVENTS) == [(3, "orders/3/0"), (5, "orders/5/0")]
    assert (world.inbox.position(), states(world)) == (Seq(EVENTS), {EntryState.REPROCESSED})
    assert world.letters.list() == []


def test_a_row_of_a_sink_goes_back_to_that_sinks_lane_only(world: ControlWorld) -> None:
    for number in (1, 2):
        world.bury_row(number, row(number))
    world.bury_row(1, row(9), sink="archive")
    done = world.letters.reprocess(ALL)
    assert done.again == 3
    assert redelivered(world) == [("table", [1, 2]), ("archive", [9])]
    assert [batch.oseq for batch in world.told] == [1, 2], "delivery is told"
    assert world.inbox.end() == EVENTS, "the steps see nothing of it"


def test_rows_of_different_columns_go_in_batches_of_their_own(world: ControlWorld) -> None:
    world.bury_row(1, row(1))
    world.bury_row(2, row(2, extra="x"))
    world.bury_row(3, row(3))
    world.letters.reprocess(ALL)
    assert redelivered(world) == [("table", [1, 3]), ("table", [2])]


@pytest.mark.req("K10")
@pytest.mark.parametrize("kind", ["events", "rows"])
def test_to_reprocess_ten_thousand_entries_twice_adds_nothing(world: ControlWorld, kind: str) -> None:
    one = of_step(world.event(1)) if kind == "events" else of_sink(0, row(1))
    for first in range(0, MANY, 500):
        world.dead.put([replace(one, entry_id=f"{number:032x}") for number in range(first, first + 500)])
    assert world.letters.reprocess(ALL).again == MANY
    size = (world.inbox.end(), world.outbox.last_oseq())
    again = world.letters.reprocess(ALL)
    assert (again.again, again.before) == (0, 0), "they are seen to"
    world.open(epoch=2)
    world.dead.mark(ALL, EntryState.NEW)
    again = world.letters.reprocess(ALL)
    assert (again.again, again.before) == (0, MANY), "and if nobody remembered that, they would still go once"
    assert (world.inbox.end(), world.outbox.last_oseq()) == size
    rows = world.inbox.end() - EVENTS if kind == "events" else sum(batch.rows for batch in world.outbox.batches())
    assert rows == MANY


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.req("K10", "X5")
@pytest.mark.parametrize("step", [Step.DEAD_LETTER_MARK, Step.INBOX_INDEXED, Step.OUTBOX_PUBLISHED])
def test_a_crash_before_an_entry_is_marked_does_not_let_it_go_twice(
    world: ControlWorld, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.bury_event(3)
    world.bury_row(1, row(1))

    def die(reached: str) -> None:
        if reached == step:
            raise Killed

    for log in (world.inbox._store.log, world.outbox, world.dead._store.log):
        owner = log.owner if hasattr(log, "owner") else log._owner
        monkeypatch.setattr(log, "owner" if hasattr(log, "owner") else "_owner", replace(owner, hook=die))
    with pytest.raises(Killed):
        world.letters.reprocess(ALL)
    world.open(epoch=2)
    world.letters.reprocess(ALL)
    world.letters.reprocess(ALL)
    assert world.events(after=EVENTS) == [(3, "orders/3/0")]
    assert redelivered(world) == [("table", [1])]
    assert states(world) == {EntryState.REPROCESSED}


def test_an_event_that_fails_again_can_go_again(world: ControlWorld) -> None:
    world.bury_event(3)
    world.letters.reprocess(ALL)
    failed_again = world.bury_event(EVENTS + 1)
    assert [found.entry_id for found in world.letters.list()] == [failed_again]
    assert world.letters.reprocess(ALL).again == 1
    assert world.events(after=EVENTS) == [(3, "orders/3/0")] * 2


def test_only_what_is_meant_goes(world: ControlWorld) -> None:
    world.bury_event(3, kind="ValueError")
    world.bury_event(4, kind="KeyError")
    world.bury_row(1, row(1))
    assert world.letters.reprocess(DeadLetterFilter(kinds={"KeyError"})).again == 1
    assert world.events(after=EVENTS) == [(4, "orders/4/0")]
    assert world.letters.reprocess(DeadLetterFilter(sinks={"table"})).again == 1
    assert [found.event_id for found in world.letters.list()] == ["orders/3/0"]


def test_what_cannot_go_anywhere_is_named_and_stays(world: ControlWorld) -> None:
    good = world.bury_row(1, row(1))
    no_sink = world.bury_row(2, row(2), sink="gone")
    world.dead.put([of_sink(3, b"no row"), of_step(_of_source(world.event(3), "payments"))])
    no_event = replace(of_step(world.event(4)), payload=packed(row(4)))
    world.dead.put([replace(no_event, checksum=of_sink(0, no_event.payload).checksum)])
    expected = [
        "There is no sink 'gone' to deliver it to.",
        "Its payload is no row.",
        "There is no source 'payments' any more.",
        "Its payload is no event as an inbox has it.",
    ]
    preview = world.letters.preview(ALL)
    assert [refusal.why for refusal in preview.refused] == expected
    assert [candidate.listed.entry_id for candidate in preview.candidates] == [good]
    done = world.letters.reprocess(ALL)
    assert (done.again, [refusal.why for refusal in done.refused]) == (1, expected)
    assert len(world.letters.list()) == 4
    assert world.dead.status().totals == {Fate.RECORDED: 5}
    world.lanes.append("gone")
    assert world.letters.reprocess(DeadLetterFilter(ids={no_sink})).again == 1


def _of_source(event: pa.Table, source: str) -> pa.Table:
    return event.set_column(event.schema.get_field_index("source"), event.schema.field("source"), [[source]])


def test_a_damaged_entry_is_named_and_stays(world: ControlWorld) -> None:
    world.dead.put([replace(of_sink(1, row(1)), payload=b"other"), of_sink(2, row(2))])
    done = world.letters.reprocess(ALL)
    assert done.again == 1
    (refusal,) = done.refused
    assert (refusal.listed.ordinal, "HF-411" in refusal.why) == (1, True)


def test_a_full_outbox_is_waited_for_and_what_went_before_is_not_repeated(
    world: ControlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.bury_row(1, row(1))
    world.bury_row(2, row(2, extra="x"))
    room = iter([True, False, False, True])  # the second batch finds none, and has it the next time
    world.letters._reprocessing._patience = -1.0
    monkeypatch.setattr(world.outbox, "has_room", lambda: next(room))
    with pytest.raises(LogQuota):
        world.letters.reprocess(ALL)
    next(room)
    world.letters.reprocess(ALL)
    assert redelivered(world) == [("table", [1]), ("table", [2])]


def test_no_more_go_in_a_second_than_asked_for(world: ControlWorld) -> None:
    world.dead.put([of_sink(number, row(number)) for number in range(25)])
    clock = [100.0]
    gone: list[tuple[float, int]] = []

    def pause(seconds: float) -> None:
        gone.append((clock[0] - 100.0, sum(batch.rows for batch in world.outbox.batches())))
        clock[0] += seconds

    world.letters.reprocess(ALL, rate=Rate(10.0, pause, lambda: clock[0]))
    assert gone == [(0.0, 10), (1.0, 20), (2.0, 25)]
    assert clock[0] == pytest.approx(102.5)


# Elsewhere


def test_another_pipeline_takes_events_and_rows_once_and_the_entries_stay_new(
    world: ControlWorld, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = ControlWorld(tmp_path_factory.mktemp("other"))
    try:
        world.bury_event(3)
        world.bury_row(1, row(1))
        for expected in ((2, 0), (0, 2)):
            done = world.letters.reprocess(ALL, into=other.belongings)
            assert (done.again, done.before) == expected
        assert (other.events(after=EVENTS), redelivered(other)) == ([(3, "orders/3/0")], [("table", [1])])
        assert (world.inbox.end(), redelivered(world), states(world)) == (EVENTS, [], {EntryState.NEW})
        other.lanes.clear()
        assert len(world.letters.preview(ALL, into=other.belongings).refused) == 1
    finally:
        other.close()


# Overtaken


def standing(world: ControlWorld) -> dict[int, Standing]:
    return {each.listed.ordinal: each.standing for each in world.letters.preview(ALL).candidates}


def test_what_was_overtaken_by_a_newer_event_of_its_key_comes_first(world: ControlWorld) -> None:
    """The events 1 to 8 are about the keys k0, k1, k2, k3, k0, k1, k2, k3."""
    for seq in (6, 2, 8, 3):
        world.bury_event(seq)
    preview = world.letters.preview(ALL)
    assert [(each.listed.ordinal, each.standing) for each in preview.candidates] == [
        (2, Standing.OVERTAKEN),
        (3, Standing.OVERTAKEN),
        (6, Standing.NEWEST),
        (8, Standing.NEWEST),
    ]
    assert states(world) == {EntryState.NEW}, "to look changes nothing"
    assert world.inbox.end() == EVENTS


def test_a_row_of_a_sink_is_compared_by_what_it_says_about_itself(world: ControlWorld) -> None:
    world.bury_row(1, row(1))
    world.bury_row(5, row(5))
    world.bury_row(6, row(2, table="payments"))
    world.bury_row(7, row(2, table="orders"))
    world.bury_row(8, row(8).drop_columns(["key"]))
    world.bury_row(9, row(8).drop_columns(["seq"]))
    assert standing(world) == {
        1: Standing.OVERTAKEN,
        5: Standing.NEWEST,
        6: Standing.NEWEST,
        7: Standing.OVERTAKEN,
        8: Standing.UNKNOWN,
        9: Standing.UNKNOWN,
    }


def test_an_event_that_came_back_overtakes_nothing(world: ControlWorld) -> None:
    world.bury_event(2)
    world.letters.reprocess(ALL)
    world.bury_event(6)
    assert standing(world) == {6: Standing.NEWEST}


def test_what_is_gone_from_the_inbox_is_unknown_unless_a_newer_event_is_still_there(world: ControlWorld) -> None:
    world.bury_row(1, row(1))
    world.bury_row(8, row(8))
    world.bury_row(4, row(4))
    world.inbox.append(about(events(2, start=9), ["k3", "other"]), position=Seq(10))
    world.inbox.set_cursor("spark", EVENTS)
    world.inbox.trim()
    assert world.events(after=EVENTS)[0] == (9, "orders/9/0")
    assert standing(world) == {1: Standing.UNKNOWN, 4: Standing.OVERTAKEN, 8: Standing.OVERTAKEN}


def test_the_search_is_bounded(world: ControlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for seq in (1, 4, 7):
        world.bury_event(seq)
    monkeypatch.setattr("holdfast.control.overtaking.SEARCHED", 2)
    assert standing(world) == {4: Standing.OVERTAKEN, 1: Standing.UNKNOWN, 7: Standing.NEWEST}


def test_an_entry_holds_the_event_as_it_was(world: ControlWorld) -> None:
    shown = world.letters.show(world.bury_event(3))
    assert unpacked(shown.entry.payload) == world.event(3)
