"""The subscriber's book: every word it was told and what came of it, in a SQLite file.

Whether a word is new and the entry of what is done about it are one transaction, synced before the sender is answered.
So a word that comes again, because an answer was lost or either side was killed, finds its entry and nobody acts twice.
Whoever acts on entries takes them in order and says how far it is, which the book remembers, too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

from holdfast.disk.files import sync_directory
from holdfast.disk.sqlite import connect
from meridian.fusion.emissions import Kind
from meridian.fusion.subscriber.verdicts import ACTED, Told, Verdict, verdict

_TABLES = """\
CREATE TABLE IF NOT EXISTS words (
  number INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL,
  verdict TEXT NOT NULL, at TEXT NOT NULL, content TEXT NOT NULL, UNIQUE (alert_id, sequence, kind));
CREATE TABLE IF NOT EXISTS alerts (
  alert_id TEXT PRIMARY KEY, version INTEGER NOT NULL, verdict TEXT NOT NULL, content TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS words_at ON words (at);
CREATE TABLE IF NOT EXISTS acted (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO acted VALUES (1, 0);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that somebody is to act on."""

    number: int
    verdict: Verdict
    word: Told
    at: datetime


class Book:
    """The book at `path`, made when there is none."""

    def __init__(self, path: Path, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._one_at_a_time = Lock()
        self._db = connect(path, "rwc")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_TABLES)
        sync_directory(path.parent)

    def take(self, words: Sequence[Told]) -> list[Verdict]:
        """Enter the words, all or none, and say what is made of each."""
        with self._transaction() as db:
            return [self._entered(db, word) for word in words]

    def entries(self, after: int = 0, limit: int = 1000) -> list[Entry]:
        """What is to be acted on behind an entry, in order."""
        columns = "number, verdict, alert_id, sequence, kind, content, at"
        acted = ", ".join(f"'{one.value}'" for one in sorted(ACTED, key=lambda one: one.value))
        where = f"number > ? AND verdict IN ({acted}) ORDER BY number LIMIT ?"
        with self._one_at_a_time:
            rows = self._db.execute(f"SELECT {columns} FROM words WHERE {where}", (after, limit)).fetchall()
        return [
            Entry(number, Verdict(made), Told(alert, sequence, Kind(kind), content), datetime.fromisoformat(at))
            for number, made, alert, sequence, kind, content, at in rows
        ]

    def to_do(self, limit: int = 1000) -> list[Entry]:
        """What nobody has said to be done, in order."""
        with self._one_at_a_time:
            (done,) = self._db.execute("SELECT number FROM acted").fetchone()
        return self.entries(done, limit)

    def done(self, number: int) -> None:
        """Everything up to this entry was acted on."""
        with self._transaction() as db:
            db.execute("UPDATE acted SET number = max(number, ?)", (number,))

    def holding(self) -> dict[str, str]:
        """The alerts that hold, with the last word on each."""
        with self._one_at_a_time:
            rows = self._db.execute("SELECT alert_id, content FROM alerts WHERE verdict <> 'withdrawn'").fetchall()
        return dict(rows)

    def forget(self, before: datetime) -> int:
        """Drop the words from before that were acted on, and how many they were.

        Where each alert stands is kept: it stays recognised.
        """
        old = "DELETE FROM words WHERE at < ? AND number <= (SELECT number FROM acted)"
        with self._transaction() as db:
            return db.execute(old, (before.isoformat(),)).rowcount

    def close(self) -> None:
        """Give up the file."""
        self._db.close()

    def _entered(self, db: sqlite3.Connection, word: Told) -> Verdict:
        of_alert = "SELECT version FROM alerts WHERE alert_id = ?"
        standing = db.execute(of_alert, (word.alert_id,)).fetchone()
        made = verdict(word, standing and standing[0])
        columns = (word.alert_id, word.sequence, word.kind.value)
        entered = (
            "INSERT OR IGNORE INTO words (alert_id, sequence, kind, verdict, at, content) VALUES (?, ?, ?, ?, ?, ?)"
        )
        is_new = db.execute(entered, (*columns, made.value, self._now().isoformat(), word.content)).rowcount == 1
        if made in ACTED:
            stands = "INSERT OR REPLACE INTO alerts (alert_id, version, verdict, content) VALUES (?, ?, ?, ?)"
            db.execute(stands, (word.alert_id, word.version, made.value, word.content))
        return made if is_new else Verdict.REPEATED

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._one_at_a_time:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
