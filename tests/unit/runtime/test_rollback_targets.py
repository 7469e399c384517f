"""Where one can go back to, and what a preview says, as tables: no file is read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.deliver import GoingBack
from holdfast.ledger import Cursors
from holdfast.log import Digest, PartRef, Published
from holdfast.model.errors import RollbackRefused
from holdfast.runtime.records import Generation
from holdfast.runtime.rollback.records import Generations, History, HistoryCodec, Outcome, Rollback
from holdfast.runtime.rollback.targets import (
    Facts,
    SinkMeans,
    Target,
    chosen,
    preview_of_pipeline,
    preview_of_sink,
    targets_of_pipeline,
    targets_of_sink,
    undoable,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
INBOX = "inbox"
PART = PartRef("part", 10, 1, 1, 1)


def batch(oseq: int, *, batch_id: int | None = None, generation: int = 1) -> Published:
    """Batch n is Spark's batch n - 1, has ten rows, ends at event 10 n, and was published n minutes after noon."""
    return Published(
        batch_id=oseq - 1 if batch_id is None else batch_id,
        query_id="query",
        fingerprint="steps",
        starts={INBOX: 10 * (oseq - 1)},
        ends={INBOX: 10 * oseq},
        positions={},
        parts=(PART,),
        digest=Digest(10, 0),
        oseq=oseq,
        generation=generation,
        published_at=NOON + timedelta(minutes=oseq),
    )


FACTS = Facts(
    cursors=Cursors({"table": 6, "slow": 4}),
    generation=Generation(1),
    batches=[batch(oseq) for oseq in range(1, 7)],
    void=[],
    trimmed=2,
    last_oseq=6,
    planned=frozenset(range(6)),
    finished=frozenset(range(6)),
    points=[],
    held_from={INBOX: 1},
    history=History(),
)
POINT = Target(2, NOON, batch(2), "points/2")


def oseqs(facts: Facts, sink: str | None = None) -> list[int]:
    found = targets_of_pipeline(facts) if sink is None else targets_of_sink(facts, sink)
    return [target.oseq for target in found]


class TestReach:
    """What can be gone back to."""

    def test_a_sink_reaches_what_the_outbox_still_has_up_to_its_cursor(self) -> None:
        assert oseqs(FACTS, "table") == [2, 3, 4, 5, 6]
        assert oseqs(FACTS, "slow") == [2, 3, 4]

    def test_a_sink_without_a_cursor_reaches_nothing(self) -> None:
        with pytest.raises(RollbackRefused, match="slow, table"):
            targets_of_sink(FACTS, "other")

    @pytest.mark.parametrize(
        ("changed", "reached"),
        [
            ({}, [1, 2, 3, 4, 5, 6]),
            ({"planned": frozenset({2, 3, 4, 5})}, [4, 5, 6]),
            ({"finished": frozenset({0, 1, 2, 3, 4})}, [1, 2, 3, 4, 5]),
            ({"held_from": {INBOX: 32}}, [4, 5, 6]),
            ({"held_from": {INBOX: 31}}, [3, 4, 5, 6]),
            ({"held_from": {INBOX: 1, "another": 2}}, []),
            ({"planned": frozenset(), "points": [POINT]}, [2]),
            ({"planned": frozenset(), "points": [POINT], "held_from": {INBOX: 22}}, []),
            ({"batches": [*FACTS.batches, batch(7, batch_id=-7)]}, []),
            ({"batches": [batch(1), batch(2), batch(3, batch_id=-3), batch(4, batch_id=2)]}, [4]),
        ],
        ids=[
            "all of Spark's batches",
            "the batch before must be there too",
            "only finished ones",
            "the inbox has forgotten",
            "the inbox has just not forgotten",
            "another inbox has forgotten",
            "a point reaches further than Spark",
            "a point whose events are gone",
            "not behind dead letters that were delivered again",
            "only behind them",
        ],
    )
    def test_the_pipeline_reaches(self, changed: dict[str, object], reached: list[int]) -> None:
        assert oseqs(replace(FACTS, **changed)) == reached

    def test_a_batch_of_an_earlier_generation_is_not_reached_by_its_number(self) -> None:
        earlier = [batch(1, generation=1), *(batch(oseq, generation=2) for oseq in (2, 3))]
        assert oseqs(replace(FACTS, batches=earlier, generation=Generation(2))) == [2, 3]


