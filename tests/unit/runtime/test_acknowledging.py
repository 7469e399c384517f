"""When a source is acknowledged, how a failure is retried, and what is said of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.engine_pipelines import wait_until

from holdfast.capture import Generator
from holdfast.flow.retry import RetryPolicy
from holdfast.model.positions import Lsn, Seq
from holdfast.model.steps import Step
from holdfast.runtime.acknowledging import SourceAcknowledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.model.positions import Position


class Source(Generator):
    """Notes what it is told and what steps are reached, and fails so often."""

    def __init__(self, name: str = "orders", *, failures: int = 0) -> None:
        super().__init__(name)
        self.failures = failures
        self.seen: list[str] = []
        self.told: list[Position] = []

    def acknowledge(self, position: Position) -> None:
        self.seen.append("told")
        if self.failures:
            self.failures -= 1
            raise TimeoutError("no answer")
        self.told.append(position)

    def reached(self, step: str) -> None:
        self.seen.append(step)


@contextmanager
def acknowledging(*sources: Source, pause: float = 0.001) -> Iterator[SourceAcknowledger]:
    pauses = RetryPolicy(base=pause, cap=max(pause, 0.01), attempts=2)
    acknowledger = SourceAcknowledger(sources, hook=sources[0].reached, pauses=pauses)
    acknowledger.start()
    try:
        yield acknowledger
    finally:
        acknowledger.stop(5)


def test_a_source_is_acknowledged_the_earlier_of_what_is_committed_and_what_is_synced() -> None:
    source = Source()
    with acknowledging(source) as acknowledger:
        acknowledger.committed({"orders": Seq(7)})
        acknowledger.synced({"orders": Seq(5)})
        wait_until(lambda: source.told == [Seq(5)], "what is synced is the earlier")
        acknowledger.synced({"orders": Seq(9)})
        wait_until(lambda: source.told == [Seq(5), Seq(7)], "what is committed is the earlier")


def test_a_source_is_acknowledged_nothing_while_one_of_the_two_is_unknown() -> None:
    source, other = Source(), Source("returns")
    with acknowledging(source, other) as acknowledger:
        acknowledger.committed({"orders": Seq(7), "returns": Seq(1)})
        acknowledger.synced({"returns": Seq(1)})
        wait_until(lambda: other.told == [Seq(1)], "the other is known")
    assert source.seen == ["source.acknowledge", "source.acknowledged"], "those of the other source"


def test_the_named_steps_lie_around_the_call_of_the_source() -> None:
    source = Source()
    with acknowledging(source) as acknowledger:
        acknowledger.committed({"orders": Seq(1)})
        acknowledger.synced({"orders": Seq(1)})
        wait_until(lambda: len(source.seen) == 3, "it is acknowledged")
    assert source.seen == [Step.SOURCE_ACKNOWLEDGE, "told", Step.SOURCE_ACKNOWLEDGED]


def test_a_failure_is_retried_beyond_the_budget_of_the_pauses() -> None:
    source = Source(failures=5)
    with acknowledging(source) as acknowledger:
        acknowledger.committed({"orders": Seq(1)})
        acknowledger.synced({"orders": Seq(1)})
        wait_until(lambda: acknowledger.status()["orders"].position == Seq(1), "the sixth attempt succeeds")
        known = acknowledger.status()["orders"]
    assert (known.error, known.failing_since, known.attempts) == (None, None, 0)


def test_what_fails_says_since_when_and_why_and_a_stop_does_not_wait_for_the_next_attempt() -> None:
    source = Source(failures=1000)
    with acknowledging(source, pause=3600) as acknowledger:
        acknowledger.committed({"orders": Seq(1)})
        acknowledger.synced({"orders": Seq(1)})
        wait_until(lambda: acknowledger.status()["orders"].error is not None, "it has failed")
        known = acknowledger.status()["orders"]
        assert (known.error, known.attempts, known.position) == ("TimeoutError: no answer", 1, None)
        assert known.failing_since is not None


def test_positions_that_cannot_be_compared_are_a_failure_of_that_source_alone() -> None:
    source, other = Source(), Source("returns")
    with acknowledging(source, other) as acknowledger:
        acknowledger.committed({"orders": Seq(1), "returns": Seq(1)})
        acknowledger.synced({"orders": Lsn(1), "returns": Seq(1)})
        wait_until(lambda: other.told == [Seq(1)], "the other is acknowledged")
        wait_until(lambda: acknowledger.status()["orders"].error is not None, "this one says why it is not")
    assert source.told == []
