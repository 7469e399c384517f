"""Rows that the steps cannot take become dead letters, and everything else is delivered; without a JVM."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import Tap, finish, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Budget, Pipeline, Sqlite, State, rows
from holdfast.log import DeadLetterLog
from holdfast.log.dead_entry import unpacked
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import IsolationExhausted, NoRowFailsAlone, RestartsExhausted
from holdfast.runtime.isolation import IsolationLimits
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from holdfast.log import DeadLetterEntry

EVENTS = 330


def number(row: dict[str, Any]) -> int:
    return int(row["position"])


class Fails:
    """A function over rows that cannot take some orders."""

    __name__ = "enrich"

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        if number(row) in self.numbers:
            raise KeyError("region")
        return row


class Breaks:
    """Steps over whole batches that break when some orders are among their events."""

    def __init__(self, *numbers: int, error: Callable[[], Exception] = lambda: ZeroDivisionError("by zero")) -> None:
        self.numbers = set(numbers)
        self.error = error
        self.probes = 0

    def __call__(self, events: pa.Table) -> pa.Table:
        self.probes += 1
        if self.numbers.intersection(events["position"].cast(pa.int64()).to_pylist()):
            raise self.error()
        return orders(events)


def pipeline(directory: Path, *, source: Tap | None = None) -> Pipeline:
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(source or Tap(EVENTS, open_to=EVENTS))
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        .restarts(Budget(failures=2))
    )


def dead(directory: Path) -> list[DeadLetterEntry]:
    with DeadLetterLog.open(directory / "pipeline" / "dead", epoch=1_000_000) as log:
        return list(log.entries())


def check_conserved(directory: Path, poison: Sequence[int], *, events: int = EVENTS) -> None:
    """Every order is delivered, filtered by the steps, or a dead letter: exactly one of them."""
    delivered = table_numbers(directory / "sink.db")
    given_up = [int(entry.position or 0) for entry in dead(directory)]
    filtered = [n for n in range(1, events + 1) if n % 10 == 0 and n not in poison]
    assert sorted(given_up) == sorted(poison)
    assert delivered == [n for n in passed(events) if n not in poison]
    assert Counter([*delivered, *given_up, *filtered]) == Counter(range(1, events + 1))


class TestRows:
    @pytest.mark.req("D9", "K9", "G10", "X8")
    def test_rows_that_fail_are_dead_letters_and_the_others_are_delivered(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(orders, step=rows(Fails(3, 77, 300)))):
            finish(whole)
            assert whole.status().spark.restarts == 0
        check_conserved(tmp_path, [3, 77, 300])

    @pytest.mark.req("D9")
    def test_an_entry_holds_the_event_as_the_inbox_had_it_and_the_reason(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(orders, step=rows(Fails(77)))):
            finish(whole)
        (entry,) = dead(tmp_path)
        event = unpacked(entry.payload)
        assert event is not None
        assert event.schema.equals(ENVELOPE)
        assert event["event_id"][0].as_py() == entry.event_id
        assert (entry.stage, entry.error_kind, entry.error_code) == ("step:enrich", "KeyError", "HF-704")
        assert entry.message.startswith("KeyError: 'region'\n")
        assert "raise KeyError" in entry.message

    @pytest.mark.req("D10")
    def test_a_batch_of_which_every_row_fails_is_published_empty_after_its_dead_letters(self, tmp_path: Path) -> None:
        everything = range(1, EVENTS + 1)
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(orders, step=rows(Fails(*everything)))):
            wait_until(whole.engine.is_caught_up, "everything is given up")
            whole.drain()
        assert sorted(int(entry.position or 0) for entry in dead(tmp_path)) == list(everything)

    @pytest.mark.req("K9")
    def test_no_memory_is_no_rows_fault(self, tmp_path: Path) -> None:
        def hungry(row: dict[str, Any]) -> dict[str, Any]:
            if number(row) == 77:
                raise MemoryError
            return row

        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(orders, step=rows(hungry))):
            assert whole.wait(timeout=20)
            assert isinstance(whole.engine.error, RestartsExhausted)
        assert dead(tmp_path) == []


class TestBatches:
    @pytest.mark.req("D9", "K9", "G10", "X8")
    @pytest.mark.parametrize("poison", [[1], [77], [61, 62, 300], [330]])
    def test_rows_that_break_a_batch_are_found_and_given_up_and_the_others_are_delivered(
        self, tmp_path: Path, poison: list[int]
    ) -> None:
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(Breaks(*poison))):
            finish(whole)
        check_conserved(tmp_path, poison)
        assert {entry.stage for entry in dead(tmp_path)} == {"step:query"}
        assert {entry.error_kind for entry in dead(tmp_path)} == {"ZeroDivisionError"}

    def test_what_was_isolated_counts_for_nothing_in_the_restart_budget(self, tmp_path: Path) -> None:
        poison = [7, 77, 133, 199, 277]
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(Breaks(*poison))):
            finish(whole)
            assert whole.status().spark.restarts == 5
        check_conserved(tmp_path, poison)

    @pytest.mark.req("X8")
    def test_rows_that_fail_only_together_make_the_pipeline_fail_and_are_named(self, tmp_path: Path) -> None:
        def overflow(events: pa.Table) -> pa.Table:
            if events.num_rows > 40:
                raise OverflowError("the sum is too large")
            return orders(events)

        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(overflow)):
            assert whole.wait(timeout=20)
            assert whole.engine.state is State.FAILED
            assert isinstance(whole.engine.error, NoRowFailsAlone)
        assert dead(tmp_path) == []

    @pytest.mark.req("K9")
    @pytest.mark.parametrize(
        "error", [MemoryError, lambda: OSError(28, "No space left on device")], ids=["oom", "disk"]
    )
    def test_what_is_no_rows_fault_is_blamed_on_none(self, tmp_path: Path, error: Callable[[], Exception]) -> None:
        steps = Breaks(77, error=error)
        whole = pipeline(tmp_path)
        with started(whole, processor=lambda: LocalProcessor(steps)):
            assert whole.wait(timeout=20)
            assert isinstance(whole.engine.error, RestartsExhausted)
        assert dead(tmp_path) == []
        assert table_numbers(tmp_path / "sink.db") == passed(60)[: len(table_numbers(tmp_path / "sink.db"))]

    @pytest.mark.req("G10")
    def test_more_poison_than_is_allowed_makes_the_pipeline_fail_and_a_later_start_goes_on(
        self, tmp_path: Path
    ) -> None:
        poison = [3, 4, 5, 6]
        whole = pipeline(tmp_path).isolation(IsolationLimits(max_rows=2))
        with started(whole, processor=lambda: LocalProcessor(Breaks(*poison))):
            assert whole.wait(timeout=20)
            assert isinstance(whole.engine.error, IsolationExhausted)
            assert whole.engine.ground.dead_letters.count() == 2
        again = pipeline(tmp_path).isolation(IsolationLimits(max_rows=4))
        with started(again, processor=lambda: LocalProcessor(Breaks(*poison))):
            finish(again)
        check_conserved(tmp_path, poison)

    def test_the_search_is_shown(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path)
        shown: list[str] = []

        class Watched(Breaks):
            def __call__(self, events: pa.Table) -> pa.Table:
                shown.append(str(whole.status().spark.isolating))
                return super().__call__(events)

        with started(whole, processor=lambda: LocalProcessor(Watched(77))):
            finish(whole)
        assert any(
            re.fullmatch(r"isolating rows \d+\.\.\d+ of inbox orders, \d+ probes, 0 found", text) for text in shown
        )
        assert whole.status().spark.isolating is None

    def test_a_batch_that_was_published_is_not_isolated_when_it_breaks_as_it_comes_again(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path, source=Tap(EVENTS, open_to=33))
        with started(whole):
            commits = tmp_path / "pipeline" / "spark" / "1" / "commits"
            wait_until(lambda: (commits / "0").exists(), "a batch is published and finished")
            whole.drain()
        max(commits.glob("[0-9]*"), key=lambda path: int(path.name)).unlink()
        again = pipeline(tmp_path)
        with started(again, processor=lambda: LocalProcessor(Breaks(*range(1, 34)))):
            assert again.wait(timeout=20)
            assert isinstance(again.engine.error, RestartsExhausted)
        assert dead(tmp_path) == []
