"""What a subscriber makes of words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.emissions import Kind
from meridian.fusion.subscriber import Book, Told, Verdict
from meridian.fusion.subscriber.server import NotAWord, words_of

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def inserted(sequence: int = 0, alert: str = "a") -> Told:
    return Told(alert, sequence, Kind.INSERT, f'{{"sequence": {sequence}}}')


def retracted(sequence: int = 0, alert: str = "a") -> Told:
    return Told(alert, sequence, Kind.RETRACT, "{}")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "book.db", now=lambda: NOON)


def test_an_alert_is_raised_updated_and_withdrawn(book: Book) -> None:
    words = [inserted(0), retracted(0), inserted(1), retracted(1)]
    assert book.take(words) == [Verdict.RAISED, Verdict.WITHDRAWN, Verdict.UPDATED, Verdict.WITHDRAWN]
    assert [entry.word for entry in book.entries()] == words
    assert book.holding() == {}


@pytest.mark.req("DLV-06")
def test_a_correction_is_not_taken_for_a_repetition(book: Book) -> None:
    assert book.take([inserted(0)]) == [Verdict.RAISED]
    assert book.take([retracted(0), inserted(1)]) == [Verdict.WITHDRAWN, Verdict.UPDATED]
    assert book.holding() == {"a": '{"sequence": 1}'}


@pytest.mark.req("LAT-05")
def test_an_old_word_brings_nothing_back_that_was_taken_back(book: Book) -> None:
    book.take([inserted(0), retracted(0)])
    assert book.take([inserted(0)]) == [Verdict.REPEATED]
    book.take([inserted(2)])
    assert book.take([retracted(1), inserted(1)]) == [Verdict.OVERTAKEN, Verdict.OVERTAKEN]
    assert book.holding() == {"a": '{"sequence": 2}'}


@pytest.mark.req("DLV-05")
def test_an_alert_is_recognised_behind_a_hundred_thousand_others_and_after_more_than_five_minutes(
    tmp_path: Path,
) -> None:
    now = NOON
    book = Book(tmp_path / "book.db", now=lambda: now)
    book.take([inserted(0)])
    book.take([inserted(0, f"other-{number}") for number in range(100_000)])
    now += timedelta(minutes=6)
    assert book.take([inserted(0), inserted(0, "other-0")]) == [Verdict.REPEATED, Verdict.REPEATED]
    book.close()


@pytest.mark.req("DLV-10")
def test_what_was_told_is_recognised_after_a_restart_and_after_it_was_forgotten(tmp_path: Path) -> None:
    first = Book(tmp_path / "book.db", now=lambda: NOON)
    first.take([inserted(0), inserted(0, "b")])
    first.close()
    second = Book(tmp_path / "book.db", now=lambda: NOON + timedelta(days=31))
    assert second.take([inserted(0)]) == [Verdict.REPEATED]
    second.done(2)
    assert second.forget(NOON + timedelta(days=1)) == 2
    assert second.take([inserted(0)]) == [Verdict.REPEATED]
    assert second.entries() == []


@pytest.mark.req("DLV-10")
def test_what_was_not_acted_on_is_neither_passed_over_nor_forgotten(tmp_path: Path) -> None:
    book = Book(tmp_path / "book.db", now=lambda: NOON)
    book.take([inserted(0), retracted(0), inserted(1)])
    book.done(2)
    book.done(1)
    book.close()
    again = Book(tmp_path / "book.db", now=lambda: NOON)
    assert [entry.word for entry in again.to_do()] == [inserted(1)]
    again.forget(NOON + timedelta(days=1))
    assert [entry.number for entry in again.entries()] == [3]


WORDS = st.lists(st.builds(Told, st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(Kind), st.just("{}")))


@given(WORDS, st.integers())
@pytest.mark.req("DLV-10", "LAT-05")
def test_each_word_is_acted_on_once_at_the_most_and_the_furthest_one_stands(
    tmp_path_factory: pytest.TempPathFactory, words: list[Told], seed: int
) -> None:
    book = Book(tmp_path_factory.mktemp("book") / "book.db", now=lambda: NOON)
    heard = [*words, *words]
    Random(seed).shuffle(heard)
    book.take(heard)
    acted = [entry.word for entry in book.entries()]
    assert len(acted) == len(set(acted))
    for alert in {word.alert_id for word in words}:
        furthest = max((word for word in words if word.alert_id == alert), key=lambda word: word.version)
        assert (alert in book.holding()) == (furthest.kind is Kind.INSERT)
        assert [word for word in acted if word.alert_id == alert][-1] == furthest
    book.close()


def test_a_request_that_fails_half_way_enters_nothing(book: Book) -> None:
    with pytest.raises(AttributeError):
        book.take([inserted(0), None])  # type: ignore[list-item]
    assert book.entries() == []
    assert book.take([inserted(0)]) == [Verdict.RAISED]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[" * 100_000,
        b"\xff",
        b"7",
        b"{}",
        b'{"alert_id": "a", "sequence": -1, "kind": "insert"}',
        b'{"alert_id": "a", "sequence": true, "kind": "insert"}',
        b'{"alert_id": 4, "sequence": 1, "kind": "insert"}',
        b'{"alert_id": "a", "sequence": 1, "kind": "other"}',
        b'{"alert_id": "a", "sequence": 9223372036854775808, "kind": "insert"}',
        b'{"alert_id": "\\ud800", "sequence": 1, "kind": "insert"}',
        '{"alert_id": "a", "sequence": 1, "kind": "insert"}'.encode("utf-16-le"),
    ],
    ids=[
        "torn",
        "deep",
        "binary",
        "number",
        "empty",
        "negative",
        "boolean",
        "no text",
        "kind",
        "too high",
        "no character",
        "utf-16",
    ],
)
def test_a_line_that_is_no_word_is_refused_with_its_number(line: bytes) -> None:
    with pytest.raises(NotAWord, match="Line 2 "):
        words_of(b'{"alert_id": "a", "sequence": 1, "kind": "insert"}\n' + line)
