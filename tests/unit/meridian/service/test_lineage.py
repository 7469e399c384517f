"""From an alert back to its observations: with words that fusion really said, and logs as the edge keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs, Watching
from tests.support.made_up_objects import EPOCH, made_up_objects
from tests.support.service_home import NOON_NS, ServiceHome, conjunction_row, word_row
from tests.support.watched_sky import SITES, WatchedSky

from holdfast.log import Inbox, InboxReader
from holdfast.model.positions import Seq
from meridian.fusion.outputs import ALERTS
from meridian.fusion.resolution import Resolution
from meridian.fusion.spark import seen_in
from meridian.fusion.windows import SECOND, Windows
from meridian.operation.catalog import write_elements
from meridian.operation.home import Home
from meridian.orbit.sites import look
from meridian.sensors import ObservationColumns, Row, SourceKind, columns_of, events_of
from meridian.sensors.events import raw_events
from meridian.sensors.identity import id_texts
from meridian.service import reading
from meridian.service.lineage import lineage_of
from meridian.service.service import Service
from meridian.service.tracing import Traced, digest_of, picked
from meridian.service.values import WordSaid

LOGS = {SourceKind.RADAR: "obs.radar-1", SourceKind.OPTICAL: "obs.optical", SourceKind.INTER_SATELLITE_LINK: "obs.isl"}


@dataclass
class World:
    """Words with the observations that were there when each was said; a word that takes one back is from the same."""

    home: ServiceHome
    said: list[tuple[WordSaid, ObservationColumns]]

    def expected(self, word: WordSaid, there: ObservationColumns, name: str) -> list[str]:
        times = there.records["sensor_ts_ns"]
        of = np.array(there.object_ids.to_pylist()) == name
        inside = (times >= word.window_end_ns - 2 * Windows().size) & (times < word.window_end_ns)
        chosen = of & inside & (there.records["row"] == Row.OBSERVATION)
        return sorted(id_texts(there.records["observation_id"][chosen]).to_pylist())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One pair, watched for minutes, in small batches: most words are early ones, and are corrected."""
    pairs = Pairs(count=1)
    home, parts, events = ServiceHome(tmp_path_factory.mktemp("home")), pairs(), Watching(pairs).events
    state, said, there = parts.before_anything, list[tuple[WordSaid, ObservationColumns]](), {}
    for start in range(0, events.num_rows, 25):
        seen = seen_in([events.slice(start, 25)], parts.contributions)
        state, news = state.after(seen)
        made = {output.table: table for output, table in parts.rows.of(state, news, seen.figures, state_bytes=1)}
        rows = made[ALERTS.table].to_pylist() if ALERTS.table in made else []
        home.batch({ALERTS.table: rows})
        for word in map(reading.word, rows):
            there.setdefault((word.alert_id, word.sequence), columns_of(events.slice(0, start + 25)))
            said.append((word, there[word.alert_id, word.sequence]))
    everything = columns_of(events)
    for kind, log in LOGS.items():
        _append(home.edge_log(log), everything.where(everything.records["kind"] == kind))
    raw = home.edge_log("raw.radar-1")
    raw.append(raw_events(b"frames", "raw.radar-1", now_ns=EPOCH), position=Seq(1))
    yield World(home, said)
    home.close()


def _append(log: Inbox, columns: ObservationColumns, size: int = 7) -> None:
    events = events_of(columns, log.name)
    for start in range(0, len(columns), size):
        log.append(events.slice(start, size), position=Seq(start + size))


def ids(found: Sequence[Traced]) -> list[str]:
    return sorted(each.observation_id for each in found)


@pytest.mark.req("OBS-04")
def test_every_word_comes_back_to_the_observations_it_was_said_from(world: World) -> None:
    assert len(world.said) > 10
    assert any(word.is_early for word, _ in world.said)
    assert not all(word.is_early for word, _ in world.said)
    for word, there in world.said:
        lineage = lineage_of(word, world.home.home)
        assert lineage.is_complete
        for evidence in lineage.evidence:
            assert ids(evidence.observations) == world.expected(word, there, evidence.object_id)
            assert len(evidence.observations) == evidence.expected


@pytest.mark.req("OBS-04")
def test_each_observation_is_told_with_its_sensor_and_its_place_in_a_log(world: World) -> None:
    word, _ = world.said[-1]
    lineage = Service(world.home.home.directory).lineage(word.alert_id)
    traced = [each for evidence in lineage.evidence for each in evidence.observations]
    assert {each.log for each in traced} == set(LOGS.values())
    for each in traced:
        assert each.source_id.startswith(each.log.removeprefix("obs.").partition("-")[0])
        assert id_at(world.home.home.edge / each.log, each.seq) == each.observation_id
        assert each.is_raw_kept == (each.log == "obs.radar-1")
    text = str(lineage)
    assert all(each.observation_id in text and f"{each.log} {each.seq}" in text for each in traced)
    assert "verified by their digest" in text


def id_at(log: Path, seq: int) -> str:
    with InboxReader.open(log) as reader:
        (event,) = reader.read(seq - 1, seq)
    found: str = event["event_id"][0].as_py()
    return found


