"""What is said about a pipeline's health, picture by picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.snapshots import WELL, at, dead, lane, source

from holdfast.control.health import Alarm, Level, judge
from holdfast.control.snapshot import SparkView

if TYPE_CHECKING:
    from holdfast.control.snapshot import Snapshot


def alarms(*pictures: Snapshot) -> set[Alarm]:
    return {finding.alarm for finding in judge(pictures).findings if finding.alarm is not None}


def test_a_pipeline_that_is_well_is_ready_and_nothing_is_found() -> None:
    health = judge([WELL])
    assert (health.level, health.ready, health.findings) == (Level.OK, True, ())
    assert set(health.components) >= {"pipeline", "spark", "checkpoint", "source orders", "sink table"}


@pytest.mark.parametrize(
    ("picture", "component", "level", "ready"),
    [
        (at(0, lanes=lane(state="frozen", error="down")), "sink table", Level.FAILING, False),
        (at(0, lanes=lane(state="frozen", error="down", required=False)), "sink table", Level.DEGRADED, True),
        (at(0, lanes=lane(state="stopped", error="auth")), "sink table", Level.FAILING, False),
        (at(0, lanes=lane(state="ended", error="of an hour ago")), "sink table", Level.OK, True),
        (at(0, sources=source(unacknowledged="gone")), "source orders", Level.DEGRADED, True),
        (at(0, lanes=lane(state="retrying", error="slow")), "sink table", Level.DEGRADED, True),
        (at(0, lanes=lane(state="catching up")), "sink table", Level.OK, True),
        (at(0, sources=source(state="retrying", error="gone")), "source orders", Level.FAILING, False),
        (at(0, sources=source(state="blocked")), "source orders", Level.FAILING, False),
        (at(0, sources=source(silent=31.0, is_stalled=True)), "source orders", Level.FAILING, False),
        (at(0, sources=source(silent=29.0)), "source orders", Level.OK, True),
        (at(0, sources=source(nbytes=900, waiting_bytes=900)), "source orders", Level.DEGRADED, True),
        (at(0, sources=source(state="finished")), "source orders", Level.OK, True),
        (at(0, state="paused"), "pipeline", Level.DEGRADED, False),
        (at(0, state="failed", error="why"), "pipeline", Level.DOWN, False),
        (at(0, state="stopped"), "pipeline", Level.DOWN, False),
        (at(0, trouble="no room"), "checkpoint", Level.FAILING, False),
        (at(0, dead_letters=dead(1000, 1000)), "dead letters", Level.FAILING, False),
        (at(0, dead_letters=dead(1000, 1000, "drop_oldest")), "dead letters", Level.DEGRADED, True),
        (at(0, dead_letters=dead(800, 800)), "dead letters", Level.DEGRADED, True),
        (at(0, disk_free=0), "disk", Level.FAILING, False),
        (at(0, disk_free=1 << 20), "disk", Level.DEGRADED, True),
        (at(0, disk_free=1 << 20, disk_headroom=(1 << 20) + 1), "disk", Level.FAILING, False),
        (at(0, spark=SparkView(False, None, 0, 0)), "spark", Level.DEGRADED, False),
        (at(0, spark=SparkView(False, 4, 2, 0)), "spark", Level.FAILING, False),
    ],
)
def test_each_trouble_is_told_of_its_component(picture: Snapshot, component: str, level: Level, ready: bool) -> None:
    health = judge([picture])
    assert (health.components[component], health.level, health.ready) == (level, level, ready)
    assert all(finding.cause and finding.remedy for finding in health.findings)


def test_a_whole_is_as_bad_as_the_worst_of_its_parts() -> None:
    health = judge([at(0, sources=source(nbytes=900, waiting_bytes=900), lanes=lane(state="frozen", error="down"))])
    assert health.level is Level.FAILING
    assert [finding.level for finding in health.findings] == [Level.FAILING, Level.DEGRADED]


@pytest.mark.req("K11")
def test_cursors_that_are_not_written_for_twice_the_cadence_raise_an_alarm() -> None:
    late = replace(WELL.checkpoint, is_durable=False)
    quiet = at(0)
    assert Alarm.CHECKPOINT_AGE not in alarms(quiet, at(600, checkpoint=late)), "new after a quiet time"
    assert Alarm.CHECKPOINT_AGE not in alarms(quiet, at(1, checkpoint=late), at(3, checkpoint=late))
    stuck = [quiet, at(1, checkpoint=late), at(2, checkpoint=late), at(3.1, checkpoint=late)]
    assert Alarm.CHECKPOINT_AGE in alarms(*stuck)
    assert Alarm.CHECKPOINT_AGE not in alarms(*stuck, at(4, checkpoint=replace(late, version=10)))


@pytest.mark.req("K11")
def test_dead_letters_that_come_ten_times_as_fast_as_before_raise_an_alarm() -> None:
    calm = [at(second, dead_letters=dead(second)) for second in range(61)]
    assert Alarm.DEAD_LETTER_RATE not in alarms(*calm)
    nearly = [*calm, *(at(60 + n, dead_letters=dead(60 + 9 * n)) for n in range(1, 11))]
    assert Alarm.DEAD_LETTER_RATE not in alarms(*nearly)
    surge = [*calm, *(at(60 + n, dead_letters=dead(60 + 11 * n)) for n in range(1, 11))]
    assert Alarm.DEAD_LETTER_RATE in alarms(*surge)
    over = [*surge, *(at(70 + n, dead_letters=dead(170)) for n in range(1, 12))]
    assert Alarm.DEAD_LETTER_RATE not in alarms(*over)


@pytest.mark.req("FLW-12")
def test_an_inbox_full_of_what_was_processed_is_near_no_quota() -> None:
    """It is kept for as long as nobody needs the room, and says nothing about whether processing keeps up."""
    assert alarms(at(0, sources=source(nbytes=990))) == set()
    assert alarms(at(0, sources=source(nbytes=990, waiting=3, waiting_bytes=799))) == set()
    assert alarms(at(0, sources=source(nbytes=990, waiting=3, waiting_bytes=800))) == {Alarm.QUOTA_NEAR}


def test_a_single_dead_letter_is_no_surge() -> None:
    assert alarms(*(at(second, dead_letters=dead(int(second == 20))) for second in range(21))) == set()


@pytest.mark.req("FLW-12")
def test_no_batch_while_events_wait_is_a_stall_unless_it_is_paused_or_full() -> None:
    waiting = source(waiting=7, age=40.0)
    assert Alarm.PROCESSING_STALLED in alarms(at(0, sources=waiting), at(31, sources=waiting))
    assert Alarm.PROCESSING_STALLED not in alarms(at(0, sources=waiting), at(29, sources=waiting))
    moved = replace(WELL.outbox, newest=6)
    assert Alarm.PROCESSING_STALLED not in alarms(at(0, sources=waiting), at(31, sources=waiting, outbox=moved))
    full = replace(WELL.outbox, nbytes=1000)
    held = alarms(at(0, sources=waiting, outbox=full), at(31, sources=waiting, outbox=full))
    assert held == {Alarm.QUOTA_NEAR}
    paused = at(31, sources=waiting, state="paused")
    assert alarms(at(0, sources=waiting, state="paused"), paused) == set()


class TestSparkWasLost:
    REASON = "Spark's JVM was killed by SIGKILL."

    def spark(self, *, active: bool, lost: int) -> SparkView:
        return replace(WELL.spark, active=active, restarts=max(lost, 1), lost_lately=lost, last_failure=self.REASON)

    def test_once_it_is_failing_until_it_is_up_again_and_the_reason_is_told(self) -> None:
        down = judge([at(0, spark=self.spark(active=False, lost=1))])
        assert (down.level, down.ready) == (Level.FAILING, False)
        assert [finding.cause for finding in down.findings] == [f"The query ended and is started again: {self.REASON}"]
        assert judge([at(0, spark=self.spark(active=True, lost=1))]).level is Level.OK

    @pytest.mark.parametrize(("active", "level"), [(True, Level.DEGRADED), (False, Level.FAILING)])
    def test_often_it_is_an_alarm_that_stays_while_spark_comes_and_goes(self, active: bool, level: Level) -> None:
        assert Alarm.SPARK_LOST not in alarms(at(0, spark=self.spark(active=active, lost=2)))
        found = judge([at(0, spark=self.spark(active=active, lost=3))])
        assert [finding.alarm for finding in found.findings] == [Alarm.SPARK_LOST]
        assert found.level is level
        assert found.findings[0].cause.endswith(f"3 times within ten minutes. The last time: {self.REASON}")
