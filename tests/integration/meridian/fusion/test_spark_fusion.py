"""Fusion in real Spark: killed in the middle of things, every alert is there once, and says what a batch would say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.fusion_pipeline import Pairs, batch_answer, history, pipeline, stored
from tests.support.spark_pipelines import run

from holdfast.model.steps import Step

ROOT = Path(__file__).resolve().parents[4]

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(400)]


def killed_at(directory: Path, step: Step, nth: int) -> None:
    command = [sys.executable, "-m", "tests.support.fusion_pipeline", str(directory), step, str(nth)]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        assert process.wait(300) == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def check_exactly_once(directory: Path) -> None:
    """Every word is there once, in order, and the last ones are those of one batch over everything."""
    words = list(history(directory))
    assert max(Counter(words).values()) == 1
    for alert in {word[0] for word in words}:
        of_it = [(sequence, kind) for name, sequence, kind, _ in words if name == alert]
        told = [(sequence, kind) for sequence in range(len(of_it)) for kind in ("insert", "retract")]
        assert of_it == told[: len(of_it)]
    assert stored(directory) == batch_answer(Pairs())


@pytest.mark.req("LAT-06")
def test_what_spark_says_in_small_batches_is_what_one_batch_says(tmp_path: Path) -> None:
    run(pipeline(tmp_path), patience=300)
    check_exactly_once(tmp_path)
    assert len(stored(tmp_path)) > 10
    assert any(kind == "retract" for _, _, kind, _ in history(tmp_path)), "something was told early and corrected"


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
def test_a_kill_loses_and_repeats_no_alert(tmp_path: Path, step: Step, nth: int) -> None:
    killed_at(tmp_path, step, nth)
    run(pipeline(tmp_path), patience=300)
    check_exactly_once(tmp_path)
