"""The pure state machine that decides what is committed. It does no I/O and knows no clock."""

from __future__ import annotations

from holdfast.ledger.cursors import Cursors, CursorsCodec, StopReason, StopRecord
from holdfast.ledger.decisions import Acknowledge, DeadLetter, Decision, Release, Retry, Vanished, WriteCursors
from holdfast.ledger.gaps import Gap
from holdfast.ledger.lane import Lane, LaneSpec, Start
from holdfast.ledger.ledger import Ledger, Phase
from holdfast.ledger.policy import All, Policy, Quorum, Required
from holdfast.ledger.resume import Batch, LaneStart, Resume, Route
from holdfast.ledger.tickets import Queued, Rejecting, Sending

__all__ = [
    "Acknowledge",
    "All",
    "Batch",
    "Cursors",
    "CursorsCodec",
    "DeadLetter",
    "Decision",
    "Gap",
    "Lane",
    "LaneSpec",
    "LaneStart",
    "Ledger",
    "Phase",
    "Policy",
    "Queued",
    "Quorum",
    "Rejecting",
    "Release",
    "Required",
    "Resume",
    "Retry",
    "Route",
    "Sending",
    "Start",
    "StopReason",
    "StopRecord",
    "Vanished",
    "WriteCursors",
]
