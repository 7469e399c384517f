"""Transactions and the limits of a batch: a transaction stays whole however large it is, unless it may be cut."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, cycle, takewhile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import finish, started, stored_cursors

from holdfast import BatchLimits, Generator, Pipeline, Sqlite
from holdfast.model.positions import Seq
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.log.values import Published

MAX_EVENTS = 1000
HUGE = 200_000
SIZES = (1, 700, 400, HUGE, 999, 2)
EVENTS = sum(SIZES) + 1


def numbers_only(events: pa.Table) -> pa.Table:
    return pa.table({"seq": events["seq"], "n": events["position"].cast(pa.int64())})


@dataclass
class Outcome:
    """What a run published, and what it left behind."""

    directory: Path
    batches: list[Published]

    def ends(self) -> list[int]:
        return [sum(batch.ends.values()) for batch in self.batches]

    def stored_positions(self) -> set[int]:
        positions = [position for stored in stored_cursors(self.directory) for position in stored.positions.values()]
        return {position.value for position in positions if isinstance(position, Seq)}


def outcome(directory: Path, events: int, sizes: tuple[int, ...], *, respect_source_tx: bool) -> Outcome:
    whole = (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator("orders", events=events, transactions=sizes))
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(MAX_EVENTS, max_wait=timedelta(0), respect_source_tx=respect_source_tx))
    )
    with started(whole, processor=lambda: LocalProcessor(numbers_only)):
        finish(whole, within=60)
    with started(whole):
        return Outcome(directory, whole.engine.ground.outbox.remembered())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A run in which one transaction is two hundred times as large as a batch may be."""
    return outcome(tmp_path_factory.mktemp("whole"), EVENTS, SIZES, respect_source_tx=True)


@pytest.mark.req("D5")
def test_a_huge_transaction_is_wholly_in_one_batch(whole: Outcome) -> None:
    assert [batch.rows for batch in whole.batches if batch.rows > MAX_EVENTS] == [HUGE]


@pytest.mark.req("D5", "X2")
def test_no_batch_ends_inside_a_transaction(whole: Outcome) -> None:
    assert set(whole.ends()) <= ends_of_transactions(EVENTS)


@pytest.mark.req("D5")
def test_no_stored_position_lies_inside_a_transaction(whole: Outcome) -> None:
    positions = whole.stored_positions()
    assert len(positions) > 1
    assert positions <= ends_of_transactions(EVENTS)


@pytest.mark.req("D5")
def test_every_row_of_a_huge_transaction_is_there_once_and_in_order(whole: Outcome) -> None:
    assert table_numbers(whole.directory / "sink.db") == list(range(1, EVENTS + 1))


def test_transactions_that_may_be_cut_are_cut_by_size(tmp_path: Path) -> None:
    events = 20 * MAX_EVENTS + 1
    cut = outcome(tmp_path, events, (events,), respect_source_tx=False)
    assert {batch.rows for batch in cut.batches} == {MAX_EVENTS, 1}
    assert table_numbers(tmp_path / "sink.db") == list(range(1, events + 1))


def ends_of_transactions(events: int) -> set[int]:
    return {*takewhile(lambda end: end <= events, accumulate(cycle(SIZES))), events}