@pytest.mark.req("OBS-04")
def test_what_does_not_add_up_to_the_digest_is_not_taken_for_the_truth(world: World) -> None:
    word, _ = world.said[-1]
    lineage = lineage_of(replace(word, digests=(word.digests[0] ^ 1, word.digests[1])), world.home.home)
    first, second = lineage.evidence
    assert (first.is_verified, second.is_verified, lineage.is_complete) == (False, True, False)
    assert "cannot be told" in str(lineage)


@pytest.mark.req("OBS-04")
def test_what_a_log_has_forgotten_is_named(world: World, tmp_path: Path) -> None:
    word, there = world.said[-1]
    home = Home(tmp_path)
    for log in LOGS.values():
        kind = next(kind for kind, name in LOGS.items() if name == log)
        made = Inbox.open(home.edge / log, name=log, epoch=1)
        _append(made, there.where(there.records["kind"] == kind))
        if log == "obs.radar-1":
            made.set_cursor("fusion", made.end())
            made.trim()
            assert made.end() > 0
        made.close()
    lineage = lineage_of(word, home)
    assert not lineage.is_complete
    for evidence in lineage.evidence:
        assert "obs.radar-1 has forgotten its events before" in evidence.missing
        assert {each.log for each in evidence.observations} == {"obs.optical", "obs.isl"}


@pytest.mark.req("OBS-04")
def test_without_logs_it_says_so(world: World, tmp_path: Path) -> None:
    lineage = lineage_of(world.said[-1][0], Home(tmp_path))
    assert [each.missing for each in lineage.evidence] == ["The edge has no logs here."] * 2


def visible(sky: WatchedSky, sensor: str, objects: int) -> ObservationColumns:
    """What one telescope sees during a minute, without names."""
    everything, seen = np.arange(objects), list[ObservationColumns]()
    for time in (WINDOW_END + np.arange(-58, 0, 4) * SECOND).tolist():
        states = sky.real.states(everything, np.full(objects, time))
        looked = look(SITES[sensor], states[:, None, :3], states[:, None, 3:], np.array([time]))
        for number in np.flatnonzero(looked.elevation_rad[:, 0] > 0.3).tolist():
            seen.append(sky.seen(np.array([time]), np.array([number]), only="optical"))
    records = np.concatenate([each.records for each in seen])
    return ObservationColumns(records, pa.array([sensor] * len(seen)), pa.nulls(len(seen), pa.string()))


WINDOW_END = (EPOCH // (30 * SECOND) + 3) * 30 * SECOND


@pytest.mark.req("OBS-04")
def test_what_telescopes_saw_without_a_name_is_named_as_fusion_names_it(tmp_path: Path) -> None:
    catalog = made_up_objects(150, seed=8)
    sky = WatchedSky.off(catalog, catalog)
    seen = visible(sky, "optical-0", len(catalog))
    numbers = replace(sky.contributions, resolution=Resolution(sky.references)).numbers(seen)
    first, second = np.argsort(-np.bincount(numbers[numbers >= 0], minlength=len(catalog)))[:2].tolist()
    home = ServiceHome(tmp_path)
    write_elements(home.home.catalog, catalog)
    home.home.document_file.write_text(
        "".join(
            f"[sites.{name}]\nlatitude_deg = {site.latitude_deg}\nlongitude_deg = {site.longitude_deg}\n"
            f"height_m = {site.height_m}\n"
            for name, site in SITES.items()
        )
    )
    _append(home.edge_log("obs.optical"), seen)
    home.close()
    chosen = [seen.where(numbers == number) for number in (first, second)]
    assert min(map(len, chosen)) > 3
    word = replace(
        reading.word(word_row()),
        object_a=sky.names[first],
        object_b=sky.names[second],
        window_end_ns=WINDOW_END,
        observed=(len(chosen[0]), len(chosen[1])),
        digests=(int(chosen[0].digests().sum()), int(chosen[1].digests().sum())),
    )
    lineage = lineage_of(word, home.home)
    assert lineage.is_complete
    assert [ids(each.observations) for each in lineage.evidence] == [sorted(each.keys()) for each in chosen]


def traced(log: str, seq: int, came: int) -> Traced:
    return Traced(
        observation_id=f"{seq * 7919 + len(log):032x}"[::-1],
        source_id="radar-1",
        object_id="90001",
        sensor_ts_ns=NOON_NS,
        ingest_ts_ns=NOON_NS + came,
        log=log,
        seq=seq,
    )


@pytest.mark.req("OBS-04")
def test_logs_that_were_read_unevenly_far_are_cut_where_the_digest_says() -> None:
    radar, beacons = (
        [traced("obs.radar-1", seq, seq) for seq in range(9)],
        [traced("obs.isl-", seq, seq) for seq in range(9)],
    )
    wanted = [*beacons[:2], *radar[:7]]
    found = picked([*radar, *beacons], 9, digest_of(wanted))
    assert found is not None
    assert ids(found) == ids(wanted)
    assert picked([*radar, *beacons], 9, digest_of(wanted) + 1) is None
    assert picked([], 3, 5) is None
    assert picked([], 0, 0) == []


def test_a_conjunction_stands_for_the_alert_of_its_newest_window(tmp_path: Path) -> None:
    home = ServiceHome(tmp_path)
    home.batch({"conjunctions": [conjunction_row()], "alerts": [word_row(0), word_row(1, window_end_ns=NOON_NS + 30)]})
    home.close()
    assert Service(tmp_path).lineage("c0").word.alert_id == "a1"
