"""What the operator of the crashed pipeline does once everything is delivered, however often it was begun before.

The table is mended, and the rows that it refused are delivered once more. Then a few of the events that the steps
dropped are dead letters, as a step would make them, and come back. What was seen to is removed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.capture import Generator
from holdfast.control import Belongings, DeadLetters
from holdfast.log import DeadLetterEntry, DeadLetterFilter
from holdfast.model.envelope import ENVELOPE
from holdfast.model.positions import Seq
from tests.support.crash.reconcile import GIVEN_UP

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Pipeline

ALL = DeadLetterFilter()


def see_to_dead_letters(whole: Pipeline, directory: Path, patience: float) -> None:
    """Let all dead letters go their way again, wait until they have, and remove them."""
    belongings = Belongings.of(whole.engine)
    letters = DeadLetters(belongings)
    mend_table(directory)
    for entries in ([], [given_up(n) for n in GIVEN_UP]):
        belongings.dead_letters.put(entries)
        letters.reprocess(ALL)
        letters.review()
        assert whole.engine.wait(caught_up=True, timeout=patience), whole.status()
        letters.purge(ALL)


def mend_table(directory: Path) -> None:
    """From now on the table takes every order."""
    with closing(sqlite3.connect(directory / "sink.db", timeout=20)) as db:
        db.execute("PRAGMA synchronous=FULL")
        db.execute("DROP TRIGGER IF EXISTS refuse")


def given_up(n: int) -> DeadLetterEntry:
    """The dead letter of a step that cannot process order n."""
    source = Generator(events=n)
    source.open(Seq(n - 1))
    captured = source.read(0)
    assert captured is not None
    event = pa.Table.from_batches([captured.events]).add_column(0, ENVELOPE.field("seq"), [[n]])
    return DeadLetterEntry.of_event(
        event,
        time=datetime.now(UTC),
        pipeline="orders",
        step="parse",
        error_kind="ValueError",
        error_code="foreign",
        message="no number",
    )
