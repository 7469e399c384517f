"""For tests of pipelines: scripts with crashes, a driver without a JVM, a clock moved by hand, sinks that fail."""

from __future__ import annotations

from holdfast.testing.clock import ManualClock
from holdfast.testing.driver import LocalProcessor
from holdfast.testing.playing import NotPlayed, play
from holdfast.testing.recording import ConcurrentSink, DisjointSink, Flakiness, RecordingSink, Vault
from holdfast.testing.script import Crash, Delivered, Script, Tx

__all__ = [
    "ConcurrentSink",
    "Crash",
    "Delivered",
    "DisjointSink",
    "Flakiness",
    "LocalProcessor",
    "ManualClock",
    "NotPlayed",
    "RecordingSink",
    "Script",
    "Tx",
    "Vault",
    "play",
]
