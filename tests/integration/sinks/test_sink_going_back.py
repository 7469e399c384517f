"""Sinks that go back to an earlier batch: what they say of themselves is what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.deliver import GoingBack
from holdfast.model.errors import SinkFenced
from tests.support.sink_lanes import Lanes, batch_of, seqs_of
from tests.support.sink_places import PLACES, TABLE, PostgresPlace, SqlitePlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers
    from tests.support.sink_places import Place

COLUMNS = "seq BIGINT, id TEXT, note TEXT"
SAID = {
    "sqlite": GoingBack.REPEATS_ROWS,
    "sqlite-upsert": GoingBack.REFUSES_OLDER,
    "postgres": GoingBack.REPEATS_ROWS,
    "postgres-upsert": GoingBack.REFUSES_OLDER,
    "files-parquet": GoingBack.ENDS_EQUAL,
    "files-jsonl": GoingBack.ENDS_EQUAL,
    "http-lines": GoingBack.REPEATS_ROWS,
    "http-array": GoingBack.REPEATS_ROWS,
    "sqlite-tagged": GoingBack.ENDS_EQUAL,
    "postgres-tagged": GoingBack.ENDS_EQUAL,
}


def made(kind: str, directory: Path, servers: Servers) -> Place:
    """A place; one with tags has a table that wants them."""
    place = PLACES[kind.removesuffix("-tagged")](directory, servers)
    if kind.endswith("-tagged"):
        create(place, f"CREATE TABLE {TABLE} ({COLUMNS}, _holdfast_batch TEXT NOT NULL)")
    return place


def create(place: Place, statement: str) -> None:
    if isinstance(place, PostgresPlace):
        place.run(statement)
    else:
        assert isinstance(place, SqlitePlace)
        place.query(statement)


@pytest.fixture(params=SAID)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lanes(kind: str, tmp_path: Path, servers: Servers) -> Iterator[Lanes]:
    lanes = Lanes(made(kind, tmp_path, servers))
    with lanes.handles:
        yield lanes


@pytest.fixture(params=["sqlite-tagged", "postgres-tagged"])
def tagged(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[Lanes]:
    lanes = Lanes(made(request.param, tmp_path, servers))
    with lanes.handles:
        yield lanes


def test_a_sink_does_what_it_says(kind: str, lanes: Lanes) -> None:
    sink = lanes.open()
    for oseq in (1, 2, 3):
        sink.deliver(batch_of(oseq))
    asked = lanes.place.sink()
    assert asked.going_back() is SAID[kind]
    asked.close()
    for _ in range(2):
        sink.go_back(1)
    assert sink.cursor() in (1, None)
    if SAID[kind] is GoingBack.ENDS_EQUAL:
        assert lanes.seqs() == seqs_of(1)
    for oseq in (2, 3):
        sink.deliver(batch_of(oseq))
    repeats = SAID[kind] is GoingBack.REPEATS_ROWS and not kind.startswith("http")
    assert lanes.seqs() == (seqs_of(1, 2, 3, 2, 3) if repeats else seqs_of(1, 2, 3))


def test_a_sink_that_is_not_that_far_stays(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    sink.go_back(2)
    assert sink.cursor() in (1, None)
    assert lanes.seqs() == seqs_of(1)


def test_lanes_that_share_a_table_take_back_their_own_rows(tagged: Lanes) -> None:
    one, other = tagged.open(), tagged.open(lane="archive/2")
    one.deliver(batch_of(1))
    one.deliver(batch_of(2))
    other.deliver(batch_of(3, previous=0))
    one.go_back(1)
    assert tagged.seqs() == seqs_of(1, 3)


def test_the_tenth_batch_is_behind_the_ninth(tagged: Lanes) -> None:
    sink = tagged.open()
    for oseq in (9, 10, 11):
        sink.deliver(batch_of(oseq, previous={9: 0}.get(oseq, oseq - 1)))
    sink.go_back(9)
    assert tagged.seqs() == seqs_of(9)


def test_an_owner_that_was_fenced_takes_nothing_back(tagged: Lanes) -> None:
    old = tagged.open(epoch=1)
    for oseq in (1, 2):
        old.deliver(batch_of(oseq))
    new = tagged.open(epoch=2)
    with pytest.raises(SinkFenced):
        old.go_back(1)
    assert (tagged.seqs(), new.cursor()) == (seqs_of(1, 2), 2)


def test_a_tag_that_may_be_missing_is_none(tmp_path: Path, servers: Servers) -> None:
    """A column that was added later says nothing of the rows before it."""
    place = PLACES["sqlite"](tmp_path, servers)
    create(place, f"CREATE TABLE {TABLE} ({COLUMNS}, _holdfast_batch TEXT)")
    assert place.sink().going_back() is GoingBack.REPEATS_ROWS


def test_asking_makes_no_file(tmp_path: Path, servers: Servers) -> None:
    assert PLACES["sqlite"](tmp_path, servers).sink().going_back() is GoingBack.REPEATS_ROWS
    assert list(tmp_path.iterdir()) == []
