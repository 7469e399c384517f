"""What a service reads from the tables and logs of an operation, which the real sinks wrote."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import isnan
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.seen import elements
from tests.support.service_home import (
    NOON,
    NOON_NS,
    SECOND,
    TABLES,
    ServiceHome,
    conjunction_row,
    land,
    object_row,
    progress_row,
    source_row,
    word_row,
)

from holdfast.checkpoint import SqliteStore
from holdfast.log import DeadLetterFilter, EntryState
from holdfast.model.errors import InvalidRequest, StoreUnavailable
from holdfast.model.positions import LogPosition, SiftedPosition
from holdfast.runtime.layout import Layout
from holdfast.runtime.records import HISTORY
from holdfast.runtime.restarts import History, Run
from meridian.fusion.life import Stage
from meridian.fusion.outputs import place
from meridian.operation.catalog import write_elements
from meridian.sensors import SourceKind, events_of, from_observations, heartbeat
from meridian.service.logs import given_up
from meridian.service.service import Service


@pytest.fixture
def home(tmp_path: Path) -> Iterator[ServiceHome]:
    made = ServiceHome(tmp_path)
    yield made
    made.close()


def test_before_anything_has_happened_every_answer_is_empty_and_nothing_is_made(tmp_path: Path) -> None:
    service = Service(tmp_path)
    seen = service.snapshot()
    assert (seen.progress, seen.objects, list(seen.words), list(seen.conjunctions)) == (None, 0, [], [])
    assert not seen.is_running
    assert list(seen.alarms) == []
    assert list(service.objects()) == list(service.history()) == list(service.misses("none")) == []
    assert service.object("90001") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_its_table_is_an_empty_answer(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({})
    assert all(place(tmp_path, table).exists() for table in TABLES)
    assert Service(tmp_path).snapshot().progress is None


def test_conjunctions_that_are_over_are_not_told_and_the_soonest_is_first(home: ServiceHome, tmp_path: Path) -> None:
    rows = [
        conjunction_row(0, closest_ns=NOON_NS + 9),
        conjunction_row(1, closest_ns=NOON_NS + 5, stage="updated"),
        conjunction_row(2, stage="withdrawn"),
        conjunction_row(3, stage="expired"),
    ]
    home.batch({"conjunctions": rows})
    found = Service(tmp_path).conjunctions()
    assert [(each.conjunction_id, each.stage) for each in found] == [("c1", Stage.UPDATED), ("c0", Stage.RAISED)]
    assert found[0].plane_m == (400.0, 0.0)
    assert found[0].spread_m2 == (1e4, 4e4, 10.0)


def test_conjunctions_that_are_over_can_be_asked_for_and_the_last_is_first(home: ServiceHome, tmp_path: Path) -> None:
    rows = [
        conjunction_row(0),
        conjunction_row(1, closest_ns=NOON_NS + 1, stage="expired"),
        conjunction_row(2, closest_ns=NOON_NS + 3, stage="withdrawn"),
        conjunction_row(3, closest_ns=NOON_NS + 2, stage="expired"),
    ]
    home.batch({"conjunctions": rows})
    service = Service(tmp_path)
    assert [each.conjunction_id for each in service.conjunctions_over(2)] == ["c2", "c3"]
    for number, stage in ((0, Stage.RAISED), (2, Stage.WITHDRAWN)):
        found = service.conjunction(f"c{number}")
        assert found is not None
        assert found.stage is stage
    assert service.conjunction("c9") is None


def test_withdrawn_conjunctions_whose_time_is_to_come_are_seen_the_soonest_first(
    home: ServiceHome, tmp_path: Path
) -> None:
    rows = [
        conjunction_row(0),
        conjunction_row(1, closest_ns=NOON_NS + 9, stage="withdrawn"),
        conjunction_row(2, closest_ns=NOON_NS + 5, stage="withdrawn"),
        conjunction_row(3, closest_ns=NOON_NS - 1, stage="withdrawn"),
        conjunction_row(4, closest_ns=NOON_NS + 7, stage="expired"),
    ]
    home.batch({"conjunctions": rows})
    found = Service(tmp_path, now_ns=lambda: NOON_NS).snapshot()
    assert [each.conjunction_id for each in found.withdrawn] == ["c2", "c1"]
    assert [each.conjunction_id for each in found.conjunctions] == ["c0"]


def test_a_probability_that_is_not_known_is_not_a_number_and_never_zero(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"conjunctions": [conjunction_row(probability=None)]})
    home.batch({"alerts": [word_row(probability=None)]})
    service = Service(tmp_path)
    assert isnan(service.conjunctions()[0].probability)
    assert isnan(service.words()[0].probability)
    assert isnan(service.misses("c0")[0].probability)


def test_objects_have_the_names_of_the_catalog_which_may_change_while_somebody_looks(
    home: ServiceHome, tmp_path: Path
) -> None:
    home.batch({"conjunctions": [conjunction_row()], "alerts": [word_row()]})
    service = Service(tmp_path)
    assert [each.called for each in service.conjunctions()] == [("90001", "90002")]
    write_elements(home.home.catalog, [elements(name="METEOR 2-5")])
    assert [each.called for each in service.conjunctions()] == [("METEOR 2-5", "90002")]
    write_elements(home.home.catalog, [elements(name="METEOR 2-5"), elements(1, name="COSMOS 1408 DEB")])
    assert [each.called for each in service.words()] == [("METEOR 2-5", "COSMOS 1408 DEB")]
    assert [each.called for each in service.snapshot().conjunctions] == [("METEOR 2-5", "COSMOS 1408 DEB")]


def test_objects_of_one_name_are_told_apart_by_their_numbers(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"conjunctions": [conjunction_row()]})
    write_elements(home.home.catalog, [elements(name="FENGYUN 1C DEB"), elements(1, name="FENGYUN 1C DEB")])
    (found,) = Service(tmp_path).conjunctions()
    assert found.called == ("FENGYUN 1C DEB (90001)", "FENGYUN 1C DEB (90002)")


def test_objects_are_shown_by_number_while_the_catalog_is_damaged(
    home: ServiceHome, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.batch({"conjunctions": [conjunction_row()]})
    home.home.catalog.write_text("[{}]")
    service = Service(tmp_path)
    for _ in range(2):
        assert [each.called for each in service.conjunctions()] == [("90001", "90002")]
    assert [each for each in caplog.messages if "objects are shown by number" in each] == caplog.messages
    assert len(caplog.messages) == 1, "it is told once, not with every look"


def test_the_newest_words_come_first_and_digests_are_whole_numbers_of_64_bits(
    home: ServiceHome, tmp_path: Path
) -> None:
    home.batch({"alerts": [word_row(0)]})
    home.batch({"alerts": [word_row(0, kind="retract", version=1), word_row(1)]})
    words = Service(tmp_path).words(2)
    assert [(word.alert_id, word.kind) for word in words] == [("a1", "insert"), ("a0", "retract")]
    assert words[0].digests == (2**64 - 1, 7)


def test_an_object_has_its_whole_covariance(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"objects": [object_row("90001"), object_row("90002")]})
    service = Service(tmp_path)
    found = service.object("90001")
    assert found is not None
    assert [len(row) for row in found.covariance] == [6] * 6
    assert found.covariance[0][1] == found.covariance[1][0] == 1.0
    assert found.covariance[1][1] == 6.0
    assert list(found.sources) == ["radar-1", "isl"]
    assert [each.object_id for each in service.objects()] == ["90001", "90002"]
    assert service.snapshot().objects == 2


def test_misses_tell_only_of_the_passage_and_which_words_stand(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"conjunctions": [conjunction_row()]})
    home.batch({"alerts": [word_row(0, miss_m=900.0), word_row(9, object_b="90003")]})
    home.batch({"alerts": [word_row(0, kind="retract", version=1), word_row(0, sequence=1, version=2, miss_m=500.0)]})
    found = Service(tmp_path).misses("c0")
    assert [(each.miss_m, each.is_standing) for each in found] == [(900.0, False), (500.0, True)]


@pytest.mark.req("EVT-04")
def test_the_lag_of_the_source_and_that_of_the_pipeline_are_told_apart(home: ServiceHome, tmp_path: Path) -> None:
    quiet = source_row("optical", oldest_received_ns=None, source_lag_s=0.0)
    radar = source_row("radar", source_lag_s=0.25, oldest_received_ns=NOON_NS - 3 * SECOND)
    home.batch({"progress": [progress_row(1, sources=[radar, quiet])]})
    seen = Service(tmp_path).snapshot()
    assert seen.progress is not None
    assert [(each.source_lag_s, each.pipeline_lag_s) for each in seen.progress.sources] == [(0.25, 3.0), (0.0, 0.0)]
    assert {name: sum(lags.counts) for name, lags in seen.pipeline_lags.items()} == {"radar": 1}
    assert seen.pipeline_lags["radar"].total_s == 3.0


@pytest.mark.req("EVT-04")
def test_every_batch_is_counted_once_in_the_lags_however_often_somebody_looks(
    home: ServiceHome, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    for batch in range(1, 6):
        home.batch({"progress": [progress_row(batch, sources=[source_row()])]})
        if batch % 2:
            service.snapshot()
            service.snapshot()
    lags = service.snapshot().pipeline_lags["radar"]
    assert sum(lags.counts) == 5
    assert lags.total_s == 2 + 3 + 4 + 5 + 6, "each batch was published a second after the one before"


def test_the_history_is_told_oldest_first_and_without_what_was_before_the_first_observation(
    home: ServiceHome, tmp_path: Path
) -> None:
    home.batch({"progress": [progress_row(1, received_ns=None, watermark_ns=None)]})
    home.batch(
        {
            "progress": [
                progress_row(2),
            ]
        }
    )
    home.batch({"progress": [progress_row(3)]})
    history = Service(tmp_path).history()
    assert [each.batch for each in history][-2:] == [2, 3]
    assert history[-1].judged_ns == NOON_NS + 2 * SECOND
    assert history[-1].seconds == 1.0


@pytest.mark.req("OBS-05")
def test_an_alert_is_timed_from_the_observation_that_had_it_said_until_it_was_published(
    home: ServiceHome, tmp_path: Path
) -> None:
    """Batches are published a second after each other, the first at noon; the telescopes in each are far behind."""
    slow = [source_row("optical", source_lag_s=99.0, oldest_received_ns=NOON_NS - 80 * SECOND)]
    said = {"caused_ns": NOON_NS - 3 * SECOND, "received_ns": NOON_NS - SECOND}
    home.batch({"progress": [progress_row(1, sources=slow)]})
    home.batch({"progress": [progress_row(2, told=1, sources=slow)], "alerts": [word_row(batch=2, **said)]})
    delay = Service(tmp_path, now_ns=lambda: NOON_NS + 60 * SECOND).snapshot().delay
    assert (delay.words, delay.within, delay.whole.worst_s) == (1, 1, 4.0)
    assert (delay.source.worst_s, delay.pipeline.worst_s) == (2.0, 2.0)


@pytest.mark.req("OBS-05")
def test_a_correction_that_a_late_record_had_said_is_timed_from_that_record(home: ServiceHome, tmp_path: Path) -> None:
    late = {"caused_ns": NOON_NS - 40 * SECOND, "received_ns": NOON_NS - 2 * SECOND, "newest_ns": NOON_NS - SECOND}
    words = [word_row(kind="retract", version=1, **late), word_row(sequence=1, version=2, **late)]
    home.batch({"progress": [progress_row(1)], "alerts": words})
    seen = Service(tmp_path, now_ns=lambda: NOON_NS + 60 * SECOND).snapshot()
    assert (seen.delay.words, seen.delay.within, seen.delay.raised.worst_s) == (1, 0, 0.0), "what is taken back is not"
    assert (seen.delay.whole.p99_s, seen.delay.source.p99_s, seen.delay.pipeline.p99_s) == (40.0, 38.0, 2.0)
    assert [alarm.name for alarm in seen.alarms if alarm.name == "alerts-late"] == ["alerts-late"]


def ran(tmp_path: Path, *began: datetime) -> None:
    """Put on record when fusion was started."""
    with SqliteStore(Layout(tmp_path / "pipeline").checkpoints) as store:
        store.put(HISTORY, History(tuple(Run(each) for each in began)), epoch=store.take_over())


def late_alarms(service: Service) -> list[str]:
    return [alarm.says for alarm in service.snapshot().alarms if alarm.name == "alerts-late"]


def test_alerts_that_waited_while_fusion_was_down_are_not_blamed_on_the_pipeline(
    home: ServiceHome, tmp_path: Path
) -> None:
    """The last batch before the kill is published at noon, the first one after it five minutes later."""
    ran(tmp_path, NOON - timedelta(seconds=60), NOON + timedelta(seconds=280))
    home.batch({"progress": [progress_row(7)]})
    home.now = NOON + timedelta(seconds=300)
    waited = {"caused_ns": NOON_NS, "received_ns": NOON_NS + SECOND}
    prompt = {"caused_ns": NOON_NS + 298 * SECOND, "received_ns": NOON_NS + 299 * SECOND}
    home.batch({"progress": [progress_row(8)], "alerts": [word_row(0, batch=8, **waited)]})
    home.batch({"progress": [progress_row(9)], "alerts": [word_row(1, batch=9, **prompt)]})
    service = Service(tmp_path, now_ns=lambda: NOON_NS + 310 * SECOND)
    (says,) = late_alarms(service)
    assert says == (
        "1 of 2 words on alerts came more than 30 s after their observation, the slowest after 300 s. 1 of them waited "
        "because fusion was down from 2026-03-14T12:00:00 to 2026-03-14T12:05:00 UTC; the others came in time."
    )
    (alarm,) = (each for each in service.snapshot().alarms if each.name == "alerts-late")
    assert "bottleneck" not in alarm.remedy


def test_a_slow_batch_is_no_outage_and_the_pipeline_is_blamed(home: ServiceHome, tmp_path: Path) -> None:
    ran(tmp_path, NOON - timedelta(seconds=60))
    home.batch({"progress": [progress_row(7)]})
    home.now = NOON + timedelta(seconds=300)
    slow = {"caused_ns": NOON_NS, "received_ns": NOON_NS + SECOND}
    home.batch({"progress": [progress_row(8)], "alerts": [word_row(0, batch=8, **slow)]})
    (says,) = late_alarms(Service(tmp_path, now_ns=lambda: NOON_NS + 310 * SECOND))
    assert "down" not in says
    assert says.endswith("it took 1 s until it came in and 299 s from then on.")


def test_words_that_were_late_for_another_reason_are_told_apart_from_those_that_an_outage_held_up(
    home: ServiceHome, tmp_path: Path
) -> None:
    ran(tmp_path, NOON + timedelta(seconds=280))
    home.batch({"progress": [progress_row(7)]})
    home.now = NOON + timedelta(seconds=300)
    waited = {"caused_ns": NOON_NS, "received_ns": NOON_NS + SECOND}
    long_before = {"caused_ns": NOON_NS - 40 * SECOND, "received_ns": NOON_NS - 2 * SECOND}
    words = [word_row(0, batch=8, **waited), word_row(1, batch=8, **long_before)]
    home.batch({"progress": [progress_row(8)], "alerts": words})
    (says,) = late_alarms(Service(tmp_path, now_ns=lambda: NOON_NS + 310 * SECOND))
    assert "1 of them waited because fusion was down" in says
    assert says.endswith("1 other took 38 s until it came in and 2 s from then on at the 99th percentile.")


@pytest.mark.req("OBS-05")
def test_what_only_a_closed_window_has_said_is_timed_apart(home: ServiceHome, tmp_path: Path) -> None:
    closing = {"caused_ns": None, "received_ns": None, "newest_ns": NOON_NS - 50 * SECOND, "is_early": False}
    words = [word_row(0, sequence=1, version=2, **closing), word_row(1)]
    home.batch({"progress": [progress_row(1)], "alerts": words})
    seen = Service(tmp_path, now_ns=lambda: NOON_NS + 60 * SECOND).snapshot()
    assert (seen.delay.words, seen.delay.whole.worst_s, seen.delay.closed.worst_s) == (1, 2.0, 50.0)
    assert seen.delay.is_met


@pytest.mark.req("OBS-05")
def test_a_first_word_that_waited_until_its_window_was_closed_is_late(home: ServiceHome, tmp_path: Path) -> None:
    closing = {"caused_ns": None, "received_ns": None, "newest_ns": NOON_NS - 50 * SECOND, "is_early": False}
    home.batch({"progress": [progress_row(1)], "alerts": [word_row(0, **closing)]})
    delay = Service(tmp_path, now_ns=lambda: NOON_NS + 60 * SECOND).snapshot().delay
    assert (delay.raised.worst_s, delay.pipeline.worst_s, delay.is_met) == (50.0, 50.0, False)


@pytest.mark.req("OBS-05")
def test_every_word_counts_once_and_for_ten_minutes(home: ServiceHome, tmp_path: Path) -> None:
    now = NOON_NS + 5 * SECOND
    service = Service(tmp_path, now_ns=lambda: now)
    counted = []
    for batch in range(1, 5):
        home.batch({"progress": [progress_row(batch)], "alerts": [word_row(batch, batch=batch)]})
        counted += [service.snapshot().delay.words, service.snapshot().delay.words]
    assert counted == [1, 1, 2, 2, 3, 3, 4, 4]
    now = NOON_NS + 602 * SECOND
    assert service.snapshot().delay.words == 2, "two were published less than ten minutes ago"


def test_a_word_waits_until_it_is_known_when_its_batch_was_published(home: ServiceHome, tmp_path: Path) -> None:
    service = Service(tmp_path, now_ns=lambda: NOON_NS + 5 * SECOND)
    home.batch({"progress": [progress_row(1)], "alerts": [word_row(0)]})
    home.batch({"alerts": [word_row(1, batch=2)]})
    assert service.snapshot().delay.words == 1
    home.batch({"progress": [progress_row(2)]})
    home.batch({"progress": [progress_row(3)]})
    assert service.snapshot().delay.words == 2


def test_a_table_that_is_being_written_to_is_read_and_not_held_up(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"conjunctions": [conjunction_row()]})
    with sqlite3.connect(place(tmp_path, "conjunctions"), isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE conjunctions SET miss_m = 1")
        assert Service(tmp_path).conjunctions()[0].miss_m == 400.0
        db.execute("COMMIT")
    db.close()
    assert Service(tmp_path).conjunctions()[0].miss_m == 1.0


def test_looking_leaves_no_file_behind_and_changes_none(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"progress": [progress_row()], "conjunctions": [conjunction_row()]})
    home.close()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.db*")}
    service = Service(tmp_path)
    service.conjunctions()
    service.words()
    service.objects()
    assert service.history()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.db*")} == before


def test_a_file_that_is_no_table_is_told_with_what_to_do(tmp_path: Path) -> None:
    place(tmp_path, "conjunctions").write_text("no database at all, but a text that is long enough to be looked at")
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        Service(tmp_path).conjunctions()


def test_several_may_look_at_once(home: ServiceHome, tmp_path: Path) -> None:
    home.batch({"progress": [progress_row(1, sources=[source_row()])]})
    service, counted = Service(tmp_path), []
    threads = [threading.Thread(target=lambda: counted.append(service.snapshot())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(each.pipeline_lags["radar"].counts) for each in counted] == [1] * 4


def test_dead_letters_are_counted_by_place_and_kind(home: ServiceHome, tmp_path: Path) -> None:
    home.bury("NotCatalogued", 3)
    seen = Service(tmp_path).snapshot()
    assert [(each.operator, each.kind, each.count) for each in seen.dead] == [("step:known", "NotCatalogued", 3)]
    assert seen.dead_letters == {"NotCatalogued": 3}


def test_an_alert_that_nobody_knows_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no alert"):
        Service(tmp_path).lineage("nothing")


@pytest.mark.req("OBS-07")
def test_the_way_into_fusion_says_what_was_passed_captured_shed_and_judged(home: ServiceHome, tmp_path: Path) -> None:
    log = str(UUID(int=7))
    silent = heartbeat(SourceKind.RADAR, "radar-1", through_ns=NOON_NS, now_ns=NOON_NS)
    for number in range(1, 5):
        land(home.inbox("obs.radar-1"), silent, SiftedPosition(log, 3 * number, 2 * number))
    land(home.inbox("obs.isl"), silent, LogPosition(log, 1))
    home.batch({"progress": [progress_row(1)]}, ends={"obs.radar-1": 3})
    home.inbox("obs.radar-1").append(
        events_of(from_observations([]), "obs.radar-1"), position=SiftedPosition(log, 20, 16)
    )
    feeds = {feed.log: feed for feed in Service(tmp_path).snapshot().feeds}
    radar = feeds["obs.radar-1"]
    assert (radar.passed, radar.captured, radar.shed, radar.judged, radar.waiting) == (20, 4, 16, 3, 1)
    assert (feeds["obs.isl"].passed, feeds["obs.isl"].shed, feeds["obs.isl"].waiting) == (1, 0, 1)


@pytest.mark.req("OBS-07")
def test_events_that_were_given_to_fusion_again_are_not_dead_any_more(home: ServiceHome) -> None:
    home.bury("NotCatalogued", 3)
    home.bury("Rejected", 2, stage="sink:words")
    place_of_dead = Layout(home.home.pipeline).dead_letters
    assert given_up(place_of_dead).of_steps == 3, "rows that a table refused are no events"
    home.dead.mark(DeadLetterFilter(kinds=frozenset({"NotCatalogued"})), EntryState.REPROCESSED)
    assert given_up(place_of_dead).of_steps == 0
