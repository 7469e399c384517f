"""Dead letters of an edge: durable before anything moves past them, bounded in number and age, and nobody else's."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.sensor_logs import Logs

from holdfast.log import DeadLetterEntry, DeadLetterLog, Fate
from holdfast.model.errors import LogFull, PipelineBusy
from meridian.sensors import ErrorKind, Refusal, Screened, SourceKind, Taken
from meridian.sensors.landing import dead_letter
from meridian.sensors.letters import LIMITS, LetterUpkeep, owned
from meridian.sensors.optical_record import no_records

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def letter(number: int, *, age: timedelta = timedelta(0)) -> DeadLetterEntry:
    refusal = Refusal(ErrorKind.DESERIALIZATION, "it means nothing", bytes([number]))
    return dead_letter(refusal, "obs.radar-1", round((NOON - age).timestamp() * 1e9))


class Time:
    """Passes by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.req("DLQ-07")
def test_letters_are_kept_for_thirty_days_and_what_goes_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with DeadLetterLog.open(tmp_path, epoch=1, limits=LIMITS, clock=lambda: NOON) as dead:
        dead.put([letter(1, age=timedelta(days=30, seconds=1)), letter(2, age=timedelta(days=30)), letter(3)])
        LetterUpkeep(dead).tend()
        assert [entry.payload for entry in dead.entries()] == [b"\2", b"\3"]
        assert dead.status().totals[Fate.EXPIRED] == 1
    assert "1 dead letters are gone: expired" in caplog.messages


@pytest.mark.req("DLQ-07")
def test_when_there_are_too_many_the_oldest_goes_and_that_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1, limits=replace(LIMITS, max_entries=2)) as dead:
        for number in (1, 2, 3):
            assert dead.put([letter(number)]) == 1, "no bad frame ever stops a good one"
        assert [entry.payload for entry in dead.entries()] == [b"\2", b"\3"]
    assert f"1 dead letters made room for newer ones: {letter(1).entry_id}" in caplog.messages


def test_letters_are_looked_through_now_and_then_and_not_at_each_call(tmp_path: Path) -> None:
    time = Time()
    with DeadLetterLog.open(tmp_path, epoch=1, limits=LIMITS, clock=lambda: NOON) as dead:
        upkeep = LetterUpkeep(dead, every=60.0, clock=time)
        upkeep.tend()
        dead.put([letter(1, age=timedelta(days=31))])
        time.now = 59.0
        upkeep.tend()
        assert dead.count() == 1
        time.now = 60.0
        upkeep.tend()
        assert dead.count() == 0


@pytest.mark.req("DLQ-01")
def test_the_mark_of_an_archive_does_not_pass_a_record_whose_letter_is_not_durable(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing = logs.landing(SourceKind.OPTICAL)
    refusal = Refusal(ErrorKind.VALIDATION_FAILED, "no such place", b"{}")
    flight = landing.flight(Taken(Screened(no_records(), (refusal,)), b"", 10**18, mark=5), 0.0)

    def no_room(*_: object, **__: object) -> int:
        raise LogFull("The disk is full.", remedy="Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(landing.dead, "put", no_room)
        (error,) = [leg.begin().exception() for leg in flight.legs]
    assert (type(error), landing.inbox.position()) == (LogFull, None)
    for leg in flight.legs:
        leg.begin().result()
    assert (str(landing.inbox.position()), [entry.payload for entry in landing.dead.entries()]) == ("5", [b"{}"])


def test_the_directory_of_an_edge_has_one_owner(tmp_path: Path) -> None:
    with owned(tmp_path), pytest.raises(PipelineBusy, match="runs the edge") as caught, owned(tmp_path):
        pass
    assert "Stop it" in caught.value.remedy
    with owned(tmp_path):
        pass
