"""Sources, and the thread that reads each of them into its inbox."""

from __future__ import annotations

from holdfast.capture.contract import Boundary, Captured, Input, Receiver, Source
from holdfast.capture.files import FilesStatus, Follow, LogFiles
from holdfast.capture.generator import Generator, Pace
from holdfast.capture.http.source import HttpPush
from holdfast.capture.reception import Intake, Reception, capture_of
from holdfast.capture.relay import Relay
from holdfast.capture.runner import Capture, CaptureState, CaptureStatus
from holdfast.capture.stdin import Stdin

__all__ = [
    "Boundary",
    "Capture",
    "CaptureState",
    "CaptureStatus",
    "Captured",
    "FilesStatus",
    "Follow",
    "Generator",
    "HttpPush",
    "Input",
    "Intake",
    "LogFiles",
    "Pace",
    "Receiver",
    "Reception",
    "Relay",
    "Source",
    "Stdin",
    "capture_of",
]
