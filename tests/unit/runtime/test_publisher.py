"""A micro-batch is published once, however often Spark runs it, and a difference is noticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from holdfast.log.values import Digest, NewBatch, Published
from holdfast.model.errors import BatchDiverged, DeadLettersFull, NotDeterministic
from holdfast.process.guarding import FailedRow
from holdfast.runtime.publisher import Bury, Evaluation, Keep, Publisher, Replay, Replayed
from holdfast.runtime.spark_checkpoint import Plan

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Outbox:
    """Keeps what is published."""

    batches: dict[int, Published] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)

    def find(self, batch_id: int) -> Published | None:
        return self.batches.get(batch_id)

    def publish(self, batch: NewBatch) -> Published:
        self.trace.append("publish")
        fields = {name: getattr(batch, name) for name in NewBatch.__dataclass_fields__}
        published = Published(
            **fields, oseq=len(self.batches) + 1, generation=1, published_at=datetime(2026, 1, 1, tzinfo=UTC)
        )
        return self.batches.setdefault(batch.batch_id, published)


@dataclass
class Checkpoint:
    """Has planned whatever it is asked for."""

    trace: list[str]
    width: int = 10

    def plan(self, batch_id: int) -> Plan:
        return Plan(batch_id, {"a": batch_id * 10}, {"a": batch_id * 10 + self.width})

    def sync_plan(self, batch_id: int) -> None:
        self.trace.append(f"sync {batch_id}")


class Bench:
    """A publisher over these, with a memory of what was evaluated."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.checkpoint = Checkpoint(self.outbox.trace)
        self.replays: list[Replay] = []
        self.told: list[Published] = []
        self.bury: Bury = lambda _, failed: self.outbox.trace.append(f"bury {len(failed)}")

    def publisher(self, *, query: str = "q", steps: str = "s", stateful: bool = False) -> Publisher:
        return Publisher(
            self.outbox,  # type: ignore[arg-type]
            self.checkpoint,  # type: ignore[arg-type]
            query_id=query,
            fingerprint=steps,
            stateful=stateful,
            positions=lambda _: {},
            bury=self.bury,
            published=self.told.append,
            replayed=self.replays.append,
        )

    def evaluate(self, hash_sum: int = 1, failed: int = 0) -> Callable[[Keep], Evaluation]:
        def run(keep: Keep) -> Evaluation:
            self.outbox.trace.append(f"evaluate {keep.value}")
            rows = [FailedRow("parse", f"e{n}", "ValueError", "no number") for n in range(failed)]
            return Evaluation(Digest(rows=5, hash_sum=hash_sum), failed=tuple(rows))

        return run


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_plan_is_synced_before_the_batch_is_published(bench: Bench) -> None:
    bench.publisher().run(0, bench.evaluate())
    assert bench.outbox.trace == ["sync 0", "evaluate parts", "publish"]
    assert [batch.oseq for batch in bench.told] == [1]


@pytest.mark.req("D9", "X15")
def test_rows_that_failed_are_dead_letters_before_the_batch_is_published(bench: Bench) -> None:
    bench.publisher().run(0, bench.evaluate(failed=3))
    assert bench.outbox.trace == ["sync 0", "evaluate parts", "bury 3", "publish"]


@pytest.mark.req("X15")
def test_a_batch_whose_dead_letters_cannot_be_written_is_not_published(bench: Bench) -> None:
    def refuse(*_: object) -> None:
        raise DeadLettersFull("There is no room.", remedy="Make some.")

    bench.bury = refuse
    with pytest.raises(DeadLettersFull):
        bench.publisher().run(0, bench.evaluate(failed=3))
    assert not bench.told


def test_rows_that_fail_again_in_a_published_batch_are_no_news(bench: Bench) -> None:
    bench.publisher().run(0, bench.evaluate(failed=3))
    bench.outbox.trace.clear()
    bench.publisher().run(0, bench.evaluate(failed=3))
    assert bench.outbox.trace == ["sync 0", "evaluate digest"]


@pytest.mark.req("X22")
def test_a_batch_that_comes_again_is_evaluated_and_not_published(bench: Bench) -> None:
    bench.publisher().run(0, bench.evaluate())
    bench.outbox.trace.clear()
    bench.publisher().run(0, bench.evaluate())
    assert bench.outbox.trace == ["sync 0", "evaluate digest"]
    assert len(bench.told) == 1
    assert [replay.verdict for replay in bench.replays] == [Replayed.EQUAL]


@pytest.mark.parametrize("change", ["query", "ends"])
def test_a_batch_that_comes_again_as_another_one_stops_the_pipeline(bench: Bench, change: str) -> None:
    bench.publisher().run(0, bench.evaluate())
    if change == "ends":
        bench.checkpoint.width = 11
    with pytest.raises(BatchDiverged):
        bench.publisher(query="other" if change == "query" else "q").run(0, bench.evaluate())
    assert len(bench.told) == 1


def test_randomness_in_a_stateless_step_is_reported_and_goes_on(bench: Bench) -> None:
    bench.publisher().run(0, bench.evaluate(1))
    bench.publisher().run(0, bench.evaluate(2))
    assert [replay.verdict for replay in bench.replays] == [Replayed.NOT_DETERMINISTIC]


def test_randomness_in_a_stateful_step_stops_before_spark_commits_the_state(bench: Bench) -> None:
    bench.publisher(stateful=True).run(0, bench.evaluate(1))
    with pytest.raises(NotDeterministic):
        bench.publisher(stateful=True).run(0, bench.evaluate(2))
    assert [replay.verdict for replay in bench.replays] == [Replayed.NOT_DETERMINISTIC]


def test_other_rows_of_other_steps_are_not_blamed_on_randomness(bench: Bench) -> None:
    bench.publisher(steps="old", stateful=True).run(0, bench.evaluate(1))
    bench.publisher(steps="new", stateful=True).run(0, bench.evaluate(2))
    assert [replay.verdict for replay in bench.replays] == [Replayed.STEPS_CHANGED]
