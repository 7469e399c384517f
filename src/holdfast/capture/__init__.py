"""Sources, and the thread that reads each of them into its inbox."""

from __future__ import annotations

from holdfast.capture.contract import Boundary, Captured, Input, Receiver, Source
from holdfast.capture.generator import Generator, Pace
from holdfast.capture.http.source import HttpPush
from holdfast.capture.reception import Intake, Reception, capture_of
from holdfast.capture.runner import Capture, CaptureState, CaptureStatus

__all__ = [
    "Boundary",
    "Capture",
    "CaptureState",
    "CaptureStatus",
    "Captured",
    "Generator",
    "HttpPush",
    "Input",
    "Intake",
    "Pace",
    "Receiver",
    "Reception",
    "Source",
    "capture_of",
]
