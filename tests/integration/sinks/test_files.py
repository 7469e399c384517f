"""What the files sink promises beyond the contract: the same bytes, names given once, whole files, bounded parts."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from holdfast.model.errors import Fatal, InvalidPipeline, Transient
from holdfast.sinks import Files, Format
from tests.support.mounts import read_only, small_disk
from tests.support.sink_lanes import OUTBOX, SCHEMA, batch_of, identity, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver.contract import SinkBatch

GROUP = {Format.PARQUET: 131_072, Format.JSONL: 16_384}
MORE_THAN_A_GROUP = 140_000


def opened(directory: Path, format_: Format = Format.PARQUET, **options: int) -> Files:
    sink = Files(directory, format=format_, rotate_at=options.get("rotate_at", 64 << 20))
    epoch = options.get("epoch", 1)
    sink.open(identity(epoch))
    return sink


def written(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def recut(table: pa.Table, *sizes: int) -> pa.Table:
    """The same rows in chunks of other sizes, each at an offset into larger buffers."""
    pieces, start = [], 0
    for size in (*sizes, table.num_rows):
        pieces.append(table.slice(start, size))
        start += size
    return pa.concat_tables(pieces)


def with_regions(rows: pa.Table, order: list[str]) -> pa.Table:
    """The rows with a column stored as a dictionary of that order."""
    wanted = pa.array([("eu", "us", None)[n % 3] for n in range(rows.num_rows)])
    indices = pa.array([None if v is None else order.index(v) for v in wanted.to_pylist()], pa.int32())
    return rows.append_column("region", pa.DictionaryArray.from_arrays(indices, pa.array(order)))


@pytest.mark.parametrize("format_", Format)
def test_the_same_batch_gives_the_same_bytes_however_its_table_is_cut(tmp_path: Path, format_: Format) -> None:
    rows = rows_of(1, MORE_THAN_A_GROUP)
    whole, cut = with_regions(rows, ["eu", "us"]), recut(with_regions(rows, ["us", "eu"]), 1, 0, 70_001, 333)
    for name, table in (("a", whole), ("b", cut), ("c", whole.replace_schema_metadata({"run": "7"}))):
        opened(tmp_path / name, format_, rotate_at=1).deliver(batch_of(1, table))
    assert written(tmp_path / "a") == written(tmp_path / "b") == written(tmp_path / "c")


def test_the_lines_of_jsonl_are_exactly_these(tmp_path: Path) -> None:
    """A change here makes batches that are delivered again differ from what an earlier version wrote."""
    rows = pa.table(
        {
            "n": [1, None],
            "x": [0.5, float("nan")],
            "s": ['a"\n', ""],
            "b": [b"\x00\xff", None],
            "at": pa.array([0, 1_700_000_000_123_456], pa.timestamp("us", "UTC")),
            "d": pa.array(["1.10", None]).cast(pa.decimal128(5, 2)),
            "o": [{"k": [1, 2]}, None],
        }
    )
    opened(tmp_path, Format.JSONL).deliver(batch_of(1, rows))
    (content,) = written(tmp_path).values()
    assert content == (
        rb'{"n":1,"x":0.5,"s":"a\"\n","b":"AP8=","at":"1970-01-01T00:00:00.000000Z","d":"1.10","o":{"k":[1,2]}}' + b"\n"
        b'{"n":null,"x":"NaN","s":"","b":null,"at":"2023-11-14T22:13:20.123456Z","d":null,"o":null}\n'
    )


def test_a_name_is_made_of_lane_outbox_oseq_and_part(tmp_path: Path) -> None:
    sink = Files(tmp_path)
    sink.open(identity(lane="to/archive"))
    sink.deliver(batch_of(42))
    assert list(written(tmp_path)) == [f"to%2Farchive-{OUTBOX[:8]}-00000000000000000042-0000.parquet"]


@pytest.mark.parametrize("format_", Format)
def test_a_large_batch_is_cut_into_parts_and_answered_only_when_all_are_there(tmp_path: Path, format_: Format) -> None:
    count = GROUP[format_] * 2 + 1
    sink = opened(tmp_path, format_, rotate_at=1)
    sink.deliver(batch_of(1, rows_of(1, count)))
    names = sorted(written(tmp_path))
    assert [name.rpartition("-")[2] for name in names] == [f"000{part}.{format_.value}" for part in range(3)]


def test_a_batch_is_cut_only_when_a_file_has_reached_its_size(tmp_path: Path) -> None:
    opened(tmp_path, rotate_at=64 << 20).deliver(batch_of(1, rows_of(1, MORE_THAN_A_GROUP)))
    (path,) = tmp_path.iterdir()
    assert parquet.read_metadata(path).num_rows == MORE_THAN_A_GROUP


@pytest.mark.req("X5")
def test_a_file_that_is_there_with_the_same_bytes_is_left_alone(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    sink.deliver(batch_of(1))
    (path,) = tmp_path.iterdir()
    before = path.stat()
    sink.deliver(batch_of(1))
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("content", [b"other", b""], ids=["other", "empty"])
def test_a_file_that_is_there_with_other_bytes_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    sink = opened(tmp_path)
    sink.deliver(batch_of(1))
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    with pytest.raises(Fatal, match="other bytes"):
        sink.deliver(batch_of(1))
    assert written(tmp_path) == {path.name: content}


def test_a_file_that_differs_in_one_byte_is_never_taken_for_ours(tmp_path: Path) -> None:
    sink = opened(tmp_path, Format.JSONL)
    sink.deliver(batch_of(1))
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-2] + b"]\n")
    with pytest.raises(Fatal):
        sink.deliver(batch_of(1))


def test_an_owner_that_slept_through_a_takeover_changes_nothing(tmp_path: Path) -> None:
    old, new = opened(tmp_path, epoch=1), opened(tmp_path, epoch=2)
    new.deliver(batch_of(1))
    before = written(tmp_path)
    old.deliver(batch_of(1))
    assert written(tmp_path) == before


def test_opening_sweeps_what_older_owners_of_the_lane_left_and_nothing_else(tmp_path: Path) -> None:
    stem = f"archive-{OUTBOX[:8]}-00000000000000000001-0000.parquet"
    swept = [f".{stem}.1.draft", f".{stem}.2.draft"]
    kept = [f".{stem}.3.draft", f".report-{stem}.1.draft", f".{stem}.1.other", ".hidden", "visible.draft"]
    for name in (*swept, *kept):
        (tmp_path / name).touch()
    opened(tmp_path, epoch=2)
    assert sorted(written(tmp_path)) == sorted(kept)


def test_several_batches_may_be_delivered_at_once(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda oseq: sink.deliver(batch_of(oseq)), range(1, 33)))
    tables = [parquet.read_table(path) for path in sorted(tmp_path.iterdir())]
    assert pa.concat_tables(tables).equals(pa.concat_tables([rows_of(oseq) for oseq in range(1, 33)]))


@pytest.mark.req("X7")
def test_bytes_are_synced_before_a_file_has_its_name_and_the_name_before_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    link = os.link

    def note_sync(descriptor: int) -> None:
        steps.append("sync names" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync bytes")

    def note_link(source: Path, target: Path) -> None:
        steps.append("link")
        link(source, target)

    sink = opened(tmp_path, rotate_at=1)
    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "link", note_link)
    sink.deliver(batch_of(1, rows_of(1, MORE_THAN_A_GROUP)))
    sink.deliver(batch_of(1, rows_of(1, MORE_THAN_A_GROUP)))
    assert steps == ["sync bytes", "sync bytes", "link", "link", "sync names"] * 2


def noisy(oseq: int, count: int) -> SinkBatch:
    """A batch that compression makes no smaller."""
    noise = pa.array([os.urandom(300).hex() for _ in range(count)])
    return batch_of(oseq, rows_of(oseq, count).set_column(2, SCHEMA.field("note"), noise))


@pytest.mark.parametrize("format_", Format)
def test_a_full_disk_publishes_nothing_and_is_gone_on_from_when_there_is_room(tmp_path: Path, format_: Format) -> None:
    with small_disk(tmp_path / "disk", "4M") as disk:
        ballast, directory = disk / "ballast", disk / "orders"
        ballast.write_bytes(bytes(3_000_000))
        sink, batch = opened(directory, format_), noisy(1, 4_000)
        for _ in range(2):
            with pytest.raises(Transient, match="is full"):
                sink.deliver(batch)
            assert written(directory) == {}
        ballast.unlink()
        sink.deliver(batch)
        assert len(written(directory)) == 1


def test_a_disk_that_fills_up_at_a_later_part_publishes_no_part(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2M") as disk:
        sink = opened(disk, Format.JSONL, rotate_at=1)
        with pytest.raises(Transient, match="is full"):
            sink.deliver(batch_of(1, rows_of(1, 60_000)))
        assert written(disk) == {}


def test_a_read_only_directory_stops_the_lane(tmp_path: Path) -> None:
    sink = opened(tmp_path / "orders")
    with read_only(tmp_path / "orders"), pytest.raises(Fatal, match="may not be used"):
        sink.deliver(batch_of(1))
    with read_only(tmp_path), pytest.raises(Fatal, match="may not be used"):
        opened(tmp_path / "new")


def test_a_directory_that_vanished_is_not_made_again_behind_a_mount(tmp_path: Path) -> None:
    sink = opened(tmp_path / "orders")
    (tmp_path / "orders").rmdir()
    with pytest.raises(Transient, match="cannot be used"):
        sink.deliver(batch_of(1))
    assert not (tmp_path / "orders").exists()


def test_a_disk_without_hard_links_stops_the_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    sink = opened(tmp_path)
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(Fatal, match="may not be used"):
        sink.deliver(batch_of(1))
    assert written(tmp_path) == {}


def test_a_size_that_means_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPipeline):
        Files(tmp_path, rotate_at=0)
