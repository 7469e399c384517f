"""Transactions that may be cut: batches are cut by size, the rows say so, and a kill between two cuts loses nothing."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from holdfast import BatchLimits, Pipeline
from holdfast.model.steps import Step
from holdfast.testing import Crash, Delivered, RecordingSink, Script, Tx, play
from tests.support.crash.orders import CUT_EVENTS
from tests.support.crash.reconcile import reconcile
from tests.support.crash.zygote import Run, Zygote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.testing.script import Row

MAX_EVENTS = 4


def batches(directory: Path, *, respect_source_tx: bool) -> list[list[Row]]:
    """The rows of each batch, of a transaction of ten rows between two of one."""
    ten = Tx([{"n": number} for number in range(2, 12)])
    limits = BatchLimits(MAX_EVENTS, max_wait=timedelta(0), respect_source_tx=respect_source_tx)
    script = Script([{"n": 1}, Delivered(), Crash(), ten, Delivered(), {"n": 12}])
    pipeline = Pipeline("numbers", directory=directory).read(script).write(RecordingSink()).batch(limits)
    found = play(pipeline)["recording"].rows
    return [[row for *_, row in rows] for _, rows in groupby(found, lambda row: row[0])]


def test_they_are_cut_by_size_and_the_rows_say_that_they_go_on(tmp_path: Path) -> None:
    cut = batches(tmp_path, respect_source_tx=False)
    assert [[row["n"] for row in rows] for rows in cut] == [[1], [2, 3, 4, 5], [6, 7, 8, 9], [10, 11], [12]]
    assert [rows[-1]["tx_end"] for rows in cut] == [True, False, False, True, True]
    assert [rows[-1]["tx_id"] for rows in cut[1:3]] == [rows[0]["tx_id"] for rows in cut[2:4]]


@pytest.mark.req("D5")
def test_otherwise_every_batch_ends_with_a_transaction(tmp_path: Path) -> None:
    whole = batches(tmp_path, respect_source_tx=True)
    assert [len(rows) for rows in whole] == [1, 10, 1]
    assert all(rows[-1]["tx_end"] for rows in whole)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.mark.req("X2", "D1", "X5")
@pytest.mark.parametrize(
    ("step", "nth"),
    [
        (Step.OUTBOX_PUBLISH, 4),
        (Step.OUTBOX_PUBLISHED, 3),
        (Step.SPARK_FINISH, 3),
        (Step.SINK_COMMITTED, 6),
        (Step.CURSOR_WRITTEN, 4),
    ],
)
def test_a_kill_between_two_cuts_of_a_transaction_loses_and_doubles_nothing(
    zygote: Zygote, tmp_path: Path, step: Step, nth: int
) -> None:
    killed = zygote.run(Run(str(tmp_path), step, nth, scene="orders.enact_cut"))
    assert killed.killed, killed.error
    ended = zygote.run(Run(str(tmp_path), scene="orders.enact_cut"))
    assert ended.code == 0, ended.error
    verdict = reconcile(tmp_path, CUT_EVENTS)
    assert verdict.is_exact, verdict
