"""What Spark tells of a disk without room is told from what merely speaks of one."""

from __future__ import annotations

import pytest

from holdfast.runtime.causes import is_for_want_of_disk

FROM_A_TASK = """Job aborted due to stage failure: Task 0 in stage 5.0 failed, most recent failure: Lost task 0.0:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "parts.py", line 61, in write_part
    raise disk_error(error, path) from error
holdfast.model.errors.LogFull: [HF-503] The disk under part-1 is full. Nothing was changed. Make room.
"""
FROM_THE_JVM = """Query orders terminated with exception: No space left on device
java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
A_CAUSE = """Query orders terminated with exception: Job aborted
Caused by: java.io.IOException: No space left on device
"""
FROM_A_STEP = """Traceback (most recent call last):
OSError: [Errno 28] No space left on device: 'cache'
"""
OF_AN_EVENT = """Traceback (most recent call last):
ValueError: cannot parse 'java.io.IOException: No space left on device'
"""
OF_A_FILE = """Traceback (most recent call last):
OSError: [Errno 2] No such file or directory: 'table'
"""


@pytest.mark.parametrize("text", [FROM_A_TASK, FROM_THE_JVM, A_CAUSE, FROM_A_STEP])
def test_a_full_disk_is_recognised(text: str) -> None:
    assert is_for_want_of_disk(RuntimeError(text))


@pytest.mark.parametrize("text", [OF_AN_EVENT, OF_A_FILE, "division by zero"])
def test_other_failures_are_not(text: str) -> None:
    assert not is_for_want_of_disk(RuntimeError(text))
