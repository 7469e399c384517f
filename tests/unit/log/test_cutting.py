"""How an append is cut into chunks: small enough, in order, and never across the last transaction end."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.log_events import events

from holdfast.log import cutting
from holdfast.log.cutting import check_shape, check_values, cut, position_of_text
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import InvalidAppend, InvalidPosition
from holdfast.model.positions import FilePosition, FilesPosition, Fingerprint, Lsn, Seq


@given(st.integers(0, 40), st.sets(st.integers(1, 40)), st.integers(1, 9))
def test_the_chunks_are_the_events_in_order_and_within_the_limit(rows: int, ends: set[int], limit: int) -> None:
    batch = events(rows, ends=ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "CHUNK_ROWS", limit)
        drafts = cut(batch, 101, Seq(rows))
    assert [seq for draft in drafts for seq in draft.numbered["seq"].to_pylist()] == list(range(101, 101 + rows))
    stored = [event_id for draft in drafts for event_id in draft.events["event_id"].to_pylist()]
    assert stored == batch["event_id"].to_pylist()
    assert all(draft.events.num_rows <= limit for draft in drafts)
    assert [int(end) for draft in drafts for end in draft.ends] == sorted(100 + end for end in ends if end <= rows)


@given(st.integers(1, 40), st.sets(st.integers(1, 40), min_size=1))
def test_what_is_behind_the_last_transaction_end_is_in_chunks_of_its_own(rows: int, ends: set[int]) -> None:
    drafts = cut(events(rows, ends=ends), 1, Seq(rows))
    last = max((end for end in ends if end <= rows), default=0)
    assert all(draft.last_seq <= last or draft.first_seq > last for draft in drafts)


def test_a_chunk_is_no_larger_than_its_bytes_allow() -> None:
    drafts = cut(events(100, payload=500_000), 1, Seq(100))
    assert max(draft.events.nbytes for draft in drafts) <= cutting.CHUNK_BYTES
    assert len(drafts) < 100


def test_an_event_larger_than_a_chunk_has_one_of_its_own() -> None:
    drafts = cut(events(3, payload=cutting.CHUNK_BYTES + 1), 1, Seq(3))
    assert [draft.events.num_rows for draft in drafts] == [1, 1, 1]


def test_the_last_chunk_has_the_position_of_the_append_and_the_others_that_of_their_last_event() -> None:
    drafts = cut(events(5, ends={3}), 1, Seq(99))
    assert [draft.position for draft in drafts] == [Seq(3), Seq(99)]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40)), min_size=1, max_size=8), st.integers(1, 9))
def test_every_chunk_has_the_position_after_its_last_event_also_when_files_take_turns(
    runs: list[tuple[int, int]], limit: int
) -> None:
    offsets, places, after = {1: 0, 2: 0, 3: 0}, [], []
    for number, lines in runs:
        for _ in range(lines):
            places.append(f"{number}:{offsets[number]}")
            offsets = {**offsets, number: offsets[number] + 2}
            after.append(
                FilesPosition(3, tuple((n, FilePosition(Fingerprint("aa", 1), 7, o)) for n, o in offsets.items()))
            )
    batch = events(len(places)).set_column(14, CAPTURED.field("position"), pa.array(places))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "CHUNK_ROWS", limit)
        drafts = cut(batch, 1, after[-1])
    assert [draft.position for draft in drafts] == [after[draft.last_seq - 1] for draft in drafts]


def test_events_are_not_copied_when_they_are_cut() -> None:
    batch = events(20_000)
    drafts = cut(batch, 1, Seq(20_000))
    addresses = {draft.numbered["payload"].buffers()[2].address for draft in drafts}
    assert addresses == {batch["payload"].buffers()[2].address}


def test_an_empty_column_does_not_drag_the_whole_batch_into_every_chunk() -> None:
    """`pa.nulls` of a nested type shares one long buffer, which Arrow writes whole for every slice."""
    numbered = cut(events(100_000), 1, Seq(100_000))[0].numbered
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, numbered.schema) as writer:
        writer.write_batch(numbered)
    assert out.getvalue().size < 1.1 * numbered.nbytes


def test_a_position_that_is_not_of_the_sources_kind_is_refused() -> None:
    with pytest.raises(InvalidAppend, match="position"):
        cut(events(5, ends={3}), 1, Lsn(99))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (events(2).drop_columns(["payload"]), "columns"),
        (events(2).rename_columns([f"{name}_" for name in events(2).schema.names]), "columns"),
    ],
    ids=["missing", "renamed"],
)
def test_other_columns_are_refused(wrong: pa.RecordBatch, named: str) -> None:
    with pytest.raises(InvalidAppend, match=named):
        check_shape(wrong, None)


def test_fewer_keys_than_events_are_refused() -> None:
    with pytest.raises(InvalidAppend, match="1 keys came with 2 events"):
        check_shape(events(2), ["a"])


def test_an_event_without_what_every_event_has_is_refused() -> None:
    batch = events(2)
    place = batch.schema.get_field_index("op")
    columns = [*batch.columns[:place], pa.array(["c", None]), *batch.columns[place + 1 :]]
    with pytest.raises(InvalidAppend, match="op"):
        check_values(pa.RecordBatch.from_arrays(columns, schema=batch.schema))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5_000, "null", "{}", '{"type": "lsn"}'])
def test_a_stored_position_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidPosition):
        position_of_text(text)
