"""The witness of alerts notices each way in which words can go wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.crash.alert_witness import Figures, Word, reconciled

TOLD: list[Word] = [("a", 0, "insert"), ("b", 0, "insert"), ("a", 0, "retract"), ("a", 1, "insert")]
HOLDING: dict[str, Figures] = {"a": (101.0, 1e-4, 7), "b": (100.0, 1e-4, 7)}
COLUMNS = "alert_id, sequence, kind, miss_m, probability, closest_ns"
Change = Callable[[list[Word]], list[Word]]


def row(word: Word) -> tuple[str | int | float, ...]:
    return (*word, 100.0 + word[1], 1e-4, 7)


def write(directory: Path, *, table: list[Word], book: list[Word], done: list[tuple[int, Word]]) -> None:
    """Everything that the witness reads."""
    with closing(sqlite3.connect(directory / "words.db")) as db, db:
        db.execute(f"CREATE TABLE words ({COLUMNS})")
        db.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?, ?)", map(row, table))
    with closing(sqlite3.connect(directory / "alerts.db")) as db, db:
        db.execute(f"CREATE TABLE alerts ({COLUMNS})")
        db.executemany(
            "INSERT INTO alerts VALUES (?, ?, ?, ?, ?, ?)", map(row, {word[0]: word for word in TOLD}.values())
        )
    with closing(sqlite3.connect(directory / "book.db")) as db, db:
        db.execute("CREATE TABLE words (number INTEGER PRIMARY KEY, alert_id, sequence, kind, verdict, content)")
        for word in book:
            content = json.dumps(dict(zip(COLUMNS.split(", "), row(word), strict=True)))
            db.execute("INSERT INTO words VALUES (NULL, ?, ?, ?, 'updated', ?)", (*word, content))
    lines = [{"number": at, "word": dict(zip(COLUMNS.split(", "), row(word), strict=True))} for at, word in done]
    (directory / "book.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def complaints(
    directory: Path,
    *,
    table: list[Word] = TOLD,
    book: list[Word] = TOLD,
    done: list[tuple[int, Word]] | None = None,
    holding: dict[str, Figures] = HOLDING,
) -> list[str]:
    write(directory, table=table, book=book, done=list(enumerate(book, 1)) if done is None else done)
    return reconciled(directory, directory / "book.db", directory / "book.jsonl", holding).complaints


def test_what_is_right_is_not_complained_about(tmp_path: Path) -> None:
    done = [*enumerate(TOLD, 1)]
    assert complaints(tmp_path, done=[*done[:2], *done[1:]]) == [], "an entry may be done again under its number"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda told: [*told, told[-1]], id="doubled"),
        pytest.param(lambda told: told[:2] + told[3:], id="a retraction is lost"),
        pytest.param(lambda told: [told[2], told[1], told[0], told[3]], id="out of order"),
        pytest.param(lambda told: told[:-1], id="the last is lost"),
        pytest.param(lambda told: [*told, ("c", 0, "insert")], id="unknown"),
    ],
)
@pytest.mark.parametrize("where", ["table", "book"])
def test_wrong_words_are_noticed(tmp_path: Path, where: str, wrong: Change) -> None:
    given = {"table": TOLD, "book": TOLD, where: wrong(TOLD)}
    assert complaints(tmp_path, table=given["table"], book=given["book"])


@pytest.mark.parametrize(
    "done",
    [
        pytest.param([*enumerate(TOLD, 1), (5, TOLD[0])], id="acted on twice"),
        pytest.param([*enumerate(TOLD[:-1], 1)], id="never acted on"),
        pytest.param([*enumerate(TOLD, 1), (2, TOLD[0])], id="two words under one number"),
        pytest.param([(2, TOLD[1]), (1, TOLD[0]), (3, TOLD[2]), (4, TOLD[3])], id="acted on out of order"),
    ],
)
def test_what_was_done_wrongly_is_noticed(tmp_path: Path, done: list[tuple[int, Word]]) -> None:
    assert complaints(tmp_path, done=done)


def test_last_words_that_are_not_those_of_one_batch_are_noticed(tmp_path: Path) -> None:
    assert complaints(tmp_path, holding={**HOLDING, "a": (100.0, 1e-4, 7)})
