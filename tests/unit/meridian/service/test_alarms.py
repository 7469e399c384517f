"""Each alarm is raised for its cause, is silent without it, and is over when the cause is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from meridian.service.accounts import Account, Accounts
from meridian.service.alarms import REMEDIES, RUNBOOK, alarms
from meridian.service.delays import Delay, Spread
from meridian.service.memory import Memory
from meridian.service.seen import DeadLetters, EdgeSeen, FeedSeen, Finding, PipelineSeen, SensorSeen, SinkSeen
from meridian.service.values import Alarm, Progress, Snapshot, SourceProgress

SECOND = 1_000_000_000
NOON = 1_773_489_600 * SECOND
ROOT = Path(__file__).resolve().parents[4]


def progress(seconds: float, **given: object) -> Progress:
    """A batch that was judged so many seconds after noon, with all sources half a minute behind."""
    at = NOON + round(seconds * SECOND)
    sources = [
        SourceProgress(source=name, watermark_ns=at - behind * SECOND)
        for name, behind in (("isl", 12), ("optical", 34), ("radar", 2))
    ]
    made = Progress(
        batch=round(seconds),
        at_ns=at,
        watermark_ns=at - 34 * SECOND,
        sources=sources,
        active=2,
        retained=1,
        taken=1000 + round(100 * seconds),
        late=0,
        dropped=0,
        closed=0,
        told=0,
        retracted=0,
        tracks=3,
        state_bytes=9,
        judged_ns=at,
    )
    return replace(made, **given)  # type: ignore[arg-type] # by the names of its fields


def sensor(source: str, seconds: float, **given: object) -> SensorSeen:
    behind = {"isl": 12, "optical": 34, "radar": 2}[source.partition("-")[0]]
    made = SensorSeen(
        source=source,
        network=source.partition("-")[0],
        watermark_ns=NOON + round((seconds - behind) * SECOND),
    )
    return replace(made, **given)  # type: ignore[arg-type] # by the names of its fields


def edge(seconds: float, **given: object) -> EdgeSeen:
    """All sources well, but for what is given of the radar."""
    return EdgeSeen(
        is_well=True,
        sensors=[sensor("radar-1", seconds, **given), sensor("optical", seconds), sensor("isl", seconds)],
    )


def seen(seconds: float, **given: object) -> Snapshot:
    """Everything well, so many seconds after noon."""
    made = Snapshot(
        at_ns=NOON + round(seconds * SECOND),
        progress=progress(seconds),
        conjunctions=(),
        words=(),
        objects=0,
        is_running=True,
        is_edge_asked=True,
        edge=edge(seconds),
        pipeline=PipelineSeen(state="running", uptime_s=seconds + 3600),
    )
    return replace(made, **given)  # type: ignore[arg-type] # by the names of its fields


def looked(pictures: Iterable[Snapshot]) -> list[list[Alarm]]:
    """The alarms at each of these looks."""
    memory, told = Memory(), []
    for picture in pictures:
        memory = memory.after(picture)
        told.append(alarms(picture, memory))
    return told


def names(pictures: Iterable[Snapshot]) -> list[list[str]]:
    return [[alarm.name for alarm in told] for told in looked(pictures)]


def test_there_is_no_alarm_while_all_is_well() -> None:
    assert names(seen(second) for second in range(0, 900, 5)) == [[]] * 180


def test_what_the_edge_raises_is_passed_on_until_it_is_over() -> None:
    raised = edge(5, alarms={"drops": "20 of 1020 were dropped.", "clock_ahead": "120 of 6000 were ahead."})
    told = looked([seen(0), seen(5, edge=raised), seen(10)])
    assert [[(each.name, each.says, each.about) for each in some] for some in told] == [
        [],
        [
            ("clock-ahead", "radar-1: 120 of 6000 were ahead.", "radar-1"),
            ("drops", "radar-1: 20 of 1020 were dropped.", "radar-1"),
        ],
        [],
    ]


def test_observations_that_come_too_late_are_an_alarm_for_a_minute() -> None:
    few = [seen(0), seen(5, progress=progress(5, dropped=4))]
    assert names(few) == [[], []], "four of five hundred"
    many = [seen(5 * look, progress=progress(5 * look, dropped=40 if look else 0)) for look in range(20)]
    told = names(many)
    assert told[1] == ["drops"]
    assert told[-1] == []


def test_a_source_that_ended_is_told_with_its_cause() -> None:
    ended = edge(5, is_alive=False, why="The log is full.")
    told = looked([seen(0), seen(5, edge=ended), seen(10)])
    assert [[(each.name, each.severity) for each in some] for some in told] == [[], [("source-ended", "critical")], []]
    assert told[1][0].says == "radar-1 takes nothing in any more: The log is full."


@pytest.mark.req("WMK-04")
def test_a_watermark_that_stays_behind_where_it_was_is_told_and_one_that_catches_up_is_not() -> None:
    back = [seen(0), *(seen(second, progress=progress(second - 500)) for second in range(5, 100, 5))]
    told = names([*back, seen(100)])
    assert not any("watermark-regressed" in some for some in told[:13])
    assert told[-2].count("watermark-regressed") == 4, "of all together and of each source"
    assert "watermark-regressed" not in told[-1]


def stalled(until: int, source: str, *, at_edge: bool) -> list[Snapshot]:
    """One network stands still from the beginning, in fusion, and at the edge too or not."""
    pictures = []
    for second in range(0, until, 5):
        moving = progress(second)
        sources = [
            replace(each, watermark_ns=NOON - 40 * SECOND) if each.source == source else each for each in moving.sources
        ]
        still = [
            replace(each, watermark_ns=NOON - 40 * SECOND) if at_edge and each.network == source else each
            for each in edge(second).sensors
        ]
        pictures.append(
            seen(
                second,
                progress=replace(moving, watermark_ns=NOON - 40 * SECOND, sources=sources),
                edge=EdgeSeen(is_well=True, sensors=still),
                feeds=[FeedSeen(log="obs.optical", passed=70, captured=70, judged=63)],
            )
        )
    return pictures


@pytest.mark.req("WMK-07")
def test_a_source_that_brings_nothing_newer_is_named_after_a_minute() -> None:
    told = looked([*stalled(100, "optical", at_edge=True), seen(100)])
    assert not any(each.name == "watermark-stalled" for some in told[:13] for each in some)
    (alarm,) = (each for each in told[-2] if each.name == "watermark-stalled")
    assert alarm.about == "optical"
    assert "source-side. optical has brought nothing newer" in alarm.says
    assert "pipeline-side" not in alarm.says
    assert not any(each.name == "watermark-stalled" for each in told[-1])


@pytest.mark.req("WMK-07")
def test_what_is_at_the_edge_and_not_judged_is_the_fault_of_the_pipeline() -> None:
    told = looked(stalled(100, "optical", at_edge=False))
    (alarm,) = (each for each in told[-1] if each.name == "watermark-stalled")
    assert "pipeline-side. At the edge optical is 101 s further" in alarm.says
    assert "7 events wait" in alarm.says
    assert "source-side" not in alarm.says


@pytest.mark.req("WMK-07")
def test_a_source_that_was_never_heard_is_named() -> None:
    unheard = []
    for picture in stalled(100, "isl", at_edge=True):
        assert picture.progress is not None
        assert picture.edge is not None
        sources = [
            replace(each, watermark_ns=None if each.source == "isl" else NOON) for each in picture.progress.sources
        ]
        sensors = [replace(each, watermark_ns=None if each.network == "isl" else NOON) for each in picture.edge.sensors]
        silent = replace(picture.progress, watermark_ns=None, sources=sources)
        unheard.append(replace(picture, progress=silent, edge=EdgeSeen(is_well=True, sensors=sensors)))
    (alarm,) = (each for each in looked(unheard)[-1] if each.name == "watermark-stalled")
    assert "source-side. isl was never heard." in alarm.says


def test_a_window_that_is_kept_for_two_minutes_too_long_is_told() -> None:
    behind = progress(5, watermark_ns=NOON - 200 * SECOND)
    empty = replace(behind, active=0, retained=0)
    told = names([seen(0), seen(5, progress=behind), seen(10)])
    assert "eviction-late" in told[1]
    assert "eviction-late" not in told[0] + told[2]
    assert "eviction-late" not in names([seen(5, progress=empty)])[0]


@pytest.mark.req("CKP-06")
def test_a_state_that_was_not_written_for_two_cadences_is_told_while_something_waits() -> None:
    waiting = [FeedSeen(log="obs.isl", passed=9, captured=9, judged=4)]
    old = progress(0)
    assert "checkpoint-old" not in names([seen(60, progress=old, feeds=waiting)])[0]
    told = names([seen(61, progress=old, feeds=waiting), seen(62, feeds=waiting)])
    assert "checkpoint-old" in told[0]
    assert "checkpoint-old" not in told[1]
    assert "checkpoint-old" not in names([seen(61, progress=old)])[0], "there is nothing to write"


def letters(second: int, kind: str, before: float, after: float, since: int, until: int) -> list[DeadLetters]:
    """So many a minute before a time, so many from then on, and again as before in the end."""
    fast = min(max(second - since, 0), until - since)
    count = (before * (second - fast) + after * fast) / 60
    return [DeadLetters("edge:obs.radar-1", kind, int(count)), DeadLetters("step:known", "NotCatalogued", second // 60)]


@pytest.mark.req("DLQ-06")
def test_a_surge_of_dead_letters_is_told_after_five_minutes_with_its_kind_and_place() -> None:
    pictures = [
        seen(second, dead=letters(second, "Deserialization", 2, 80, since=1200, until=1800))
        for second in range(0, 2000, 5)
    ]
    told = dict(zip(range(0, 2000, 5), looked(pictures), strict=True))
    raised = [second for second, some in told.items() if any(each.name == "dead-letters" for each in some)]
    assert 1500 < raised[0] <= 1575, "a rate is over a minute, and lasts for five"
    assert 1800 <= raised[-1] <= 1860
    (alarm,) = told[1700]
    assert alarm.about == "Deserialization"
    assert "mostly Deserialization at edge:obs.radar-1" in alarm.says
    assert alarm.says.startswith("80 dead letters a minute")


@pytest.mark.req("DLQ-06")
def test_a_surge_of_nine_times_the_usual_or_of_four_minutes_is_none() -> None:
    for after, until in ((18, 3000), (80, 1440)):
        pictures = [
            seen(second, dead=letters(second, "Deserialization", 2, after, since=1200, until=until))
            for second in range(0, 2000, 5)
        ]
        assert not any(names(pictures))


@pytest.mark.req("DLQ-06")
def test_each_kind_has_a_rate_below_which_nothing_is_a_surge() -> None:
    def pictures(kind: str) -> list[Snapshot]:
        return [seen(second, dead=letters(second, kind, 0, 5, since=600, until=2000)) for second in range(0, 1500, 5)]

    assert "dead-letters" in names(pictures("Deserialization"))[-1]
    assert "dead-letters" not in names(pictures("ValidationFailed"))[-1]


def test_a_consumer_that_is_far_behind_is_told_with_its_log() -> None:
    told = looked([seen(0), seen(5, edge=edge(5, consumer_lag={"fusion": 50_001})), seen(10)])
    assert [[each.says for each in some] for some in told] == [[], ["fusion is 50,001 events behind obs.radar-1."], []]
    assert names([seen(0, edge=edge(0, consumer_lag={"fusion": 50_000}))]) == [[]]


def test_a_query_that_fell_and_was_started_again_is_told_for_a_while() -> None:
    fallen = PipelineSeen(state="running", restarts=1)
    told = names([seen(0), seen(5, pipeline=fallen), seen(300, pipeline=fallen), seen(306, pipeline=fallen)])
    assert told == [[], ["operator-crashed"], ["operator-crashed"], []]
    assert names([seen(0, pipeline=fallen)]) == [[]], "it may be long ago"


def test_a_fusion_that_is_gone_is_told_and_one_that_was_stopped_in_order_is_not() -> None:
    gone = {"pipeline": None, "is_running": False}
    assert names([seen(0), seen(5, **gone), seen(10)]) == [[], ["fusion-down"], []]
    drained = seen(5, pipeline=PipelineSeen(state="draining"))
    assert names([seen(0), drained, seen(10, **gone)]) == [[], [], []]
    assert names([seen(0, **gone)]) == [[]], "it may not have been started"


def test_an_edge_that_does_not_answer_is_told_when_somebody_asks_it() -> None:
    assert names([seen(0), seen(5, edge=None), seen(10)]) == [[], ["edge-silent"], []]
    assert names([seen(5, edge=None, is_edge_asked=False)]) == [[]]


def test_what_the_pipeline_raises_is_passed_on() -> None:
    finding = Finding("disk-full", "disk", "10 bytes are free.", "Make room.")
    told = looked([seen(0), seen(5, pipeline=PipelineSeen(state="running", findings=[finding])), seen(10)])
    assert [[(each.name, each.about) for each in some] for some in told] == [
        [],
        [("pipeline", "disk-full of disk")],
        [],
    ]
    assert told[1][0].says == "disk: 10 bytes are free. Make room."


@pytest.mark.parametrize(("uptime", "raised"), [(5.0, []), (59.0, []), (121.0, ["checkpoint-old", "eviction-late"])])
def test_time_in_which_fusion_was_down_makes_neither_its_state_old_nor_its_windows_late(
    uptime: float, raised: list[str]
) -> None:
    """It was killed ten minutes ago, and has not done a batch since it was started again."""
    waiting = [FeedSeen(log="obs.radar-1", captured=10)]
    pipeline = PipelineSeen(state="running", uptime_s=uptime)
    told = names([seen(600, progress=progress(0), feeds=waiting, pipeline=pipeline)])
    assert [[name for name in some if name in ("checkpoint-old", "eviction-late")] for some in told] == [raised]


@pytest.mark.req("OBS-05")
def test_alerts_that_take_more_than_half_a_minute_are_told() -> None:
    slow, fast = Spread(4.0, 41.0, 43.0), Spread(4.0, 29.0, 31.0)
    late = Delay(words=400, within=395, whole=slow, source=Spread(p99_s=38.0), pipeline=Spread(p99_s=3.0))
    told = looked([seen(0), seen(5, delay=late), seen(10, delay=Delay(words=400, within=399, whole=fast))])
    assert [[each.name for each in some] for some in told] == [[], ["alerts-late"], []]
    assert "5 of 400 words" in told[1][0].says
    assert "38 s until it came in and 3 s from then on" in told[1][0].says
    waiting = PipelineSeen(state="running", sinks=[SinkSeen(sink="words", state="frozen", lag_batches=2, age_s=31.0)])
    assert names([seen(0, pipeline=waiting)]) == [["alerts-late"]]


@pytest.mark.req("OBS-07")
def test_observations_that_are_nowhere_are_told() -> None:
    lost = Accounts({"radar-1": Account(10, {"durable": 7}, under_way=1)})
    told = looked([seen(0), seen(5, accounts=lost), seen(10)])
    assert [[each.name for each in some] for some in told] == [[], ["unaccounted"], []]
    assert told[1][0].says == "radar-1: 2 of 10 observations are nowhere (7 durable)."


@pytest.mark.req("OBS-03")
def test_every_alarm_names_a_section_of_the_runbook() -> None:
    page = (ROOT / RUNBOOK).read_text()
    sections = re.findall(r"^## `(\S+)`$", page, re.MULTILINE)
    assert sorted(sections) == sorted(REMEDIES)
    (alarm,) = looked([seen(0, edge=edge(0, is_alive=False))])[0]
    assert alarm.remedy.endswith(f"See {RUNBOOK}#source-ended.")
