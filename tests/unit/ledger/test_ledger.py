"""The ledger by example: each test tells one story that the exploration proves in general."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.ledger.cursors import Cursors, CursorsCodec, StopReason, StopRecord
from holdfast.ledger.decisions import Acknowledge, Release, WriteCursors
from holdfast.ledger.lane import LaneSpec, Start
from holdfast.ledger.ledger import Ledger, Phase
from holdfast.ledger.policy import All, Quorum
from holdfast.ledger.resume import Batch, Resume, Route
from holdfast.ledger.tickets import Sending
from holdfast.model.errors import (
    BatchNotNew,
    CursorAhead,
    HoldfastError,
    InvalidLane,
    InvalidPolicy,
    LaneExists,
    NotDrained,
    NotRetained,
    PhaseRefused,
    PositionWentBack,
    RollbackRefused,
    TicketUsed,
    UnknownFormat,
    UnknownSource,
)
from holdfast.model.positions import Lsn, Seq


def ledger_with(batches: int, *lanes: LaneSpec, sources: tuple[str, ...] = ("s",)) -> Ledger:
    ledger = Ledger(sources=sources, lanes=lanes or [LaneSpec("a", max_inflight=8)])
    for oseq in range(1, batches + 1):
        ledger.create(oseq, {"s": Seq(oseq * 10)})
    return ledger


def acknowledge(ledger: Ledger, lane: str, times: int = 1) -> None:
    for _ in range(times):
        ticket = ledger.next(lane)
        assert ticket is not None
        ticket.send().ack()


def persist(ledger: Ledger) -> list[object]:
    """Do what the ledger decides, as a shell would; returns what the outside was told."""
    told: list[object] = []
    while decisions := ledger.decisions():
        for decision in decisions:
            if isinstance(decision, WriteCursors):
                ledger.persisted(decision.cursors)
            else:
                told.append(decision)
    return told


@pytest.mark.req("M2")
def test_batch_three_answers_before_batch_one() -> None:
    ledger = ledger_with(3)
    one, two, three = (ledger.next("a").send() for _ in range(3))  # type: ignore[union-attr]
    three.ack()
    assert (ledger.committed, ledger.lanes["a"].pending_acks) == (0, {3})
    one.ack()
    assert (ledger.committed, ledger.lanes["a"].pending_acks) == (1, {3})
    two.ack()
    assert (ledger.committed, ledger.lanes["a"].pending_acks) == (3, set())
    assert ledger.positions == {"s": Seq(30)}


@pytest.mark.req("X3")
def test_sources_are_told_and_batches_released_only_when_the_cursors_are_durable() -> None:
    ledger = ledger_with(2)
    acknowledge(ledger, "a", 2)
    (write,) = ledger.decisions()
    assert isinstance(write, WriteCursors)
    assert ledger.decisions() == ()
    ledger.persisted(write.cursors)
    assert ledger.decisions() == (Acknowledge({"s": Seq(20)}), Release(2))


def test_many_answers_are_one_cursor_write() -> None:
    ledger = ledger_with(50)
    acknowledge(ledger, "a", 50)
    (write,) = ledger.decisions()
    assert isinstance(write, WriteCursors)
    assert write.cursors.delivered == {"a": 50}


def test_each_source_has_its_own_safe_point() -> None:
    ledger = Ledger(sources=["pg", "log", "udp"], lanes=[LaneSpec("a", max_inflight=8)])
    ledger.create(1, {"pg": Lsn(100), "log": Seq(5)})
    ledger.create(2, {})
    ledger.create(3, {"pg": Lsn(200)})
    acknowledge(ledger, "a", 2)
    assert ledger.positions == {"pg": Lsn(100), "log": Seq(5)}
    acknowledge(ledger, "a")
    assert ledger.positions == {"pg": Lsn(200), "log": Seq(5)}


@pytest.mark.req("D6")
def test_a_failed_sink_keeps_its_cursor_and_others_go_on() -> None:
    ledger = ledger_with(2, LaneSpec("fast"), LaneSpec("slow", required=False))
    acknowledge(ledger, "fast", 2)
    ledger.next("slow").send().fail()  # type: ignore[union-attr]
    assert ledger.cursors().delivered == {"fast": 2, "slow": 0}
    assert ledger.committed == 2
    assert persist(ledger)[-1] == Acknowledge({"s": Seq(20)}), "nothing is released: the slow sink needs it"


@pytest.mark.req("X14")
def test_an_added_sink_counts_once_it_has_caught_up_and_a_removed_one_pins_nothing() -> None:
    ledger = ledger_with(2)
    ledger.change_policy(All())
    acknowledge(ledger, "a", 2)
    ledger.add_lane(LaneSpec("late", max_inflight=8))
    ledger.create(3, {"s": Seq(30)})
    acknowledge(ledger, "a")
    assert ledger.committed == 3, "the late lane does not hold the others back"
    acknowledge(ledger, "late", 3)
    ledger.create(4, {"s": Seq(40)})
    acknowledge(ledger, "a")
    assert ledger.committed == 3, "it has caught up, so it counts now"
    record = ledger.remove_lane("late")
    assert record.remaining == {"late": (4,)}
    assert ledger.committed == 4
    assert Release(4) in persist(ledger)


def test_a_sink_that_starts_now_does_not_vouch_for_what_it_never_got() -> None:
    ledger = ledger_with(3, LaneSpec("a"))
    ledger.change_policy(Quorum(1))
    ledger.add_lane(LaneSpec("new", start=Start.NOW))
    assert ledger.committed == 0


def test_the_last_sink_that_can_vouch_for_the_next_batch_is_not_removed() -> None:
    ledger = ledger_with(1)
    ledger.add_lane(LaneSpec("new", start=Start.NOW))
    with pytest.raises(InvalidPolicy):
        ledger.remove_lane("a")
    acknowledge(ledger, "a")
    ledger.remove_lane("a")
    ledger.create(2, {"s": Seq(20)})
    acknowledge(ledger, "new")
    assert ledger.committed == 2


def test_a_first_start_beside_a_sink_that_has_a_cursor_goes_on_from_there() -> None:
    ledger = restart(Resume(batches=outbox(1, 2), last_oseq=2, sink_cursors={"a": 1}))
    acknowledge(ledger, "a")
    assert ledger.committed == 2
    fresh = restart(Resume(batches=outbox(1, 2), last_oseq=2), LaneSpec("a", start=Start.NOW))
    fresh.create(3, {"s": Seq(30)})
    acknowledge(fresh, "a")
    assert fresh.committed == 3, "nobody is owed what came before"


@pytest.mark.req("M4", "M5", "M7")
def test_draining_takes_on_nothing_new_and_a_stop_lists_what_remains() -> None:
    ledger = ledger_with(3)
    sending = ledger.next("a").send()  # type: ignore[union-attr]
    queued = ledger.next("a")
    ledger.drain()
    assert ledger.next("a") is None
    for new in (lambda: ledger.create(4, {}), queued.send):  # type: ignore[union-attr]
        with pytest.raises(PhaseRefused):
            new()
    with pytest.raises(NotDrained):
        ledger.stop()
    sending.fail().send().ack()
    record = ledger.stop()
    assert record == StopRecord(StopReason.GRACEFUL, remaining={"a": (2, 3)})
    assert ledger.phase is Phase.STOPPED
    assert ledger.cursors().stop == record


@pytest.mark.req("M5", "M6", "M10")
def test_a_forced_stop_lists_what_it_abandoned_and_is_final() -> None:
    ledger = ledger_with(3)
    first, second = (ledger.next("a").send() for _ in range(2))  # type: ignore[union-attr]
    second.ack()
    record = ledger.force_stop()
    assert record == StopRecord(StopReason.FORCED, remaining={"a": (3,)}, abandoned={"a": (1,)}, answered={"a": (2,)})
    assert ledger.lanes["a"].delivered == 0
    for late in (first.ack, ledger.force_stop, ledger.stop, ledger.drain, lambda: ledger.create(9, {})):
        with pytest.raises(HoldfastError):
            late()
    assert ledger.lanes["a"].delivered == 0


Change = Callable[[Ledger], object]
CHANGES: dict[str, Change] = {
    "create": lambda ledger: ledger.create(9, {"s": Seq(90)}),
    "retry": lambda ledger: ledger.retry("a", 2),
    "add_lane": lambda ledger: ledger.add_lane(LaneSpec("c")),
    "remove_lane": lambda ledger: ledger.remove_lane("b"),
    "detach_lane": lambda ledger: ledger.detach_lane("b"),
    "attach_lane": lambda ledger: ledger.attach_lane(LaneSpec("detached")),
    "change_policy": lambda ledger: ledger.change_policy(All()),
    "drain": lambda ledger: ledger.drain(),
    "stop": lambda ledger: ledger.stop(),
    "force_stop": lambda ledger: ledger.force_stop(),
    "roll_back_lane": lambda ledger: ledger.roll_back_lane("a", 0),
    "roll_back": lambda ledger: ledger.roll_back(0, {}),
}
LANES = [LaneSpec(name, max_inflight=8, required=name == "a") for name in ("a", "b", "detached")]


def sent(ledger: Ledger) -> Sending:
    ticket = ledger.next("a")
    assert ticket is not None
    return ticket.send()


def started_ledger() -> Ledger:
    """Three batches, of which lane `a` has delivered the first; one lane is detached."""
    ledger = ledger_with(3, *LANES)
    ledger.detach_lane("detached")
    sent(ledger).ack()
    return ledger


@pytest.mark.req("M10")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ends", ["drained", "forced"])
def test_no_operation_changes_a_ledger_that_has_stopped(ends: str, change: str) -> None:
    ledger = started_ledger()
    if ends == "drained":
        ledger.drain()
        ledger.stop()
    else:
        sent(ledger).hold()
        ledger.force_stop()
    before = ledger.cursors()
    with pytest.raises(PhaseRefused):
        CHANGES[change](ledger)
    assert (ledger.phase, ledger.cursors(), ledger.next("a")) == (Phase.STOPPED, before, None)


@pytest.mark.req("M10")
def test_no_answer_changes_a_ledger_that_has_stopped() -> None:
    ledger = started_ledger()
    waiting = sent(ledger).reject()
    answers = [answer for ticket in [sent(ledger)] for answer in (ticket.ack, ticket.fail, ticket.hold, ticket.reject)]
    ledger.force_stop()
    before = ledger.cursors()
    for answer in (*answers, waiting.dead_lettered):
        with pytest.raises(HoldfastError):
            answer()
    assert (ledger.phase, ledger.cursors()) == (Phase.STOPPED, before)


@pytest.mark.req("M10")
@pytest.mark.parametrize("ends", ["acknowledged", "dead-lettered"])
def test_a_batch_that_was_resolved_is_never_sent_again(ends: str) -> None:
    ledger = ledger_with(1)
    ticket = sent(ledger)
    if ends == "acknowledged":
        ticket.ack()
    else:
        ticket.reject().dead_lettered()
    assert ledger.next("a") is None
    with pytest.raises(TicketUsed):
        ledger.retry("a", 1)
    assert ledger.lanes["a"].delivered == 1


def outbox(*numbers: int) -> tuple[Batch, ...]:
    return tuple(Batch(oseq, {"s": Seq(oseq * 10)}) for oseq in numbers)


def restart(known: Resume, *lanes: LaneSpec) -> Ledger:
    return Ledger(sources=["s"], lanes=lanes or [LaneSpec("a")], known=known)


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    ("ours", "sinks", "delivered", "route"),
    [
        (2, None, 2, Route.RESUMED),
        (2, 2, 2, Route.RESUMED),
        (2, 3, 3, Route.SINK_AHEAD),
        (2, 1, 1, Route.SINK_BEHIND),
        (2, 0, 0, Route.NOT_RETAINED),
        (None, 3, 3, Route.NEW),
    ],
)
def test_the_cursor_inside_the_sink_wins(ours: int | None, sinks: int | None, delivered: int, route: Route) -> None:
    stored = Cursors({} if ours is None else {"a": ours}, committed=2, positions={"s": Seq(20)})
    held = {} if sinks is None else {"a": sinks}
    ledger = restart(Resume(stored, batches=outbox(2, 3), last_oseq=3, trimmed=1, sink_cursors=held))
    assert ledger.starts["a"].route is route
    assert ledger.lanes["a"].delivered == delivered
    assert ledger.committed == max(2, delivered), "committed never falls"
    ticket = ledger.next("a")
    assert (ticket and ticket.oseq) == (None if route is Route.NOT_RETAINED or delivered == 3 else delivered + 1)


def test_a_restored_sink_holds_the_policy_until_it_has_caught_up() -> None:
    stored = Cursors({"a": 2}, committed=2, positions={"s": Seq(20)})
    ledger = restart(Resume(stored, batches=outbox(1, 2, 3), last_oseq=3, sink_cursors={"a": 0}))
    acknowledge(ledger, "a", 2)
    assert ledger.committed == 2
    acknowledge(ledger, "a")
    assert ledger.committed == 3


def test_a_source_that_was_not_told_before_the_crash_is_told_after_it() -> None:
    stored = Cursors({"a": 2}, committed=2, positions={"s": Seq(20)})
    ledger = restart(Resume(stored, batches=outbox(2), last_oseq=2, trimmed=1))
    assert Acknowledge({"s": Seq(20)}) in persist(ledger)


def test_a_stopped_lane_stays_stopped_through_a_rollback() -> None:
    stored = Cursors({"a": 3, "b": 3}, committed=3, positions={"s": Seq(30)})
    known = Resume(stored, batches=outbox(3), last_oseq=3, trimmed=2, sink_cursors={"b": 1})
    ledger = restart(known, LaneSpec("a"), LaneSpec("b"))
    assert ledger.lanes["b"].stopped
    ledger.roll_back(2, {"s": Seq(20)})
    ledger.create(4, {"s": Seq(30)})
    assert ledger.next("b") is None, "batch 2 is gone, so nothing behind it may be sent"


def test_a_cursor_beyond_the_outbox_refuses_to_start() -> None:
    with pytest.raises(CursorAhead):
        restart(Resume(Cursors({"a": 5}), last_oseq=3))
    with pytest.raises(CursorAhead):
        restart(Resume(Cursors({"a": 1}), last_oseq=3, sink_cursors={"a": 4}))
    with pytest.raises(CursorAhead):
        Resume(Cursors({}, committed=4), last_oseq=3)


@pytest.mark.req("X14")
def test_a_new_sink_that_asks_for_what_is_gone_is_refused_with_what_is_missing() -> None:
    known = Resume(Cursors({"a": 3}, committed=3), batches=outbox(3), last_oseq=3, trimmed=2)
    with pytest.raises(NotRetained) as refusal:
        restart(known, LaneSpec("a"), LaneSpec("b"))
    assert refusal.value.context["missing"] == (1, 2)
    ledger = restart(known, LaneSpec("a"), LaneSpec("b", start=2), LaneSpec("c", start=Start.NOW))
    assert [lane.delivered for lane in ledger.lanes.values()] == [3, 2, 3]


@pytest.mark.req("M3")
def test_a_lane_rolled_back_is_delivered_again_and_committed_stays() -> None:
    ledger = ledger_with(3)
    acknowledge(ledger, "a", 3)
    ledger.roll_back_lane("a", 1)
    assert (ledger.lanes["a"].delivered, ledger.committed, ledger.rollbacks) == (1, 3, 1)
    acknowledge(ledger, "a", 2)
    assert ledger.lanes["a"].delivered == 3


@pytest.mark.req("M3")
def test_a_pipeline_rolled_back_voids_later_batches_and_never_uses_their_numbers_again() -> None:
    ledger = ledger_with(3, LaneSpec("a", max_inflight=8), LaneSpec("b", required=False))
    acknowledge(ledger, "a", 3)
    ledger.roll_back(1, {"s": Seq(10)})
    assert (ledger.committed, ledger.positions, ledger.rollbacks) == (1, {"s": Seq(10)}, 1)
    with pytest.raises(BatchNotNew):
        ledger.create(2, {})
    ledger.create(4, {"s": Seq(15)})
    acknowledge(ledger, "a")
    assert (ledger.committed, ledger.positions) == (4, {"s": Seq(15)})
    acknowledge(ledger, "b", 2)
    assert ledger.lanes["b"].delivered == 4


def test_a_rollback_that_cannot_be_reached_is_refused() -> None:
    ledger = ledger_with(3)
    acknowledge(ledger, "a", 2)
    persist(ledger)
    for to in (1, 3):
        with pytest.raises(RollbackRefused):
            ledger.roll_back_lane("a", to)
    with pytest.raises(RollbackRefused):
        ledger.roll_back(1, {})
    sending = ledger.next("a").send()  # type: ignore[union-attr]
    with pytest.raises(RollbackRefused):
        ledger.roll_back_lane("a", 2)
    sending.ack()


def test_after_a_rollback_no_source_is_told_less_than_before() -> None:
    ledger = ledger_with(2, LaneSpec("a", max_inflight=8), LaneSpec("b", required=False))
    acknowledge(ledger, "a", 2)
    assert persist(ledger) == [Acknowledge({"s": Seq(20)})]
    ledger.roll_back(1, {"s": Seq(10)})
    ledger.create(3, {"s": Seq(15)})
    acknowledge(ledger, "a")
    assert not [told for told in persist(ledger) if isinstance(told, Acknowledge)]
    ledger.create(4, {"s": Seq(25)})
    acknowledge(ledger, "a")
    assert persist(ledger) == [Acknowledge({"s": Seq(25)})]


def test_bad_input_gets_a_typed_error() -> None:
    ledger = ledger_with(1)
    refusals = {
        UnknownSource: lambda: ledger.create(2, {"nowhere": Seq(1)}),
        PositionWentBack: lambda: ledger.create(2, {"s": Seq(9)}),
        BatchNotNew: lambda: ledger.create(1, {}),
        LaneExists: lambda: ledger.add_lane(LaneSpec("a")),
        InvalidPolicy: lambda: ledger.change_policy(Quorum(2)),
        InvalidLane: lambda: LaneSpec("x", max_inflight=0),
    }
    for error, use in refusals.items():
        with pytest.raises(error) as refusal:
            use()
        assert refusal.value.code.startswith("HF-2")
        assert refusal.value.what.endswith(".")
        assert refusal.value.remedy.endswith(".")
    assert ledger.batches.last_oseq == 1


def test_the_ledger_keeps_its_own_copy_of_what_it_is_given() -> None:
    ledger = ledger_with(0)
    ends = {"s": Seq(1)}
    ledger.create(1, ends)
    ends["s"] = Seq(2)
    ledger.create(2, ends)
    acknowledge(ledger, "a")
    assert ledger.positions == {"s": Seq(1)}


def test_what_was_decided_before_a_rollback_is_not_done_after_it() -> None:
    ledger = ledger_with(2)
    acknowledge(ledger, "a", 2)
    (write,) = ledger.decisions()
    assert isinstance(write, WriteCursors)
    ledger.roll_back(1, {"s": Seq(10)})
    ledger.persisted(write.cursors)
    assert not [told for told in persist(ledger) if told == Acknowledge({"s": Seq(20)})]


def test_a_start_or_a_rollback_on_nonsense_is_refused() -> None:
    with pytest.raises(LaneExists):
        Ledger(sources=[], lanes=[LaneSpec("a"), LaneSpec("a")])
    for numbers in [(3, 1), (1, 1), (4,)]:
        with pytest.raises(BatchNotNew):
            Resume(batches=outbox(*numbers), last_oseq=3)
    ledger = ledger_with(2)
    for ends in [{"s": Seq(99)}, {"elsewhere": Seq(1)}]:
        with pytest.raises(RollbackRefused):
            ledger.roll_back(1, ends)


def test_removing_the_last_required_sink_is_refused() -> None:
    ledger = ledger_with(1, LaneSpec("a"), LaneSpec("b", required=False))
    with pytest.raises(InvalidPolicy):
        ledger.remove_lane("a")
    assert set(ledger.lanes) == {"a", "b"}


@pytest.mark.req("M5")
def test_a_forced_stop_lists_what_was_answered_above_a_hole() -> None:
    ledger = ledger_with(4)
    tickets = [ledger.next("a").send() for _ in range(4)]  # type: ignore[union-attr]
    for answered in (0, 2, 3):
        tickets[answered].ack()
    record = ledger.force_stop()
    assert record == StopRecord(StopReason.FORCED, abandoned={"a": (2,)}, answered={"a": (3, 4)})
    assert ledger.cursors().delivered == {"a": 1}


def test_cursors_round_trip_and_refuse_what_is_not_theirs() -> None:
    codec = CursorsCodec()
    cursors = Cursors(
        {"a": 3, "b": 1},
        committed=3,
        positions={"s": Lsn(77)},
        joining={"b": 0},
        rollbacks=2,
        stop=StopRecord(StopReason.FORCED, remaining={"a": (4,)}, abandoned={"b": (2, 3)}, answered={"b": (5,)}),
    )
    assert codec.decode(codec.encode(cursors)) == cursors
    bad = [b"", b"[]", b"{}", b'{"format": 99}', codec.encode(cursors).replace(b'"a":3', b'"a":-3'), b"\xff"]
    for payload in bad:
        with pytest.raises(UnknownFormat) as refusal:
            codec.decode(payload)
        assert refusal.value.code == "HF-103"
