"""Operators list, show, count, review, acknowledge, purge and export dead letters."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from holdfast.checkpoint import DryRun
from holdfast.control import PayloadForm
from holdfast.log import DeadLetterFilter, EntryState, Fate, Where
from holdfast.log.dead_entry import packed
from holdfast.log.dead_values import NEW
from holdfast.model.errors import EntryDamaged, LogDamaged, UnknownEntry
from tests.support.control_world import NOON, ControlWorld, of_sink, row
from tests.support.log_events import segment_files

ALL = DeadLetterFilter()


def ordinals(world: ControlWorld, chosen: DeadLetterFilter = ALL) -> list[int]:
    return [found.ordinal for found in world.letters.list(chosen)]


@pytest.fixture
def three(world: ControlWorld) -> list[str]:
    """Two dead letters of the table, and one of a step."""
    return [world.bury_row(1, row(1)), world.bury_row(2, row(2)), world.bury_event(5)]


def test_a_list_leaves_out_what_was_seen_to_unless_it_is_asked_for(world: ControlWorld, three: list[str]) -> None:
    world.letters.ack(DeadLetterFilter(ids={three[0]}))
    assert ordinals(world) == [2, 5]
    assert ordinals(world, DeadLetterFilter(states={EntryState.ACKED})) == [1]
    assert [found.ordinal for found in world.letters.list(limit=1)] == [2]


def test_an_entry_is_shown_with_its_row_its_errors_and_their_causes(world: ControlWorld, three: list[str]) -> None:
    shown = world.letters.show(three[2])
    assert shown.row is not None
    assert (shown.row["event_id"], shown.row["key"]) == ("orders/5/0", "k0")
    entry = shown.entry
    assert (entry.stage, entry.event_id, entry.position) == ("step:parse", "orders/5/0", "5")
    assert "caused by KeyError" in entry.message
    assert (entry.schema_version, entry.pipeline, entry.attempts, entry.is_whole) == (1, "shop", 1, True)


def test_an_entry_that_is_not_there_is_refused_by_its_id(world: ControlWorld) -> None:
    with pytest.raises(UnknownEntry, match="nobody"):
        world.letters.show("nobody")


def test_entries_are_counted_by_stage_and_kind(world: ControlWorld, three: list[str]) -> None:
    assert world.letters.count() == {Where("sink:table", "Rejected"): 2, Where("step:parse", "ValueError"): 1}
    assert world.letters.count(DeadLetterFilter(sinks={"table"}, since=NOON + timedelta(seconds=1))) == {}


def test_to_acknowledge_and_to_purge_can_be_tried_first(world: ControlWorld, three: list[str]) -> None:
    table = DeadLetterFilter(sinks={"table"})
    assert world.letters.ack(table, dry_run=DryRun.YES) == 2
    assert world.letters.ack(table) == 2
    assert world.letters.ack(table) == 0, "only what nobody has seen to"
    assert world.letters.purge(ALL, dry_run=DryRun.YES) == 2
    assert world.dead.count() == 3
    assert world.letters.purge(ALL) == 2, "what was seen to, and nothing else"
    assert ordinals(world) == [5]
    assert world.letters.purge(DeadLetterFilter(states=NEW)) == 1, "unless that was asked for"
    assert {gone.ordinal for gone in world.letters.gone()} == {1, 2, 5}
    assert world.letters.status().totals == {Fate.RECORDED: 3, Fate.PURGED: 3}


def test_a_review_is_noted_unless_it_was_only_tried(world: ControlWorld, three: list[str]) -> None:
    tried = world.letters.review(dry_run=DryRun.YES)
    assert [(each.count, each.example.ordinal) for each in tried.groups] == [(2, 1), (1, 5)]
    assert world.letters.review() == tried
    world.bury_row(9, row(3))
    again = world.letters.review()
    assert (again.since, [(each.count, each.example.ordinal) for each in again.groups]) == (NOON, [(1, 9)])


def test_alarms_can_compare_how_many_were_given_up_lately_with_all(world: ControlWorld, three: list[str]) -> None:
    world.now = NOON + timedelta(minutes=30)
    world.bury_row(9, row(3))
    where = Where("sink:table", "Rejected"), Fate.RECORDED
    assert (world.letters.tallies()[where], world.letters.tallies(NOON + timedelta(minutes=10))) == (3, {where: 1})


# Export


def lines(world: ControlWorld, payload: PayloadForm = PayloadForm.TEXT) -> list[dict[str, object]]:
    out = io.StringIO()
    world.letters.export(out, payload=payload)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_export_has_a_line_for_each_entry_with_everything_in_it(world: ControlWorld) -> None:
    values = row(1, price=Decimal("1.20"), at=datetime(2026, 1, 2, tzinfo=UTC), raw=b"\xff")
    world.bury_row(1, values)
    (line,) = lines(world)
    assert (line["stage"], line["error_kind"], line["error_code"], line["attempts"]) == (
        "sink:table",
        "Rejected",
        "HF-404",
        3,
    )
    assert (line["time"], line["state"], line["schema_version"], line["encoding"]) == (
        "2026-01-01T12:00:00+00:00",
        "new",
        1,
        "json",
    )
    assert line["payload"] == {
        "seq": 1,
        "source": "orders",
        "key": "k0",
        "n": 1,
        "price": "1.20",
        "at": "2026-01-02T00:00:00+00:00",
        "raw": "/w==",
    }


def test_an_export_says_how_a_payload_is_written(world: ControlWorld) -> None:
    world.dead.put([of_sink(1, row(1)), of_sink(2, b"plain text"), of_sink(3, b"\xff\xfe")])
    as_text = [(line["encoding"], line["payload"]) for line in lines(world)]
    assert [encoding for encoding, _ in as_text] == ["json", "utf-8", "base64"]
    assert as_text[1:] == [("utf-8", "plain text"), ("base64", "//4=")]
    as_bytes = lines(world, PayloadForm.BASE64)
    assert {line["encoding"] for line in as_bytes} == {"base64"}
    assert [base64.b64decode(str(line["payload"])) for line in as_bytes] == [packed(row(1)), b"plain text", b"\xff\xfe"]


def test_an_export_is_written_a_little_at_a_time(world: ControlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.dead.put([of_sink(number, b"x") for number in range(1234)])
    read = world.dead.read
    sizes: list[int] = []
    monkeypatch.setattr(world.dead, "read", lambda listed: sizes.append(len(listed)) or read(listed))
    assert [line["ordinal"] for line in lines(world)] == list(range(1234))
    assert max(sizes) <= 500


def test_an_entry_that_is_damaged_is_named_in_the_export_and_in_its_result(world: ControlWorld) -> None:
    world.bury_row(1, row(1))
    end = segment_files(world.directory / "dead")[0].stat().st_size
    world.bury_row(2, row(2))
    spoiled = world.dead.select()[0].entry_id
    (segment,) = segment_files(world.directory / "dead")
    data = bytearray(segment.read_bytes())
    data[end // 2] ^= 1
    segment.write_bytes(data)
    out = io.StringIO()
    exported = world.letters.export(out)
    assert (exported.written, [entry_id for entry_id, _ in exported.unreadable]) == (1, [spoiled])
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["entry_id"], second["ordinal"]) == (spoiled, 2)
    assert "HF-501" in first["unreadable"]
    with pytest.raises(LogDamaged):
        world.letters.show(spoiled)


def test_a_payload_that_was_changed_is_not_exported_as_if_it_were_whole(world: ControlWorld) -> None:
    entry = of_sink(1, b"one")
    object.__setattr__(entry, "payload", b"two")
    world.dead.put([entry])
    (line,) = lines(world)
    assert "HF-411" in str(line["unreadable"])
    assert "payload" not in line
    with pytest.raises(EntryDamaged):
        world.letters.show(entry.entry_id)


def test_to_migrate_can_be_tried_first(world: ControlWorld, three: list[str]) -> None:
    assert world.letters.migrate(dry_run=DryRun.YES) == world.letters.migrate() == (0, ())


def test_a_row_of_any_columns_is_shown(world: ControlWorld) -> None:
    entry_id = world.bury_row(1, pa.table({"nested": [{"a": [1, None]}]}))
    assert world.letters.show(entry_id).row == {"nested": {"a": [1, None]}}
