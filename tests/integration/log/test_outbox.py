"""An outbox publishes each batch once, under a number never used again, and keeps it until it is released."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.log import Digest, Keep, NewBatch, Outbox, outbox_index, part_name, write_part
from holdfast.model.errors import BatchDiverged, LogFenced, LogMissing, NotInLog
from holdfast.model.positions import Lsn, Seq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA = pa.schema([("seq", pa.int64()), ("text", pa.string())])
ATTEMPTS = count()


def opened(directory: Path, epoch: int = 1, **settings: object) -> Outbox:
    return Outbox.open(directory, epoch=epoch, **settings)  # type: ignore[arg-type]


def new_batch(
    outbox: Outbox, batch_id: int, *parts: Sequence[int], epoch: int = 1, query_id: str = "q", **other: object
) -> NewBatch:
    """A batch whose parts are written and hold these seqs."""
    written = tuple(
        write_part(
            outbox.parts_directory,
            part_name(
                epoch=epoch, generation=outbox.generation, batch_id=batch_id, partition=0, attempt=next(ATTEMPTS)
            ),
            [pa.record_batch([list(seqs), [f"row {seq}" for seq in seqs]], schema=SCHEMA)],
            SCHEMA,
        )
        for seqs in parts
    )
    values = {
        "batch_id": batch_id,
        "query_id": query_id,
        "fingerprint": "f",
        "starts": {"inbox": batch_id * 10},
        "ends": {"inbox": batch_id * 10 + 10},
        "positions": {"orders": Seq(batch_id * 10 + 10)},
        "parts": written,
        "digest": Digest(sum(map(len, parts)), 2**64 - 1),
    }
    return NewBatch(**(values | other))  # type: ignore[arg-type]


def published(outbox: Outbox, batches: int = 3) -> None:
    """So many batches of one row each."""
    for batch_id in range(batches):
        outbox.publish(new_batch(outbox, batch_id, [batch_id]))


# Publishing


def test_a_new_outbox_has_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        assert (outbox.generation, outbox.last_oseq(), outbox.trimmed(), outbox.batches()) == (1, 0, 0, [])
        assert outbox.newest() is None


def test_a_published_batch_is_all_that_was_handed_in_and_its_number(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        batch = new_batch(outbox, 7, [1, 2], [3], positions={"orders": Lsn(5), "log": Seq(2)})
        found = outbox.publish(batch)
    with opened(tmp_path, epoch=2) as outbox:
        assert outbox.batches() == [found]
        assert outbox.get(1) == outbox.find(7) == outbox.newest() == found
    assert (found.oseq, found.generation, found.rows) == (1, 1, 3)
    assert found.nbytes == sum(part.length for part in batch.parts)
    for name in ("batch_id", "query_id", "fingerprint", "starts", "ends", "positions", "parts", "digest"):
        assert getattr(found, name) == getattr(batch, name)


@pytest.mark.req("X22")
def test_a_batch_published_again_is_the_one_it_was(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        first = outbox.publish(new_batch(outbox, 0, [1]))
        again = outbox.publish(new_batch(outbox, 0, [1, 2], fingerprint="other"))
        assert again == first
        assert outbox.last_oseq() == 1
        assert outbox.read(1)["seq"].to_pylist() == [1]


@pytest.mark.req("X22")
@pytest.mark.parametrize(
    "other", [{"query_id": "z"}, {"starts": {"inbox": 1}}, {"ends": {"inbox": 11}}, {"ends": {"inbox": 10, "new": 1}}]
)
def test_a_batch_published_again_that_is_another_one_is_refused(tmp_path: Path, other: dict[str, object]) -> None:
    with opened(tmp_path) as outbox:
        first = outbox.publish(new_batch(outbox, 0, [1]))
        with pytest.raises(BatchDiverged):
            outbox.publish(new_batch(outbox, 0, [1], **other))  # type: ignore[arg-type]
        assert outbox.batches() == [first]


@pytest.mark.req("X22")
def test_a_batch_published_again_is_recognised_after_it_was_trimmed(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.release(3)
        assert outbox.publish(new_batch(outbox, 2, [2])).oseq == 3
        newest = outbox.newest()
        assert newest is not None
        assert newest.oseq == 3


def test_an_empty_batch_is_published_too(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        assert outbox.publish(new_batch(outbox, 0)).rows == 0
        assert outbox.read(1).num_rows == 0


def test_a_batch_whose_part_is_not_there_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        batch = new_batch(outbox, 0, [1])
        (outbox.parts_directory / batch.parts[0].file).unlink()
        with pytest.raises(LogMissing):
            outbox.publish(batch)
        assert outbox.last_oseq() == 0


@pytest.mark.req("X11")
def test_an_owner_that_is_overtaken_publishes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as old:
        batch = new_batch(old, 0)
        with opened(tmp_path, epoch=2) as new:
            for refused in (
                lambda: old.publish(batch),
                lambda: old.release(0),
                lambda: old.open_generation(reason="r"),
            ):
                with pytest.raises(LogFenced):
                    refused()
            assert (new.last_oseq(), new.generation) == (0, 1)


@pytest.mark.req("X11")
def test_an_owner_that_is_overtaken_learns_that_it_is_when_it_reads_what_the_newer_one_let_go(tmp_path: Path) -> None:
    with opened(tmp_path) as older:
        published(older)
        with opened(tmp_path, epoch=2) as newer:
            newer.release(2)
        with pytest.raises(LogFenced):
            older.read(1)
        assert older.read(3).num_rows == 1


def test_batches_on_record_are_those_of_the_generation_with_or_without_parts(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.release(2)
        assert [batch.oseq for batch in outbox.remembered()] == [1, 2, 3]
        outbox.open_generation(reason="new query")
        assert outbox.remembered() == []


# Generations


def test_a_number_is_never_used_again_over_generations(tmp_path: Path) -> None:
    numbers = []
    for epoch in range(1, 4):
        with opened(tmp_path, epoch=epoch) as outbox:
            for batch_id in range(2):
                numbers.append(outbox.publish(new_batch(outbox, batch_id, [1], epoch=epoch)).oseq)
            outbox.open_generation(reason="rollback", void_after=0)
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_a_new_generation_starts_with_no_batch_and_knows_the_old_ones(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        first = outbox.publish(new_batch(outbox, 0, [1]))
        assert outbox.open_generation(reason="new query") == 2
        assert (outbox.newest(), outbox.find(0), outbox.find(0, generation=1)) == (None, None, first)
        assert outbox.batches() == [first]
        assert outbox.publish(new_batch(outbox, 0, [1], query_id="z")).oseq == 2


def test_batches_that_a_rollback_voids_are_given_to_nobody(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.open_generation(reason="rollback", void_after=1)
        assert [batch.oseq for batch in outbox.batches()] == [1]
        with pytest.raises(NotInLog):
            outbox.read(2)
        outbox.publish(new_batch(outbox, 1, [1]))
        assert [batch.oseq for batch in outbox.batches()] == [1, 4]


# Reading


def test_rows_are_read_part_by_part(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        outbox.publish(new_batch(outbox, 0, [1, 2], [3], [4, 5]))
        assert outbox.read(1)["text"].to_pylist() == [f"row {seq}" for seq in range(1, 6)]


def test_rows_out_of_order_are_read_by_seq_and_equal_ones_as_they_were_written(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        batch = new_batch(outbox, 0, [4, 9, 9], [1, 9, 12])
        outbox.publish(batch)
        table = outbox.read(1)
    assert table["seq"].to_pylist() == [1, 4, 9, 9, 9, 12]
    assert table.schema == SCHEMA


def test_equal_seqs_keep_the_order_of_the_parts(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        parts = tuple(
            write_part(outbox.parts_directory, name, [pa.record_batch([[7, 3], texts], schema=SCHEMA)], SCHEMA)
            for name, texts in (("one", ["a", "b"]), ("two", ["c", "d"]))
        )
        outbox.publish(new_batch(outbox, 0, parts=parts))
        assert outbox.read(1)["text"].to_pylist() == ["b", "d", "a", "c"]


def test_a_batch_that_was_never_there_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox, pytest.raises(NotInLog):
        outbox.read(1)


# Opening


def test_a_removed_part_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        part = outbox.publish(new_batch(outbox, 0, [1])).parts[0]
        (outbox.parts_directory / part.file).unlink()
    with pytest.raises(LogMissing, match=part.file):
        opened(tmp_path, epoch=2)


def test_parts_that_nobody_published_are_swept_by_a_later_owner_only(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        named = outbox.publish(new_batch(outbox, 0, [1])).parts[0].file
        unnamed = new_batch(outbox, 1, [2]).parts[0].file
        (outbox.parts_directory / "notes.txt").write_text("mine")
    with opened(tmp_path) as outbox:
        assert {path.name for path in outbox.parts_directory.iterdir()} == {named, unnamed, "notes.txt"}
    with opened(tmp_path, epoch=2) as outbox:
        assert {path.name for path in outbox.parts_directory.iterdir()} == {named, "notes.txt"}


# Releasing


def test_what_is_released_goes_from_the_index_and_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.release(2)
        assert (outbox.trimmed(), [batch.oseq for batch in outbox.batches()]) == (2, [3])
        assert len(list(outbox.parts_directory.iterdir())) == 1
        with pytest.raises(NotInLog):
            outbox.get(2)


def test_a_release_beyond_what_was_published_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        with pytest.raises(NotInLog):
            outbox.release(4)
        assert outbox.trimmed() == 0


def test_a_lower_release_brings_nothing_back(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.release(2)
        outbox.release(1)
        assert outbox.trimmed() == 2


def test_an_age_keeps_released_batches_and_a_later_release_lets_them_go(tmp_path: Path) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with opened(tmp_path, keep=Keep(age=timedelta(hours=1)), clock=lambda: now[0]) as outbox:
        published(outbox)
        outbox.release(2)
        assert (outbox.trimmed(), len(outbox.batches())) == (0, 3)
        now[0] += timedelta(hours=2)
        outbox.release(2)
        assert outbox.trimmed() == 2


def test_a_size_keeps_released_batches_but_no_more_than_so_many(tmp_path: Path) -> None:
    with opened(tmp_path, keep=Keep(nbytes=1 << 20), keep_batches=2) as outbox:
        published(outbox, batches=5)
        outbox.release(5)
        assert outbox.trimmed() == 3


def test_what_is_kept_longer_makes_room_at_the_quota(tmp_path: Path) -> None:
    with opened(tmp_path, keep=Keep(nbytes=1)) as outbox:
        published(outbox, batches=4)
        size = outbox.retained().nbytes
    with opened(tmp_path, epoch=2, keep=Keep(nbytes=1 << 20), quota=size) as outbox:
        outbox.release(3)
        assert (outbox.trimmed(), outbox.retained().nbytes) == (0, size)
    with opened(tmp_path, epoch=3, keep=Keep(nbytes=size // 2), quota=size) as outbox:
        assert outbox.has_room()
        assert outbox.trimmed() > 0


# Going back


def test_what_is_held_again_is_not_let_go_by_what_was_released_before(tmp_path: Path) -> None:
    with opened(tmp_path, keep=Keep(nbytes=1 << 20)) as outbox:
        published(outbox, batches=4)
        outbox.release(4)
        outbox.hold(1)
    with opened(tmp_path, epoch=2) as outbox:
        outbox.release(1)
        assert (outbox.trimmed(), [batch.oseq for batch in outbox.batches()]) == (1, [2, 3, 4])


def test_a_generation_that_goes_back_has_what_was_published_up_to_there(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox, batches=4)
        to = outbox.get(2)
        for _ in range(2):
            outbox.go_back(to, generation=2, reason="a test")
        assert (outbox.generation, outbox.last_oseq()) == (2, 4)
        assert [batch.oseq for batch in outbox.batches()] == [1, 2]
        assert [(batch.oseq, batch.generation) for batch in outbox.remembered()] == [(1, 2), (2, 2)]
        assert outbox.publish(new_batch(outbox, 2, [7])).oseq == 5


def test_it_goes_back_behind_what_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stands at that batch lacks nothing: what lies between is void."""
    monkeypatch.setattr(outbox_index, "KEPT_ROWS", 1)
    with opened(tmp_path) as outbox:
        published(outbox, batches=5)
        to = outbox.get(2)
        outbox.release(4)
        assert outbox.find(1) is None
        outbox.go_back(replace(to, parts=()), generation=2, reason="a test")
    with opened(tmp_path, epoch=2) as outbox:
        assert (outbox.trimmed(), outbox.batches()) == (2, [])
        newest = outbox.newest()
        assert newest is not None
        assert (newest.oseq, newest.batch_id, dict(newest.ends)) == (2, 1, {"inbox": 20})