class TestChoice:
    """What somebody means."""

    TARGETS = targets_of_pipeline(FACTS)

    @pytest.mark.parametrize(
        ("to", "oseq"),
        [
            ("3", 3),
            ("oldest", 1),
            ("newest", 6),
            ("2030-01-01T12:03:00+00:00", 3),
            ("2030-01-01T12:03:59", 3),
            ("2030-01-01T13:03:59+01:00", 3),
        ],
    )
    def test_it_is_found(self, to: str, oseq: int) -> None:
        assert chosen(self.TARGETS, to, "The pipeline").oseq == oseq

    @pytest.mark.parametrize("to", ["7", "0", "2030-01-01T12:00:00", "soon", "-1"])
    def test_it_is_refused(self, to: str) -> None:
        with pytest.raises(RollbackRefused, match="The pipeline cannot go back to"):
            chosen(self.TARGETS, to, "The pipeline")

    def test_nothing_to_choose_from_is_refused(self) -> None:
        with pytest.raises(RollbackRefused, match="no place"):
            chosen([], "oldest", "The pipeline")


def means(name: str, effect: GoingBack = GoingBack.ENDS_EQUAL) -> SinkMeans:
    return SinkMeans(name, "sqlite", "exactly-once", effect)


class TestPreview:
    """What is told before anything is done."""

    def test_a_sink_counts_what_it_has_behind_the_target(self) -> None:
        told = preview_of_sink(FACTS, means("slow"), targets_of_sink(FACTS, "slow")[1])
        (slow,) = told.sinks
        assert (told.events, told.batches, slow.delivered, slow.batches, slow.rows) == (0, 0, 4, 1, 10)

    def test_the_pipeline_counts_events_batches_and_each_sink_by_its_own_cursor(self) -> None:
        told = preview_of_pipeline(
            FACTS,
            [means("table"), means("slow"), means("new")],
            chosen(targets_of_pipeline(FACTS), "3", "The pipeline"),
        )
        assert (told.events, told.batches) == (30, 3)
        assert [(each.sink.name, each.batches, each.rows) for each in told.sinks] == [("table", 3, 30), ("slow", 1, 10)]
        assert "No schema versions are restored" in told.notes[0]

    def test_rows_that_are_on_record_no_more_are_not_guessed(self) -> None:
        facts = replace(FACTS, batches=FACTS.batches[4:], planned=frozenset(), points=[POINT])
        told = preview_of_pipeline(facts, [means("table")], POINT)
        assert [each.rows for each in told.sinks] == [None]


DONE = Rollback(
    number=1,
    at=NOON,
    by="somebody",
    sink=None,
    to=4,
    newest=6,
    delivered={"table": 6, "slow": 4},
    removing=("table",),
    generations=Generations(1, 2, replace(batch(4), parts=()), "spark/1", {INBOX: 3}),
    outcome=Outcome.DONE,
)
BACK = replace(
    FACTS,
    cursors=Cursors({"table": 4, "slow": 4}),
    batches=FACTS.batches[:4],
    void=FACTS.batches[4:],
    history=History((DONE,)),
)


class TestUndoing:
    """Until something came of it, a rollback can be taken back."""

    def test_one_of_which_nothing_came(self) -> None:
        assert undoable(BACK) == DONE

    @pytest.mark.parametrize(
        ("changed", "why"),
        [
            ({"history": History()}, "none that was carried out"),
            ({"history": History((replace(DONE, outcome=Outcome.GIVEN_UP),))}, "none that was carried out"),
            ({"history": History((DONE, replace(DONE, number=2, undoes=1)))}, "none that was carried out"),
            ({"last_oseq": 7}, "since"),
            ({"cursors": Cursors({"table": 5, "slow": 4})}, "since"),
            ({"void": FACTS.batches[5:]}, "not all in the outbox"),
            ({"void": [batch(5), replace(batch(6), parts=())]}, "not all in the outbox"),
        ],
    )
    def test_one_that_is_too_late(self, changed: dict[str, object], why: str) -> None:
        with pytest.raises(RollbackRefused, match=why):
            undoable(replace(BACK, **changed))

    def test_a_sink_that_removed_rows_has_nothing_to_take_back(self) -> None:
        sink = replace(DONE, sink="table", generations=None)
        facts = replace(FACTS, cursors=Cursors({"table": 4, "slow": 4}), history=History((sink,)))
        with pytest.raises(RollbackRefused, match="removed"):
            undoable(facts)
        kept = replace(sink, removing=())
        assert undoable(replace(facts, history=History((kept,)))) == kept


def test_a_record_is_read_as_it_was_written() -> None:
    history = History((DONE, replace(DONE, number=2, sink="table", generations=None, outcome=Outcome.INTENDED)))
    assert HistoryCodec().decode(HistoryCodec().encode(history)) == history
    assert history.open == history.rollbacks[1]
