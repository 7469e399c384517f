"""Each cause of a dead letter has its kind and its retries, in one place for the edge, for steps and for sinks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from tests.support.deliver_faults import Errors, transient
from tests.support.deliver_world import World, all_on_disk, eventually, spec
from tests.support.fusion_pipeline import Pairs
from tests.support.letters_home import frame
from tests.support.log_work import entry

from holdfast.deliver import OnExhausted, RetryPolicy
from holdfast.deliver.classify import reason_of
from holdfast.log import Where
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import CommitUnknown, Rejected, Throttled, Transient
from holdfast.process import batches
from holdfast.process.functions import Guarded
from holdfast.process.guarding import FailedRow
from holdfast.testing import RecordingSink
from meridian.fusion.spark import Known
from meridian.operation.letters import Label, Letter, LetterKind, Wanted, label_of
from meridian.sensors import Catalog, Screen, SourceKind, events_of, standard_rules
from meridian.sensors.isl_frame import Beacon
from meridian.sensors.landing import dead_letter
from meridian.sensors.radar_frame import decode
from meridian.sensors.second_look import second_look

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RADAR, OPTICAL, ISL = SourceKind
SCREEN = Screen(standard_rules(Catalog(known=frozenset({90_000}), decommissioned=frozenset({5}))))
RECORD = {"obs_id": "a", "timestamp_ns": 10**18, "ra_rad": 1.0, "dec_rad": 0.5, "sigma_arcsec": 1.0, "site_id": "maui"}


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


def record(**changes: object) -> bytes:
    return json.dumps({key: value for key, value in {**RECORD, **changes}.items() if value is not None}).encode()


def beacon(**changes: object) -> bytes:
    given: dict[str, object] = {
        "satellite_id": 90_000, "beacon": 1, "timestamp_ns": 10**18, "position_m": (7e6, 0.0, 0.0),
        "velocity_m_s": (0.0, 7500.0, 0.0), "sigma_m": 5.0,
    }  # fmt: skip
    return Beacon(**{**given, **changes}).to_bytes()[4:]  # type: ignore[arg-type]


AT_THE_EDGE = [
    (RADAR, frame(1, range_m=float("nan")), LetterKind.DESERIALIZATION),
    (RADAR, frame(1)[:-1] + b"\1", LetterKind.DESERIALIZATION),
    (RADAR, frame(1, range_rate_m_s=16_000.0), LetterKind.VALIDATION_FAILED),
    (RADAR, frame(1, target_track_id=5), LetterKind.VALIDATION_FAILED),
    (RADAR, frame(1, target_track_id=7), LetterKind.VALIDATION_FAILED),
    (OPTICAL, b'[{"obs_id"', LetterKind.DESERIALIZATION),
    (OPTICAL, record(timestamp_ns=-1), LetterKind.DESERIALIZATION),
    (OPTICAL, record(ra_rad=None, right_ascension=1.0), LetterKind.SCHEMA_MISMATCH),
    (OPTICAL, record(dec_rad=2.0), LetterKind.VALIDATION_FAILED),
    (ISL, beacon()[:-1] + b"?", LetterKind.DESERIALIZATION),
    (ISL, b"\x02" + beacon()[1:], LetterKind.SCHEMA_MISMATCH),
    (ISL, beacon(position_m=(6e6, 0.0, 0.0)), LetterKind.VALIDATION_FAILED),
    (ISL, beacon(velocity_m_s=(3e8, 0.0, 0.0)), LetterKind.VALIDATION_FAILED),
]


@pytest.mark.req("DLQ-02")
@pytest.mark.parametrize(
    ("network", "payload", "kind"),
    AT_THE_EDGE,
    ids=[f"{network.prefix}-{kind}-{number}" for number, (network, _, kind) in enumerate(AT_THE_EDGE)],
)
def test_what_the_edge_refuses_has_its_kind_and_was_never_tried_again(
    network: SourceKind, payload: bytes, kind: LetterKind
) -> None:
    (refusal,) = second_look(network, payload, SCREEN, 10**18).refused
    letter = Letter.of(dead_letter(refusal, "obs.some", 10**18))
    assert (letter.error_kind, letter.retry_count, letter.operator) == (kind, 0, "edge:obs.some")


@pytest.mark.parametrize(
    ("network", "payload"), [(RADAR, frame(1)), (OPTICAL, record()), (ISL, beacon())], ids=["radar", "optical", "isl"]
)
def test_what_was_right_all_along_passes_a_second_look(network: SourceKind, payload: bytes) -> None:
    seen = second_look(network, payload, SCREEN, 10**18)
    assert (len(seen.good), seen.refused) == (1, ())


def test_an_answer_that_was_kept_whole_is_read_whole() -> None:
    answer = b"[" + record() + b"," + record(obs_id="b") + b"]"
    assert len(second_look(OPTICAL, answer, SCREEN, 10**18).good) == 2


def test_bytes_that_are_no_frames_are_refused_and_raise_nothing() -> None:
    assert len(second_look(RADAR, b"short", SCREEN, 10**18).refused) == 1


def event(raw: bytes, **changes: object) -> pa.RecordBatch:
    seen = events_of(decode(raw, 10**18).columns, "obs-radar-1")
    columns = dict(zip(["seq", *seen.schema.names], [pa.array([1], pa.int64()), *seen.columns], strict=True))
    columns |= {name: pa.array([value], ENVELOPE.field(name).type) for name, value in changes.items()}
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=ENVELOPE)


@pytest.mark.req("DLQ-02")
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (event(frame(1, target_track_id=7)), LetterKind.VALIDATION_FAILED),
        (event(frame(1), payload=b"of another size"), LetterKind.SCHEMA_MISMATCH),
    ],
)
def test_what_fusion_gives_up_has_its_kind(given: pa.RecordBatch, kind: LetterKind) -> None:
    failed: list[FailedRow] = []
    step = batches(Known(Pairs())).reporting(failed.extend)
    assert isinstance(step, Guarded)
    assert list(step.guard(given.schema)([given])) in ([], [given.slice(0, 0)])
    (row,) = failed
    assert label_of(Where(f"step:{row.step}", row.kind)) == Label("step:Known", kind)


@pytest.mark.req("DLQ-02")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Rejected("no", remedy="no"), LetterKind.PROCESSING_EXCEPTION),
        (ValueError("no"), LetterKind.PROCESSING_EXCEPTION),
        (Transient("no", remedy="no"), LetterKind.RETRY_BUDGET_EXHAUSTED),
        (Throttled("no", remedy="no"), LetterKind.RETRY_BUDGET_EXHAUSTED),
        (CommitUnknown("no", remedy="no"), LetterKind.DEADLINE_EXCEEDED),
        (TimeoutError(), LetterKind.DEADLINE_EXCEEDED),
    ],
)
def test_what_a_sink_did_not_take_has_its_kind(error: Exception, kind: LetterKind) -> None:
    assert label_of(Where("sink:alerts", reason_of(error).kind)) == Label("sink:alerts", kind)


def test_an_error_of_a_step_is_not_taken_for_that_of_a_sink() -> None:
    assert label_of(Where("step:Known", "Transient")).error_kind is LetterKind.PROCESSING_EXCEPTION


@pytest.mark.req("DLQ-02")
def test_what_was_given_up_in_the_end_says_how_often_it_was_tried(world: World) -> None:
    world.publish(1)
    patient = RetryPolicy(base=0.1, cap=0.1, attempts=3)
    sink = RecordingSink(keeps_cursor=False, before=Errors(transient(), transient(), transient()))
    delivery = world.running(spec("a", sink, retry=patient, on_exhausted=OnExhausted.DEAD_LETTER))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    letters = list(map(Letter.of, world.dead.recorded.values()))
    assert {(each.error_kind, each.retry_count) for each in letters} == {(LetterKind.RETRY_BUDGET_EXHAUSTED, 2)}, (
        "after the first of three"
    )


@pytest.mark.req("DLQ-02")
def test_a_row_that_a_sink_refuses_at_once_was_never_tried_again(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(refuses=lambda row: row["id"] == "1-0")
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    (letter,) = map(Letter.of, world.dead.recorded.values())
    assert (letter.error_kind, letter.retry_count) == (LetterKind.PROCESSING_EXCEPTION, 0)


@pytest.mark.req("DLQ-01")
def test_a_letter_has_the_seven_fields_of_its_entry() -> None:
    of = entry(1, stage="step:Known", error_kind="NotCatalogued", message="nobody", attempts=1, payload=b"raw")
    assert Letter.of(of) == Letter(
        schema_version=1,
        timestamp=of.time,
        operator="step:Known",
        error_kind=LetterKind.VALIDATION_FAILED,
        error_message="nobody",
        retry_count=0,
        original_payload=b"raw",
    )


SOME = Label("edge:obs.isl", LetterKind.DESERIALIZATION)


@pytest.mark.req("DLQ-08")
@pytest.mark.parametrize(
    ("wanted", "is_meant"),
    [
        (Wanted(), True),
        (Wanted(kinds={LetterKind.DESERIALIZATION}), True),
        (Wanted(kinds={LetterKind.VALIDATION_FAILED}), False),
        (Wanted(operators={"edge:obs.isl", "step:Known"}), True),
        (Wanted(operators={"step:Known"}), False),
        (Wanted(kinds={LetterKind.DESERIALIZATION}, operators={"step:Known"}), False),
    ],
)
def test_a_choice_means_what_all_of_it_says_and_nothing_said_means_all(wanted: Wanted, is_meant: bool) -> None:
    assert wanted.is_meant(SOME) is is_meant


@pytest.mark.req("DLQ-08")
def test_both_ends_of_a_time_are_included() -> None:
    chosen = Wanted(since=NOON, until=NOON).among(Where("edge:obs.isl", "Deserialization"))
    assert chosen.since == NOON
    assert chosen.until == NOON + timedelta(milliseconds=1)
