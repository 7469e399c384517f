"""A run that takes in what is available when it starts, delivers that, and ends, however much comes meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import SOON, Tap, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Generator, Pace, Pipeline, Sqlite, State, Until
from holdfast.model.errors import LifecycleRefused, SourceUnavailable
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.capture import Captured
    from holdfast.model.positions import Position

CHUNK = 200


class Endless(Generator):
    """Orders without end."""

    def __init__(self, pace: Pace | None = None) -> None:
        super().__init__("orders", transactions=(2, 3), chunk=CHUNK, pace=pace)


class Silent(Tap):
    """It cannot say where it ends."""

    def latest(self) -> Position | None:
        return None


class CutOff(Generator):
    """It has to be opened twice, and would have more by then."""

    opened = 0

    def open(self, after: Position | None) -> None:
        super().open(after)
        self.opened += 1
        if self.opened == 2:
            self._events = 600

    def read(self, wait: float) -> Captured | None:
        if self.opened == 1 and self._at == 100:
            raise SourceUnavailable("The source is away.", remedy="Wait.")
        return super().read(wait)


def pipeline(directory: Path, source: Generator) -> Pipeline:
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(source)
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=100, max_wait=timedelta(0)))
    )


def run(whole: Pipeline) -> int:
    """Run what is available now to its end; the number of the last event in the inbox."""
    whole.run(until=Until.AVAILABLE_NOW, processor=lambda: LocalProcessor(orders))
    assert whole.engine.state is State.STOPPED
    (capture,) = whole.status().captures
    return capture.end


def test_orders_without_end_end(tmp_path: Path) -> None:
    assert run(pipeline(tmp_path, Endless())) == CHUNK
    assert table_numbers(tmp_path / "sink.db") == passed(CHUNK)


def test_every_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    whole = pipeline(tmp_path, Endless())
    assert [run(whole) for _ in range(3)] == [CHUNK, 2 * CHUNK, 3 * CHUNK]
    assert table_numbers(tmp_path / "sink.db") == passed(3 * CHUNK)


def test_what_is_in_the_inbox_is_taken_and_nothing_that_comes_while_it_runs(tmp_path: Path) -> None:
    whole = pipeline(tmp_path, Endless(Pace(rate=20_000)))
    with started(whole):
        whole.pause()
        wait_until(lambda: whole.status().captures[0].end > 1000, "much is captured")
        whole.drain()
        captured = whole.status().captures[0].end
    with started(whole, until=Until.AVAILABLE_NOW):
        whole.resume()
        assert whole.wait(until=Until.AVAILABLE_NOW, timeout=SOON)
        newest = whole.engine.ground.outbox.newest()
        assert newest is not None
        assert sum(newest.ends.values()) == captured
        whole.drain()
    assert table_numbers(tmp_path / "sink.db") == passed(captured)


def test_a_source_that_cannot_say_where_it_ends_is_read_until_it_has_nothing_more(tmp_path: Path) -> None:
    assert run(pipeline(tmp_path, Silent(660, open_to=330))) == 330
    assert table_numbers(tmp_path / "sink.db") == passed(330)


def test_one_with_nothing_at_all_ends_at_once(tmp_path: Path) -> None:
    assert run(pipeline(tmp_path, Silent(660))) == 0
    assert run(pipeline(tmp_path, Tap(660))) == 0


def test_what_comes_while_the_source_is_away_is_left_for_later(tmp_path: Path) -> None:
    source = CutOff("orders", events=300, chunk=50)
    assert run(pipeline(tmp_path, source)) == 300
    assert source.opened == 2


def test_it_cannot_be_waited_for_when_nobody_started_it_so(tmp_path: Path) -> None:
    whole = pipeline(tmp_path, Endless(Pace(rate=100)))
    with started(whole), pytest.raises(LifecycleRefused):
        whole.wait(until=Until.AVAILABLE_NOW)
