"""Fusion in real Spark: killed in the middle of things, every alert is there once, and says what a batch would say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.crash.alert_witness import Findings, reconciled
from tests.support.fusion_pipeline import Pairs, Watching, batch_answer, pipeline
from tests.support.spark_pipelines import run
from tests.support.subscribers import Subscriber

from holdfast.model.steps import Step
from meridian.fusion.subscriber.lane import alerts_to

ROOT = Path(__file__).resolve().parents[4]

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(400)]


def killed_at(directory: Path, subscriber: Subscriber, step: Step, nth: int) -> None:
    command = [sys.executable, "-m", "tests.support.fusion_pipeline", str(directory), subscriber.url, step, str(nth)]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        assert process.wait(300) == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def check_exactly_once(directory: Path, subscriber: Subscriber) -> Findings:
    """By a witness from outside: every word is there once and acted on once, and the last are those of one batch."""
    subscriber.signal(signal.SIGTERM)
    found = reconciled(directory, subscriber.book, subscriber.printed, batch_answer(Watching(Pairs())))
    assert found.complaints == []
    return found


@pytest.mark.req("LAT-06")
def test_what_spark_says_in_small_batches_is_what_one_batch_says(tmp_path: Path, subscriber: Subscriber) -> None:
    run(pipeline(tmp_path, alerts_to(subscriber.url)), patience=300)
    found = check_exactly_once(tmp_path, subscriber)
    assert len({alert for alert, _, _ in found.words}) > 10
    assert found.retractions, "something was told early and corrected"


@pytest.mark.parametrize(
    ("step", "nth"),
    [
        pytest.param(Step.OUTBOX_PUBLISH, 3, marks=pytest.mark.req("DLV-11")),
        pytest.param(Step.SPARK_COMMIT_FSYNC, 3, marks=pytest.mark.req("DLV-12")),
        pytest.param(Step.SINK_COMMIT, 5, marks=pytest.mark.req("DLV-13")),
    ],
    ids=["mid-process", "mid-checkpoint", "mid-emit"],
)
@pytest.mark.req("LAT-09", "DLV-16")
def test_a_kill_loses_and_repeats_no_alert(tmp_path: Path, subscriber: Subscriber, step: Step, nth: int) -> None:
    killed_at(tmp_path, subscriber, step, nth)
    run(pipeline(tmp_path, alerts_to(subscriber.url)), patience=300)
    check_exactly_once(tmp_path, subscriber)
