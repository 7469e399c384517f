"""What the operator of the crashed pipeline does once everything is delivered, however often it was begun before.

The table is mended, and the rows that it refused are delivered once more. Then the events that the steps gave up come
back. What was seen to is removed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from holdfast.control import Belongings, DeadLetters
from holdfast.log import DeadLetterFilter

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Pipeline


def see_to_dead_letters(whole: Pipeline, directory: Path, patience: float) -> None:
    """Let all dead letters go their way again, wait until they have, and remove them."""
    letters = DeadLetters(Belongings.of(whole.engine))
    mend_table(directory)
    for chosen in (DeadLetterFilter(sinks={"table"}), DeadLetterFilter()):
        letters.reprocess(chosen)
        letters.review()
        assert whole.engine.wait(caught_up=True, timeout=patience), whole.status()
        letters.purge(chosen)


def mend_table(directory: Path) -> None:
    """From now on the table takes every order."""
    with closing(sqlite3.connect(directory / "sink.db", timeout=20)) as db:
        db.execute("PRAGMA synchronous=FULL")
        db.execute("DROP TRIGGER IF EXISTS refuse")
