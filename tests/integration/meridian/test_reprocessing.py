"""Dead letters of an operation get another chance, each once, and all of them are accounted for; with real stores."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import google_crc32c
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.support.edge_process import edge_process
from tests.support.fusion_pipeline import Pairs, Watching
from tests.support.letters_home import ISL, OPTICAL, RADAR, LettersHome, frame, ids_in
from tests.support.log_events import segment_files
from tests.support.made_up_objects import EPOCH

from holdfast.checkpoint import DryRun
from holdfast.cli.commands import holdfast
from holdfast.control import stopped
from holdfast.log import DeadLetterEntry, DeadLetterFilter, EntryState, InboxReader, dead_versions
from holdfast.model.envelope import CAPTURED, ENVELOPE
from holdfast.model.errors import PipelineBusy
from meridian.cli.commands import meridian
from meridian.fusion.spark import seen_in
from meridian.fusion.state import Seen
from meridian.operation.home import Home
from meridian.operation.letters import Label, LetterKind, Wanted, counted
from meridian.operation.outcomes import BEFORE
from meridian.operation.reprocessing import NOT_ASKED_FOR, Manner, Report, reprocess
from meridian.sensors.letters import owned
from meridian.sensors.radar_frame import decode

TRIAL = Manner(dry_run=DryRun.YES)
FAST = frame(2, range_rate_m_s=16_000.0)
"""Refused, until somebody allows objects that fast."""
FASTER_ALLOWED = "[catalog]\nmax_range_rate_m_s = 20000.0\n"
KNOWN = Label("step:Known", LetterKind.VALIDATION_FAILED)
AT_RADAR = Label("edge:obs.radar-1", LetterKind.VALIDATION_FAILED)
AT_ISL = Label("edge:obs.isl", LetterKind.SCHEMA_MISMATCH)
MANY = 10_000


@pytest.fixture
def letters(tmp_path: Path) -> LettersHome:
    """The edge refused a radar frame and a beacon, and fusion an object that it does not know."""
    letters = LettersHome(tmp_path / "home")
    letters.came(RADAR, frame(1))
    letters.came(RADAR, FAST, second=2)
    letters.came(RADAR, frame(3, target_track_id=90_006))
    letters.came(ISL, b"\x07 from the future", second=3)
    letters.fuse(Pairs(3))
    return letters


def told(report: Report) -> dict[Label, tuple[int, dict[str, int]]]:
    return {label: (outcome.again, dict(outcome.skipped)) for label, outcome in report.by.items()}


def observation(raw: bytes) -> str:
    (key,) = decode(raw, 0).columns.keys()
    return key


def sizes(home: Home) -> dict[str, int]:
    """Every file with its size; what SQLite keeps beside its files while somebody reads is no content."""
    files = (path for path in home.directory.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal")))
    return {str(path): path.stat().st_size for path in files}


# What comes of them


@pytest.mark.req("DLQ-08")
def test_what_passes_goes_its_way_and_what_does_not_stays_with_the_reason(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    report = reprocess(letters.home, Wanted(), Manner())
    assert told(report) == {
        AT_RADAR: (1, {}),
        AT_ISL: (0, {"refused again: SchemaMismatch": 1}),
        KNOWN: (1, {}),
    }
    assert letters.ids(RADAR)[-1] == observation(FAST)
    letters.fuse(Pairs(4))
    assert sorted(letters.rows()) == ["90000", "90000", "90006"]


def test_an_observation_keeps_the_time_at_which_it_was_taken_in(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    reprocess(letters.home, Wanted(), Manner())
    with InboxReader.open(letters.home.edge / RADAR) as reader:
        last = list(reader.read(0))[-1].to_pylist()[-1]
    assert last["capture_time"].timestamp() == EPOCH / 10**9 + 2


def test_records_of_the_archive_come_back_and_its_mark_stays(tmp_path: Path) -> None:
    letters = LettersHome(tmp_path)
    record = {"obs_id": "a", "timestamp_ns": EPOCH, "ra_rad": 1.0, "dec_rad": 9.0, "sigma_arcsec": 1.0, "site_id": "x"}
    letters.came(OPTICAL, json.dumps(record).encode())
    with letters.dead() as dead:
        (entry,) = dead.entries()
        mended = json.dumps({**record, "dec_rad": 0.5}).encode()
        dead.remove(DeadLetterFilter())
    letters.put([replace(entry, entry_id="b" * 32, payload=mended, checksum=google_crc32c.value(mended))])
    with letters.log(OPTICAL) as inbox:
        before = inbox.position()
    assert reprocess(letters.home, Wanted(), Manner()).reprocessed == 1
    with letters.log(OPTICAL) as inbox:
        assert (len(letters.ids(OPTICAL)), str(inbox.position() or 0), before) == (1, "0", None)


# Which of them


@pytest.mark.req("DLQ-08")
@pytest.mark.parametrize(
    ("wanted", "reprocessed"),
    [
        (Wanted(), {AT_RADAR, KNOWN}),
        (Wanted(kinds={LetterKind.VALIDATION_FAILED}), {AT_RADAR, KNOWN}),
        (Wanted(kinds={LetterKind.SCHEMA_MISMATCH}), set()),
        (Wanted(operators={"step:Known"}), {KNOWN}),
        (Wanted(operators={"edge:obs.radar-1", "edge:obs.isl"}), {AT_RADAR}),
        (Wanted(kinds={LetterKind.DESERIALIZATION}, operators={"edge:obs.radar-1"}), set()),
    ],
)
def test_only_letters_of_the_kinds_and_operators_that_were_named_go(
    letters: LettersHome, wanted: Wanted, reprocessed: set[Label]
) -> None:
    letters.write_document(FASTER_ALLOWED)
    report = reprocess(letters.home, wanted, Manner())
    assert {label for label, outcome in report.by.items() if outcome.again} == reprocessed
    assert report.reprocessed + sum(report.skipped.values()) == 3, "each is accounted for"


@pytest.mark.req("DLQ-08")
@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(0, None, 5), (None, 0, 1), (2, 3, 2), (3, 3, 1), (4, None, 1), (5, None, 0), (None, None, 5)],
)
def test_only_letters_of_the_time_that_was_named_go_both_ends_included(
    tmp_path: Path, since: int | None, until: int | None, expected: int
) -> None:
    letters = LettersHome(tmp_path)
    for second in range(5):
        letters.came(RADAR, frame(second, range_rate_m_s=16_000.0), second=second)
    letters.write_document(FASTER_ALLOWED)
    start = datetime.fromtimestamp(EPOCH / 10**9, UTC)
    times = [None if each is None else start + timedelta(seconds=each) for each in (since, until)]
    report = reprocess(letters.home, Wanted(since=times[0], until=times[1]), Manner())
    assert (report.reprocessed, report.skipped.get(NOT_ASKED_FOR, 0)) == (expected, 5 - expected)
    assert len(letters.ids(RADAR)) == expected


# Once


@pytest.mark.req("DLQ-11")
def test_what_went_is_not_sent_again_and_would_add_nothing_if_nobody_remembered(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    reprocess(letters.home, Wanted(), Manner())
    logs = (letters.ids(RADAR), inbox_ends(letters.home))
    assert told(reprocess(letters.home, Wanted(), Manner()))[AT_RADAR] == (0, {BEFORE: 1})
    forget(letters)
    again = told(reprocess(letters.home, Wanted(), Manner()))
    assert (again[AT_RADAR], again[KNOWN]) == ((0, {BEFORE: 1}), (0, {BEFORE: 1}))
    assert (letters.ids(RADAR), inbox_ends(letters.home)) == logs


def inbox_ends(home: Home) -> int:
    with InboxReader.open(home.pipeline / "inbox" / "obs-radar-1") as reader:
        return reader.end()


def forget(letters: LettersHome) -> None:
    """As if a crash had come before anybody marked what went."""
    with letters.dead() as edge, stopped(letters.home.pipeline) as fusion:
        for dead in (edge, fusion.dead_letters):
            dead.mark(DeadLetterFilter(), EntryState.NEW)


@pytest.mark.req("DLQ-11")
@pytest.mark.timeout(240)
def test_ten_thousand_letters_reprocessed_twice_add_no_observation_no_row_and_no_alert(tmp_path: Path) -> None:
    pairs, letters = Pairs(2), LettersHome(tmp_path)
    observed = Watching(pairs, each=MANY // 4).events
    count = observed.num_rows - 3
    letters.beats()
    letters.fuse(pairs)
    bury(letters.home, observed.slice(0, count))
    state, at = pairs().before_anything, inbox_ends(letters.home)
    assert reprocess(letters.home, Wanted(), Manner()).reprocessed == count == MANY
    seen, at = read_on(letters.home, pairs, at)
    state, first = state.after(seen)
    assert (at - 1, len(first.words) > 0) == (MANY, True), "all are in the inbox, and tell of conjunctions"
    for is_remembered in (True, False):
        if not is_remembered:
            forget(letters)
        again = reprocess(letters.home, Wanted(), Manner())
        assert (again.reprocessed, again.skipped) == (0, {BEFORE: MANY})
        seen, end = read_on(letters.home, pairs, at)
        state, news = state.after(seen)
        assert (end, list(news.words), news.counts.taken) == (at, [], 0)
    letters.fuse(pairs)
    assert len(letters.rows()) == MANY + 1, "a row each, and one of the heartbeat"


def bury(home: Home, events: pa.RecordBatch) -> None:
    """Dead letters of fusion, as it writes them for observations of objects that it does not know yet."""
    numbers = pa.array(range(2, events.num_rows + 2), pa.int64())
    source = pa.array(["obs-radar-1"] * events.num_rows)
    columns = {"seq": numbers, **dict(zip(CAPTURED.names, events.columns, strict=True)), "source": source}
    table = pa.Table.from_arrays(
        [columns[name].cast(ENVELOPE.field(name).type) for name in ENVELOPE.names], schema=ENVELOPE
    )
    with stopped(home.pipeline) as fusion:
        for start in range(0, table.num_rows, 500):
            fusion.dead_letters.put(
                [_given_up(table.slice(row, 1)) for row in range(start, min(start + 500, table.num_rows))]
            )


def _given_up(event: pa.Table) -> DeadLetterEntry:
    return DeadLetterEntry.of_event(
        event,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        pipeline="fusion",
        step="Known",
        error_kind="NotCatalogued",
        error_code="HF-704",
        message="nobody knows it",
    )


def read_on(home: Home, pairs: Pairs, after: int) -> tuple[Seen, int]:
    """What fusion sees behind an event of its inbox, and where that ends."""
    with InboxReader.open(home.pipeline / "inbox" / "obs-radar-1") as reader:
        return seen_in(reader.read(after), pairs().contributions), reader.end()


@pytest.mark.req("DLQ-11")
@pytest.mark.timeout(240)
def test_ten_thousand_letters_of_the_edge_reprocessed_twice_are_in_its_log_once(tmp_path: Path) -> None:
    letters = LettersHome(tmp_path)
    letters.came(RADAR, FAST)
    with letters.dead() as dead:
        (one,) = dead.entries()
    payloads = [frame(number) for number in range(MANY)]
    letters.put(
        replace(one, entry_id=f"{number:032x}", payload=payload, checksum=google_crc32c.value(payload))
        for number, payload in enumerate(payloads)
    )
    assert reprocess(letters.home, Wanted(), Manner()).reprocessed == MANY
    with letters.dead() as dead:
        dead.mark(DeadLetterFilter(), EntryState.NEW)
    assert reprocess(letters.home, Wanted(), Manner()).skipped[BEFORE] == MANY
    assert letters.ids(RADAR) == list(map(observation, payloads))


# On trial, and elsewhere


@pytest.mark.req("DLQ-09")
def test_a_trial_tells_the_same_and_writes_nothing(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    before = sizes(letters.home)
    trial = told(reprocess(letters.home, Wanted(), TRIAL))
    assert sizes(letters.home) == before
    assert trial == told(reprocess(letters.home, Wanted(), Manner())), "nothing was marked or sent"


@pytest.mark.req("DLQ-09")
def test_letters_go_to_another_pipeline_and_stay_here(letters: LettersHome, tmp_path: Path) -> None:
    letters.write_document(FASTER_ALLOWED)
    trial = Home(tmp_path / "trial")
    letters.fuse(Pairs(3), trial)
    mine, other = letters.ids(RADAR), ids_in(trial.pipeline / "inbox" / "obs-radar-1")
    for expected in ((1, {}), (0, {BEFORE: 1})):
        report = told(reprocess(letters.home, Wanted(), Manner(into=trial.pipeline)))
        assert (report[AT_RADAR], report[KNOWN]) == (expected, expected)
    assert letters.ids(RADAR) == mine, "nothing went to our own log"
    fresh = ids_in(trial.pipeline / "inbox" / "obs-radar-1")[len(other) :]
    assert sorted(fresh) == sorted([observation(FAST), observation(frame(3, target_track_id=90_006))])
    assert reprocess(letters.home, Wanted(), Manner()).reprocessed == 2, "they are still new here"
    letters.fuse(Pairs(4), trial)
    assert letters.rows(trial).count("90006") == 1


def test_a_pipeline_that_does_not_follow_a_log_takes_nothing_of_it(letters: LettersHome, tmp_path: Path) -> None:
    trial = Home(tmp_path / "trial")
    letters.fuse(Pairs(3), trial)
    record = {"obs_id": "a", "timestamp_ns": EPOCH, "ra_rad": 1.0, "dec_rad": 0.5, "sigma_arcsec": 1.0, "site_id": "x"}
    letters.came(ISL, b"\x07 again", second=4)
    with letters.dead() as dead:
        one = list(dead.entries())[-1]
    payload = json.dumps(record).encode()
    letters.put([replace(one, entry_id="c" * 32, stage="edge:obs.optical", payload=payload,
                         checksum=google_crc32c.value(payload))])  # fmt: skip
    report = reprocess(letters.home, Wanted(operators={"edge:obs.optical"}), Manner(into=trial.pipeline))
    assert report.skipped["there is no obs.optical to take it"] == 1


# Who may


def test_while_the_edge_runs_nothing_is_done_and_a_trial_is(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    with owned(letters.home.edge):
        with pytest.raises(PipelineBusy, match="runs the edge") as caught:
            reprocess(letters.home, Wanted(), Manner())
        assert "Stop it" in str(caught.value)
        assert reprocess(letters.home, Wanted(), TRIAL).reprocessed == 2
        assert reprocess(letters.home, Wanted(operators={"step:Known"}), Manner()).reprocessed == 1
    assert told(reprocess(letters.home, Wanted(), Manner()))[AT_RADAR] == (1, {})


def test_a_real_edge_that_runs_is_left_alone_and_says_so_to_a_second_one(letters: LettersHome) -> None:
    with letters.dead() as dead:
        dead.remove(DeadLetterFilter())
    today = (time.time_ns() - EPOCH) // 10**9
    new = frame(9, range_rate_m_s=-16_000.0)
    letters.came(RADAR, new, second=today)  # an edge that runs forgets letters of more than a month ago
    letters.write_document(FASTER_ALLOWED)
    with edge_process(letters.home.edge_file) as edge:
        with pytest.raises(PipelineBusy, match=str(edge.process.pid)):
            reprocess(letters.home, Wanted(), Manner())
        with pytest.raises(AssertionError, match="HF-801"), edge_process(letters.home.edge_file):
            pass
        assert edge.get("/health")[0] == 200
    assert told(reprocess(letters.home, Wanted(), Manner()))[AT_RADAR] == (1, {})


# What they are


@pytest.mark.req("DLQ-06")
def test_letters_are_counted_by_operator_and_kind_also_when_they_are_gone(letters: LettersHome) -> None:
    expected = {AT_RADAR: 1, AT_ISL: 1, KNOWN: 1}
    assert counted(letters.home) == expected
    with letters.dead() as dead:
        dead.remove(DeadLetterFilter())
    assert counted(letters.home) == expected
    letters.came(RADAR, frame(9, range_rate_m_s=-16_000.0))
    assert counted(letters.home) == {**expected, AT_RADAR: 2}


@pytest.mark.req("DLQ-06")
def test_to_count_reads_no_letter_and_disturbs_no_owner(letters: LettersHome) -> None:
    with letters.dead() as dead:
        for segment in segment_files(letters.home.edge / "dead"):
            segment.write_bytes(b"")
        assert counted(letters.home)[AT_RADAR] == 1
        dead.mark(DeadLetterFilter(), EntryState.ACKED)


SEVEN = {
    "schema_version", "timestamp", "operator", "error_kind", "error_message", "retry_count", "original_payload",
}  # fmt: skip


@pytest.mark.req("DLQ-01")
def test_letters_are_lines_of_json_with_the_seven_fields(letters: LettersHome) -> None:
    done = CliRunner().invoke(meridian, ["letters", "--directory", str(letters.home.directory), "--output", "json"])
    lines = list(map(json.loads, done.stdout.splitlines()))
    assert [set(line) for line in lines] == [SEVEN] * 3
    assert {(line["operator"], line["error_kind"]) for line in lines} == {AT_RADAR, AT_ISL, KNOWN}
    assert bytes.fromhex(lines[0]["original_payload"]) == FAST


@pytest.mark.req("DLQ-01")
def test_the_export_of_fusions_letters_has_what_the_seven_are_made_of(letters: LettersHome, tmp_path: Path) -> None:
    file = tmp_path / "dead.jsonl"
    done = CliRunner().invoke(holdfast, ["dlq", "export", str(letters.home.pipeline), str(file)])
    assert done.exit_code == 0, done.output
    (line,) = map(json.loads, file.read_text().splitlines())
    fields = {"schema_version", "time", "stage", "error_kind", "message", "attempts", "payload"}
    assert (fields <= set(line), line["schema_version"], line["stage"]) == (True, 1, "step:Known")


@pytest.mark.req("DLQ-01")
def test_a_letter_is_never_written_over(letters: LettersHome) -> None:
    before = {path: path.read_bytes() for path in segment_files(letters.home.edge / "dead")}
    letters.came(RADAR, frame(7, range_rate_m_s=16_000.0), second=7)
    letters.came(RADAR, FAST, second=8)
    reprocess(letters.home, Wanted(), Manner())
    assert all(path.read_bytes()[: len(content)] == content for path, content in before.items())
    assert counted(letters.home)[AT_RADAR] == 2, "what comes again is the same letter"


@pytest.mark.req("DLQ-10")
def test_a_letter_of_an_unknown_version_is_skipped_and_counted_and_the_others_go(
    letters: LettersHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with letters.dead() as dead:
        one = next(dead.entries())
        monkeypatch.setattr(dead_versions, "SCHEMA_VERSION", 7)
        dead.put([replace(one, entry_id="d" * 32, schema_version=7)])
        monkeypatch.undo()
    letters.write_document(FASTER_ALLOWED)
    for manner in (TRIAL, Manner()):
        report = reprocess(letters.home, Wanted(operators={"edge:obs.radar-1"}), manner)
        assert told(report)[AT_RADAR] == (1, {"HF-103": 1})


@pytest.mark.req("DLQ-10")
def test_a_letter_of_fusion_of_an_unknown_version_is_skipped_and_counted(
    letters: LettersHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stopped(letters.home.pipeline) as fusion:
        (one,) = fusion.dead_letters.entries()
        monkeypatch.setattr(dead_versions, "SCHEMA_VERSION", 7)
        fusion.dead_letters.put([replace(one, entry_id="d" * 32, schema_version=7)])
        monkeypatch.undo()
    assert told(reprocess(letters.home, Wanted(), Manner()))[KNOWN] == (1, {"HF-103": 1})


@pytest.mark.req("DLQ-10")
def test_a_letter_of_an_older_version_is_brought_up_and_goes(
    letters: LettersHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with letters.dead() as dead:
        one = next(dead.entries())
        dead.put([replace(one, entry_id="e" * 32, schema_version=0, payload=b"", checksum=0)])
    brought_up = {"payload": frame(5), "checksum": google_crc32c.value(frame(5))}
    monkeypatch.setitem(dead_versions.UPGRADES, 0, lambda row: {**row, **brought_up})
    report = reprocess(letters.home, Wanted(operators={"edge:obs.radar-1"}), Manner())
    assert told(report)[AT_RADAR] == (1, {"refused again: ValidationFailed": 1})
    assert letters.ids(RADAR)[-1] == observation(frame(5))


# By command


def run(letters: LettersHome, *arguments: str) -> dict[str, object]:
    command = ["reprocess", "--directory", str(letters.home.directory), "--output", "json", *arguments]
    done = CliRunner().invoke(meridian, command)
    assert done.exit_code == 0, done.output
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.req("DLQ-08", "DLQ-09")
def test_the_command_tells_how_many_went_and_why_the_others_did_not(letters: LettersHome) -> None:
    letters.write_document(FASTER_ALLOWED)
    expected = {"reprocessed": 1, "skipped": {NOT_ASKED_FOR: 2}}
    only = ["--operator", "step:Known", "--since", "2026-01-01", "--until", "2100-01-01T00:00Z", "--rate", "1000/s"]
    tried, done = run(letters, *only, "--dry-run"), run(letters, *only)
    by = [
        {"operator": "edge:obs.isl", "error_kind": "SchemaMismatch", "reprocessed": 0, "skipped": {NOT_ASKED_FOR: 1}},
        {"operator": "edge:obs.radar-1", "error_kind": "ValidationFailed", "reprocessed": 0,
         "skipped": {NOT_ASKED_FOR: 1}},
        {"operator": "step:Known", "error_kind": "ValidationFailed", "reprocessed": 1, "skipped": {}},
    ]  # fmt: skip
    assert tried == {"dry_run": True, **expected, "by": by}
    assert done == {"dry_run": False, **expected, "by": by}


@pytest.mark.parametrize("wrong", [["--since", "yesterday"], ["--rate", "0/s"], ["--error-kind", "Unlucky"]])
def test_what_cannot_be_understood_is_refused(letters: LettersHome, wrong: list[str]) -> None:
    done = CliRunner().invoke(meridian, ["reprocess", "--directory", str(letters.home.directory), *wrong])
    assert done.exit_code == 2
