"""One row a key: the newest stays whatever the order of arrival, within a batch and across batches."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.model.errors import Fatal, InvalidPipeline, Rejected
from holdfast.sinks import Upsert
from tests.support.sink_lanes import SCHEMA, Lanes, batch_of
from tests.support.sink_places import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers

Row = tuple[int | None, str | None, str]


@pytest.fixture(params=["sqlite-upsert", "postgres-upsert"])
def lanes(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[Lanes]:
    lanes = Lanes(PLACES[request.param](tmp_path, servers))
    with lanes.handles:
        yield lanes


def table(*rows: Row) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMA)


def after(lanes: Lanes, *batches: list[Row]) -> set[Row]:
    """What is there once these batches were delivered."""
    sink = lanes.open()
    for oseq, rows in zip(count(1), batches, strict=False):
        sink.deliver(batch_of(oseq, table(*rows)))
    return {(row["seq"], row["id"], row["note"]) for row in lanes.read().to_pylist()}


def test_a_newer_row_replaces_the_stored_one(lanes: Lanes) -> None:
    assert after(lanes, [(1, "a", "old"), (2, "b", "other")], [(3, "a", "new")]) == {(3, "a", "new"), (2, "b", "other")}


def test_an_older_row_is_ignored(lanes: Lanes) -> None:
    assert after(lanes, [(5, "a", "new")], [(3, "a", "late")]) == {(5, "a", "new")}


def test_a_row_that_is_as_new_as_the_stored_one_is_ignored(lanes: Lanes) -> None:
    assert after(lanes, [(5, "a", "first")], [(5, "a", "second")]) == {(5, "a", "first")}


def test_of_the_rows_of_one_batch_the_newest_stays(lanes: Lanes) -> None:
    batch: list[Row] = [(1, "a", "one"), (3, "a", "three"), (2, "a", "two"), (4, "b", "four")]
    assert after(lanes, batch) == {(3, "a", "three"), (4, "b", "four")}


def test_of_equally_new_rows_of_one_batch_the_first_stays(lanes: Lanes) -> None:
    assert after(lanes, [(1, "a", "first"), (1, "a", "second")]) == {(1, "a", "first")}


def test_a_batch_of_many_rows_of_few_keys_leaves_the_newest_of_each(lanes: Lanes) -> None:
    batch: list[Row] = [(n, f"key {n % 7}", f"row {n}") for n in range(30_000)]
    assert after(lanes, batch) == set(batch[-7:])


@pytest.mark.parametrize("row", [(None, "a", "no number"), (1, None, "no key")])
def test_a_row_without_a_key_or_a_number_is_refused(lanes: Lanes, row: Row) -> None:
    sink = lanes.open()
    for attempt in (sink.probe, sink.deliver):
        with pytest.raises(Rejected, match="it is null"):
            attempt(batch_of(1, table((1, "b", "fine"), row)))


def test_rows_without_the_key_column_stop_the_lane(lanes: Lanes) -> None:
    with pytest.raises(Fatal, match="have no column 'id'"):
        lanes.open().deliver(batch_of(1, table((1, "a", "")).drop_columns(["id"])))


@pytest.mark.parametrize("type_", [pa.string(), pa.float64(), pa.decimal128(20, 0)], ids=str)
def test_what_cannot_say_which_row_is_newer_stops_the_lane(lanes: Lanes, type_: pa.DataType) -> None:
    rows = table((1, "a", "")).set_column(0, "seq", pa.array([1]).cast(type_))
    with pytest.raises(Fatal, match="cannot say which of two rows is newer"):
        lanes.open().deliver(batch_of(1, rows))


def test_a_timestamp_can_say_which_row_is_newer(lanes: Lanes) -> None:
    instants = [datetime(year, 1, 1, tzinfo=UTC) for year in (2025, 2026, 999)]
    schema = pa.schema([("seq", pa.timestamp("us", "UTC")), ("id", pa.string()), ("note", pa.string())])
    sink = lanes.open()
    for oseq, instant in enumerate(instants, 1):
        sink.deliver(batch_of(oseq, pa.table([[instant], ["a"], [str(instant.year)]], schema=schema)))
    assert lanes.read(schema).column("note").to_pylist() == ["2026"]


def test_a_table_of_only_key_and_number_is_upserted_too(lanes: Lanes) -> None:
    sink, schema = lanes.open(), pa.schema(list(SCHEMA)[:2])
    for oseq, seq in ((1, 4), (2, 9), (3, 2)):
        sink.deliver(batch_of(oseq, pa.table([[seq], ["a"]], schema=schema)))
    assert lanes.read(schema).to_pylist() == [{"seq": 9, "id": "a"}]


@pytest.mark.parametrize(("key", "newer_by"), [([], "seq"), (["seq"], "seq")])
def test_an_upsert_that_means_nothing_is_refused(key: list[str], newer_by: str) -> None:
    with pytest.raises(InvalidPipeline):
        Upsert(key=key, newer_by=newer_by)
