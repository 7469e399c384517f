"""Dead letters of older versions are read and migrated; of newer ones, or damaged, they are refused one by one."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import google_crc32c
import pyarrow as pa
import pytest

from holdfast.log import DeadLetterEntry, DeadLetterLog, dead_store, dead_versions
from holdfast.log.segment import decode
from holdfast.model.errors import EntryDamaged, LogDamaged, UnknownFormat
from tests.support.log_events import segment_files
from tests.support.log_work import entry

GOLDEN = Path(__file__).parent / "golden" / "dead-letters-v1.base64"
"""Two entries as they were written by the first version. It is never written anew."""


def golden() -> pa.RecordBatch:
    return decode(pa.py_buffer(b64decode(GOLDEN.read_text())))


def golden_entries() -> list[DeadLetterEntry]:
    return [
        entry(1),
        entry(2, position="0/16B3748", event_schema_version=3, payload=b"\x00\xff", event_id="orders/9/0"),
    ]


@pytest.mark.req("K10")
def test_entries_of_version_1_are_read_as_they_were_written() -> None:
    rows = golden().to_pylist()
    assert [dead_versions.entry_of(row) for row in rows] == golden_entries()


@pytest.mark.req("K10")
def test_entries_are_still_written_as_version_1() -> None:
    assert dead_versions.to_batch(golden_entries()).equals(golden(), check_metadata=True)


VERSION_0 = pa.schema([field for field in dead_versions.SCHEMA if field.name not in ("event_id", "checksum")])
"""A version that never was: entries without an event id and without a checksum."""


def of_version_0(entries: list[DeadLetterEntry]) -> pa.RecordBatch:
    rows = [{name: getattr(each, name) for name in VERSION_0.names} | {"schema_version": 0} for each in entries]
    return pa.RecordBatch.from_pylist(rows, schema=VERSION_0)


def to_version_1(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "event_id": None, "checksum": google_crc32c.value(row["payload"])}


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Dead letters of which the first three are of version 0, and the last of the present one."""
    with monkeypatch.context() as patch:
        patch.setattr(dead_store, "to_batch", of_version_0)
        with DeadLetterLog.open(tmp_path, epoch=1) as dead:
            dead.put([entry(1), entry(2)])
            dead.put([entry(3)])
    with DeadLetterLog.open(tmp_path, epoch=2) as dead:
        dead.put([entry(4)])
    return tmp_path


@pytest.mark.req("K10")
def test_an_older_version_is_read_and_migrated(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dead_versions.UPGRADES, 0, to_version_1)
    with DeadLetterLog.open(old, epoch=3) as dead:
        before = dead.select()
        assert list(dead.entries()) == [entry(1), entry(2), entry(3), entry(4)]
        assert dead.survey() == (3, ())
        assert dead.migrate() == (3, ())
        assert dead.migrate() == (0, ())
    monkeypatch.delitem(dead_versions.UPGRADES, 0)
    with DeadLetterLog.open(old, epoch=4) as dead:
        assert list(dead.entries()) == [entry(1), entry(2), entry(3), entry(4)]
        assert dead.select() == before
    assert len(segment_files(old)) == 2, "what was written anew is gone from its old place"


@pytest.mark.req("K10")
def test_what_nobody_can_bring_up_to_date_is_refused_by_name_and_kept(old: Path) -> None:
    with DeadLetterLog.open(old, epoch=3) as dead:
        *unknown, (_, last) = dead.read(dead.select())
        assert last == entry(4)
        for listed, error in unknown:
            assert isinstance(error, UnknownFormat)
            assert error.context["entry_id"] == listed.entry_id
        survey = dead.migrate()
        assert len(survey.unreadable) == 3
        assert len(dead.select()) == 4
        with pytest.raises(UnknownFormat):
            list(dead.entries())


def test_a_newer_version_is_refused_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        monkeypatch.setattr(dead_versions, "SCHEMA_VERSION", 2)
        dead.put([DeadLetterEntry(**{name: getattr(entry(1), name) for name in VERSION_2} | {"schema_version": 2})])
        monkeypatch.undo()
        ((_, error),) = dead.read(dead.select())
        assert isinstance(error, UnknownFormat)
        assert "version 2" in error.what
        assert dead.migrate().older == 0
        assert dead.count() == 1


VERSION_2 = dead_versions.SCHEMA.names


def test_a_payload_that_does_not_match_its_checksum_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    wrong = DeadLetterEntry(
        **{name: getattr(entry(2), name) for name in dead_versions.SCHEMA.names} | {"payload": b"other"}
    )
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(1), wrong, entry(3)])
        (_, first), (listed, error), (_, third) = dead.read(dead.select())
        assert (first, third) == (entry(1), entry(3))
        assert isinstance(error, EntryDamaged)
        assert error.context["entry_id"] == listed.entry_id == entry(2).entry_id


def test_a_damaged_piece_spoils_the_entries_in_it_and_no_others(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(1), entry(2)])
        size = segment_files(tmp_path)[0].stat().st_size
        dead.put([entry(3)])
        (segment,) = segment_files(tmp_path)
        data = bytearray(segment.read_bytes())
        data[size // 2] ^= 1
        segment.write_bytes(data)
        (_, first), (_, second), (_, third) = dead.read(dead.select())
        assert isinstance(first, LogDamaged)
        assert isinstance(second, LogDamaged)
        assert third == entry(3)
        assert len(dead.survey().unreadable) == 1
