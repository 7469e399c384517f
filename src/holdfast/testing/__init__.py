"""For tests of pipelines: a driver without a JVM, a clock that is moved by hand, sinks that fail as they are told."""

from __future__ import annotations

from holdfast.testing.clock import ManualClock
from holdfast.testing.driver import LocalProcessor
from holdfast.testing.recording import ConcurrentSink, DisjointSink, Flakiness, RecordingSink, Vault

__all__ = ["ConcurrentSink", "DisjointSink", "Flakiness", "LocalProcessor", "ManualClock", "RecordingSink", "Vault"]
