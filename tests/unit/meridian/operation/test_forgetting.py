"""Tables forget what is older than the document says, beside the sinks that write to them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.service_home import NOON_NS, ServiceHome, conjunction_row, object_row, progress_row, word_row

from meridian.hosting.demonstration import prepare
from meridian.hosting.running import forget_what_is_old
from meridian.operation.forgetting import DAY, forget
from meridian.operation.home import Home
from meridian.service.service import Service


@pytest.fixture
def home(tmp_path: Path) -> Iterator[ServiceHome]:
    made = ServiceHome(tmp_path)
    yield made
    made.close()


def day(number: int) -> int:
    return NOON_NS + number * DAY


def words(directory: Path) -> list[str]:
    return [word.alert_id for word in Service(directory).words()]


def test_what_is_older_goes_and_the_rest_stays(home: ServiceHome, tmp_path: Path) -> None:
    old, new = (word_row(number, window_end_ns=day(number)) for number in (1, 3))
    rows = {
        "alerts": [old, new],
        "conjunctions": [
            conjunction_row(0, closest_ns=day(1), stage="expired"),
            conjunction_row(1, closest_ns=day(1), stage="updated"),
            conjunction_row(2, closest_ns=day(3), stage="withdrawn"),
        ],
        "contacts": [contact(number) for number in (1, 3)],
        "summaries": [summary(number) for number in (1, 3)],
        "objects": [object_row("90001")],
    }
    home.batch(rows)
    assert forget(tmp_path, day(2)) == {"alerts": 1, "conjunctions": 1, "contacts": 1, "summaries": 1, "words": 1}
    service = Service(tmp_path)
    assert words(tmp_path) == ["a3"]
    assert [each.conjunction_id for each in service.conjunctions()] == ["c1"], "fusion is behind: it still stands"
    assert [each.conjunction_id for each in service.conjunctions_over(9)] == ["c2"]
    assert len(service.objects()) == 1
    assert not any(forget(tmp_path, day(2)).values())


def contact(number: int) -> dict[str, object]:
    times = {"first_ns": day(number), "last_ns": day(number)}
    return {
        "contact_id": f"k{number}",
        "object_id": "90001",
        "sources": "[]",
        "ended": "gap",
        "observations": 3,
        **times,
    }


def summary(number: int) -> dict[str, object]:
    return {"window_end_ns": day(number), "version": 1, "on_time": 1, "observations": 1, "objects": 1}


def test_sinks_go_on_where_they_were(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"alerts": [word_row(1, window_end_ns=day(1)), word_row(2, window_end_ns=day(2))]})
    forget(tmp_path, day(2))
    home.batch({"alerts": [word_row(3, window_end_ns=day(3))], "progress": [progress_row(2)]})
    assert words(tmp_path) == ["a3", "a2"]


def test_more_than_are_deleted_at_once_are_deleted(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"alerts": [word_row(number, window_end_ns=day(0)) for number in range(4500)]})
    assert forget(tmp_path, day(1))["words"] == 4499
    assert words(tmp_path) == ["a4499"], "the newest stays, so that numbers go on rising"


def test_what_nobody_has_written_yet_is_nothing_to_forget(tmp_path: Path) -> None:
    assert not any(forget(tmp_path, day(0)).values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("days", "left"), [(None, ["a2", "a1"]), (1.5, ["a2"])])
def test_the_document_says_after_how_long(
    home: ServiceHome, tmp_path: Path, days: float | None, left: list[str]
) -> None:
    home.batch({"alerts": [word_row(1, window_end_ns=day(1)), word_row(2, window_end_ns=day(2))]})
    prepare(Home(tmp_path), now_ns=NOON_NS, others=24)
    document = Home(tmp_path).document_file
    document.write_text(("" if days is None else f"[tables]\nkeep_days = {days}\n") + document.read_text())
    assert Home(tmp_path).document().tables.keep_days == days
    forget_what_is_old(Home(tmp_path), days, day(3))
    assert words(tmp_path) == left
