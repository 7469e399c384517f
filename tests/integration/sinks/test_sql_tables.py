"""A table that exists is used as it is: never altered, its constraints refuse rows, its shape stops a lane."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.model.errors import CursorMoved, Fatal, Rejected
from tests.support.sink_lanes import Lanes, batch_of, rows_of, seqs_of
from tests.support.sink_places import BY_ID, PLACES, PostgresPlace, SqlitePlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers


@pytest.fixture(params=["sqlite", "postgres"])
def lanes(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[Lanes]:
    lanes = Lanes(PLACES[request.param](tmp_path, servers))
    with lanes.handles:
        yield lanes


def run(lanes: Lanes, statement: str) -> None:
    """What the owner of the database does."""
    place = lanes.place
    if isinstance(place, PostgresPlace):
        place.run(statement)
        return
    assert isinstance(place, SqlitePlace)
    with closing(sqlite3.connect(place.path)) as db, db:
        db.execute(statement)


def test_columns_that_the_rows_do_not_have_keep_their_default(lanes: Lanes) -> None:
    run(lanes, "CREATE TABLE orders (note TEXT, region TEXT NOT NULL DEFAULT 'eu', seq BIGINT, id TEXT, more INTEGER)")
    lanes.open().deliver(batch_of(1))
    read = lanes.read(
        pa.schema([("seq", pa.int64()), ("note", pa.string()), ("region", pa.string()), ("more", pa.int8())])
    )
    assert read.column("seq").to_pylist() == seqs_of(1)
    assert (set(read.column("region").to_pylist()), read.column("more").null_count) == ({"eu"}, 5)


def test_a_column_that_the_table_lacks_stops_the_lane_and_is_not_added(lanes: Lanes) -> None:
    run(lanes, "CREATE TABLE orders (seq BIGINT, id TEXT)")
    sink = lanes.open()
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Fatal, match="has no column 'note'"):
            attempt(batch_of(1))
    run(lanes, "ALTER TABLE orders ADD COLUMN note TEXT")
    sink.deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)


def test_a_column_that_the_rows_lack_stops_the_lane_and_refuses_no_row(lanes: Lanes) -> None:
    run(lanes, "CREATE TABLE orders (seq BIGINT, id TEXT, note TEXT, region TEXT NOT NULL)")
    with pytest.raises(Fatal, match="needs a value for 'region'"):
        lanes.open().deliver(batch_of(1))


def test_new_columns_in_the_middle_of_a_stream_stop_the_lane_and_keep_the_cursor(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    with pytest.raises(Fatal, match="has no column 'extra'"):
        sink.deliver(batch_of(2, rows_of(2).append_column("extra", pa.array([1] * 5))))
    assert (lanes.seqs(), sink.cursor()) == (seqs_of(1), 1)


@pytest.mark.parametrize(
    "constraint",
    ["CHECK (note <> 'row 1000002')", "NOT NULL"],
    ids=["check", "not null"],
)
def test_a_row_that_a_constraint_forbids_is_refused_alone(lanes: Lanes, constraint: str) -> None:
    run(lanes, f"CREATE TABLE orders (seq BIGINT, id TEXT, note TEXT {constraint})")
    rows = rows_of(1)
    if constraint == "NOT NULL":
        notes = pa.array([None if n == 2 else "fine" for n in range(5)])
        rows = rows.set_column(2, rows.schema.field(2), notes)
    sink = lanes.open()
    refused = []
    for place in range(5):
        try:
            sink.probe(batch_of(1, rows.slice(place, 1)))
        except Rejected:
            refused.append(place)
    assert refused == [2]
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Rejected):
            attempt(batch_of(1, rows))
    assert (lanes.seqs(), sink.cursor()) == ([], 0)


def test_a_row_that_is_there_already_by_a_unique_key_is_refused(lanes: Lanes) -> None:
    run(lanes, "CREATE TABLE orders (seq BIGINT, id TEXT UNIQUE, note TEXT)")
    sink = lanes.open()
    sink.deliver(batch_of(1))
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Rejected):
            attempt(batch_of(2, rows_of(1)))
    assert lanes.seqs() == seqs_of(1)


def test_names_may_hold_any_character(lanes: Lanes) -> None:
    names = ['quote"', "select", "per%cent", "%s", "what?1", "with space", "Groß"]
    rows = pa.table({name: [1, 2] for name in names})
    lanes.open().deliver(batch_of(1, rows))
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    place = lanes.place
    assert isinstance(place, (PostgresPlace, SqlitePlace))
    assert place.query(f"SELECT {quoted} FROM orders") == [(1,) * 7, (2,) * 7]


def test_a_cursor_table_that_is_gone_stops_the_lane(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(1))
    run(lanes, "DROP TABLE _holdfast_cursors")
    for use in (lambda: sink.deliver(batch_of(2)), sink.cursor):
        with pytest.raises(Fatal, match="_holdfast_cursors"):
            use()
    assert lanes.seqs() == seqs_of(1)


@pytest.mark.parametrize("edit", ["DELETE FROM _holdfast_cursors", "UPDATE _holdfast_cursors SET epoch = 1"])
def test_a_cursor_that_went_back_under_an_open_sink_stops_the_lane(lanes: Lanes, edit: str) -> None:
    """As when the database is restored from an older copy under our connection."""
    sink = lanes.open(epoch=2)
    sink.deliver(batch_of(1))
    run(lanes, edit)
    with pytest.raises(CursorMoved, match="older copy"):
        sink.deliver(batch_of(2))
    assert lanes.seqs() == seqs_of(1)


def test_upsert_into_a_table_without_a_unique_key_stops_the_lane(lanes: Lanes) -> None:
    run(lanes, "CREATE TABLE orders (seq BIGINT, id TEXT, note TEXT)")
    assert isinstance(lanes.place, (PostgresPlace, SqlitePlace))
    lanes.place.mode = BY_ID
    with pytest.raises(Fatal, match="ON CONFLICT"):
        lanes.open().deliver(batch_of(1))
