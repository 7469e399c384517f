"""Which observation had a word said, and from when it is that its delay is counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.fusion_pipeline import Pairs, Watching
from tests.support.straight_sky import StraightSky

from meridian.fusion.causes import Cause, causes_of
from meridian.fusion.correlator import Correlator
from meridian.fusion.emissions import Meeting
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.judging import Astronomer
from meridian.fusion.outputs import ALERTS, Output
from meridian.fusion.risk import ConjunctionRisk, Significance
from meridian.fusion.spark import seen_in
from meridian.fusion.state import Fusion, News, Seen
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows
from meridian.sensors import columns_of

SKY = StraightSky(np.array([[-7e6, 0, 0, 7000, 0, 0], [0, -7e6, 400, 0, 7000, 0], [9e8, 0, 0, 0, 0, 7000]], np.float64))
"""The first two pass each other after 1000 seconds, 400 metres apart; the third is far from both."""
WINDOW = Meeting(1, "object-000", "object-001")
"""What was seen in the first minute: the slices 0 and 1, of half a minute each."""


def seen(*observed: tuple[int, float], lag: float = 2.0, high: float = 0.0, until: float = 0.0) -> Seen:
    """Objects at times, which came in so many seconds later.

    :param high: so many metres above their place.
    """
    objects, times = np.array([each for each, _ in observed]), np.array([time for _, time in observed], np.float64)
    places = SKY.states[objects, :3] + times[:, None] * SKY.states[objects, 3:] + np.array([0.0, 0.0, high])
    evidence = SKY.evidence(times, objects, places, 5.0)
    received = evidence.newest + round(lag * SECOND)
    return Seen(replace(evidence, received=received), {"radar": Heard(round(until * SECOND))})


def closed(at: float) -> Seen:
    return Seen(heard={"radar": Heard(round(at * SECOND))})


def news_of(*batches: Seen) -> list[News]:
    judge, marks = Astronomer(SKY, 1000.0), Watermarks({"radar": 0})
    correlator: Correlator[ConjunctionRisk] = Correlator(Windows(), marks, Evidence.nothing(COLUMNS), judge)
    state, news = Fusion(correlator), []
    for batch in batches:
        state, new = state.after(batch)
        news.append(new)
    return news


def newest_of(news: News) -> list[float]:
    return [word.finding.newest / SECOND for word in news.words if word.meeting == WINDOW and not word.takes_back]


@pytest.mark.req("OBS-05")
def test_a_word_is_caused_by_the_newest_observation_of_its_pair_that_the_batch_brought() -> None:
    first, second = news_of(seen((0, 10), (2, 12)), seen((1, 20), (0, 15), (2, 22)))
    assert [word for word in first.words if word.meeting == WINDOW] == []
    assert second.causes[WINDOW] == Cause(20 * SECOND, 22 * SECOND)


@pytest.mark.req("OBS-05")
def test_what_a_late_record_corrects_is_counted_from_that_record_and_not_from_newer_ones_that_came_before() -> None:
    early, late = news_of(seen((0, 10), (1, 50)), seen((1, 20), lag=33.0, high=4.0))
    assert newest_of(early) == newest_of(late) == [50.0]
    assert late.causes[WINDOW] == Cause(20 * SECOND, 53 * SECOND)


@pytest.mark.req("OBS-05")
def test_a_word_that_the_watermark_alone_brings_has_no_cause_and_says_how_new_it_is() -> None:
    _, slight, end = news_of(seen((0, 10), (1, 20)), seen((1, 25), high=0.1), closed(61))
    assert newest_of(slight) == [], "what was said may stand while the window is open"
    assert newest_of(end) == [25.0]
    assert WINDOW not in end.causes


def test_what_was_seen_in_other_windows_or_of_other_objects_is_no_cause() -> None:
    fresh = seen((0, 61), (2, 20), (1, 95)).evidence
    assert causes_of([WINDOW], fresh, SKY) == {}
    assert causes_of([replace(WINDOW, window=2)], fresh, SKY) == {
        replace(WINDOW, window=2): Cause(61 * SECOND, 63 * SECOND)
    }


def test_that_something_newer_says_the_same_is_no_reason_to_say_it_again() -> None:
    ((word, *_), *_) = (news.words for news in news_of(seen((0, 10), (1, 20))))
    assert Significance().still(word.finding, replace(word.finding, newest=word.finding.newest + 30 * SECOND))


@pytest.mark.req("OBS-05")
def test_the_rows_of_words_say_their_batch_their_cause_and_how_new_they_are() -> None:
    pairs = Pairs(count=3)
    parts, events, told = pairs(), Watching(pairs).events, 0
    state, known = parts.before_anything, {None}
    for number, start in enumerate(range(0, events.num_rows, 120), 1):
        batch = events.slice(start, 120)
        seen_now = seen_in([batch], parts.contributions)
        state, news = state.after(seen_now)
        records = columns_of(batch).records
        came = set(zip(records["sensor_ts_ns"].tolist(), records["ingest_ts_ns"].tolist(), strict=True))
        known |= {made for made, _ in came}
        for row in _alerts(parts.rows.of(state, news, seen_now.figures, state_bytes=0)):
            told += 1
            assert row["batch"] == number
            assert row["newest_ns"] in known
            assert (row["caused_ns"], row["received_ns"]) in came | {(None, None)}
    assert told > 10


def test_an_alert_whose_probability_is_not_known_is_a_row_without_one_which_tables_can_hold() -> None:
    pairs = Pairs(count=3)
    parts = pairs()
    seen_now = seen_in([Watching(pairs).events], parts.contributions)
    state, news = parts.before_anything.after(seen_now)
    unknown = [replace(word, finding=replace(word.finding, probability=float("nan"))) for word in news.words]
    rows = _alerts(parts.rows.of(state, replace(news, words=unknown), seen_now.figures, state_bytes=0))
    assert len(rows) > 1
    assert {row["probability"] for row in rows} == {None}


def _alerts(made: Iterable[tuple[Output, pa.Table]]) -> list[dict[str, object]]:
    return [row for output, table in made if output is ALERTS for row in table.to_pylist()]
