"""Dead letters are read beside their owner, who goes on: the same entries, and nothing is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.log import DeadLetterFilter, DeadLetterLog, DeadLetterReader, EntryState, Fate, Where
from holdfast.log.dead_values import NEW
from holdfast.model.errors import EntryDamaged, LogDamaged, LogMissing
from tests.support.log_events import segment_files
from tests.support.log_work import entry


def test_a_reader_sees_what_its_owner_has_put_and_the_owner_goes_on(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead, DeadLetterReader.open(tmp_path) as reader:
        dead.put([entry(1), entry(2)])
        assert [each for page in reader.pages(size=1) for _, each in page] == [entry(1), entry(2)]
        dead.put([entry(3)])
        dead.mark(DeadLetterFilter(ids={entry(1).entry_id}), EntryState.ACKED)
        assert [each for page in reader.pages(DeadLetterFilter(states=NEW)) for _, each in page] == [entry(2), entry(3)]
        dead.remove(DeadLetterFilter(ids={entry(2).entry_id}))
        assert reader.counts() == {Where("sink:a", "Rejected"): 2}
        assert reader.tallies() == dead.tallies()
        assert reader.tallies()[Where("sink:a", "Rejected"), Fate.RECORDED] == 3


def test_what_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(1), replace(entry(2), payload=b"other")])
    with DeadLetterReader.open(tmp_path) as reader:
        ((_, first), (_, second)) = next(reader.pages())
        assert first == entry(1)
        assert isinstance(second, EntryDamaged)


def test_what_its_owner_lets_go_while_it_is_read_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead, DeadLetterReader.open(tmp_path) as reader:
        dead.put([entry(1)])
        listed = reader._select

        def listed_then_gone(*given: object) -> object:
            found = listed(*given)  # type: ignore[arg-type]
            dead.remove(DeadLetterFilter())
            return found

        monkeypatch.setattr(reader, "_select", listed_then_gone)
        assert list(reader.pages()) == [[]]


def test_a_damaged_piece_is_told(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(1)])
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(bytes(segment.stat().st_size))
    with DeadLetterReader.open(tmp_path) as reader:
        ((_, error),) = next(reader.pages())
        assert isinstance(error, LogDamaged)


def test_where_there_are_none_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(LogMissing):
        DeadLetterReader.open(tmp_path)