def test_what_was_void_can_be_revived(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox, batches=4)
        to, newest = outbox.get(2), outbox.get(4)
        outbox.go_back(to, generation=2, reason="a test")
        outbox.go_back(newest, generation=3, reason="taken back", revive_after=2)
        assert [(batch.oseq, batch.generation) for batch in outbox.batches()] == [(1, 3), (2, 3), (3, 3), (4, 3)]
        assert outbox.read(4).num_rows == 1


def test_rows_of_old_batches_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_index, "KEPT_ROWS", 2)
    with opened(tmp_path) as outbox:
        published(outbox, batches=6)
        outbox.release(6)
        assert [outbox.find(batch_id) is not None for batch_id in range(6)] == [False] * 4 + [True] * 2


def test_there_is_room_below_the_quota_and_always_for_one_batch(tmp_path: Path) -> None:
    with opened(tmp_path, quota=1) as outbox:
        assert outbox.has_room()
        published(outbox, batches=1)
        assert not outbox.has_room()
        outbox.release(1)
        assert outbox.has_room()


def test_what_is_retained_is_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as outbox:
        published(outbox)
        outbox.release(1)
        retained = outbox.retained()
        assert (retained.rows, retained.first_seq, retained.held_by) == (2, 2, {"released": 1})
        assert retained.nbytes == sum(path.stat().st_size for path in outbox.parts_directory.iterdir())
