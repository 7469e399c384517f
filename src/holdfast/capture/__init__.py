"""Sources, and the thread that reads each of them into its inbox."""

from __future__ import annotations

from holdfast.capture.contract import Captured, Source
from holdfast.capture.files import FilesStatus, Follow, LogFiles
from holdfast.capture.generator import Generator, Pace
from holdfast.capture.runner import Capture, CaptureState, CaptureStatus
from holdfast.capture.stdin import Stdin

__all__ = [
    "Capture",
    "CaptureState",
    "CaptureStatus",
    "Captured",
    "FilesStatus",
    "Follow",
    "Generator",
    "LogFiles",
    "Pace",
    "Source",
    "Stdin",
]
