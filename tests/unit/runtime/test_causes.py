"""What Spark says about a failed query tells whether events may be to blame; the texts are Spark's own."""

from __future__ import annotations

import pytest

from holdfast.model.errors import LogDamaged
from holdfast.runtime.causes import is_no_fault_of_data

WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "steps.py", line 27, in enrich
    raise it
{raised}
"""


class Captured(Exception):
    """An error as PySpark hands it on."""

    def __init__(self, text: str, condition: str | None = None) -> None:
        super().__init__(text)
        self._condition = condition

    def getCondition(self) -> str | None:  # noqa: N802 (Spark's name)
        return self._condition


def told(error: BaseException) -> str:
    """The last line of what it says, or what it is."""
    return (str(error) or type(error).__name__).strip().splitlines()[-1][:50]


@pytest.mark.req("K9")
@pytest.mark.parametrize(
    "error",
    [
        Captured(WORKER.format(raised="OSError: [Errno 28] No space left on device")),
        Captured(WORKER.format(raised="OSError: [Errno 24] Too many open files: 'x'")),
        Captured(WORKER.format(raised="MemoryError")),
        Captured(WORKER.format(raised="pyarrow.lib.ArrowMemoryError: malloc of size 1 failed")),
        Captured(WORKER.format(raised="ConnectionRefusedError: [Errno 111] Connection refused")),
        Captured(WORKER.format(raised="ModuleNotFoundError: No module named 'mine'")),
        Captured(WORKER.format(raised="holdfast.model.errors.LogDamaged: [HF-501] The bytes are others.")),
        Captured("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)"),
        Captured("Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)."),
        Captured("Job aborted due to stage failure: java.lang.OutOfMemoryError: Java heap space"),
        MemoryError(),
        LogDamaged("The bytes are others.", remedy="Restore them."),
    ],
    ids=told,
)
def test_the_machine_is_no_fault_of_events(error: BaseException) -> None:
    assert is_no_fault_of_data(error)


@pytest.mark.parametrize(
    "error",
    [
        Captured("[CAST_INVALID_INPUT] The value 'x' cannot be cast.", "CAST_INVALID_INPUT"),
        Captured("[CAST_INVALID_INPUT] The value 'No space left on device' cannot be cast.", "CAST_INVALID_INPUT"),
        Captured("[DIVIDE_BY_ZERO] Division by zero.", "DIVIDE_BY_ZERO"),
        Captured("[SOMETHING_NEW] Nobody knows.", "SOMETHING_NEW"),
        Captured(WORKER.format(raised="ValueError: no number")),
        Captured(WORKER.format(raised="FileNotFoundError: [Errno 2] No such file or directory: 'x'")),
        Captured(WORKER.format(raised="holdfast.model.errors.Poison: [HF-403] Never.")),
        ZeroDivisionError(),
    ],
    ids=told,
)
def test_what_may_be_the_fault_of_events_is_tried(error: BaseException) -> None:
    assert not is_no_fault_of_data(error)
