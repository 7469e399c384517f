"""The public names, each exported in one place. A change here is a change that users see."""

from __future__ import annotations

import importlib

import pytest

PUBLIC = {
    "holdfast.model": """
        BinlogPosition ChangeId FilePosition Fingerprint GtidSet HoldfastError KafkaOffsets Lsn MysqlPosition Order
        Position Seq Tsid earliest from_json parse to_json
    """,
    "holdfast.ledger": """
        Acknowledge All Batch Cursors CursorsCodec DeadLetter Decision Lane LaneSpec LaneStart Ledger Phase Policy
        Queued Quorum Rejecting Release Required Resume Retry Route Sending Start StopReason StopRecord Vanished
        WriteCursors
    """,
    "holdfast.checkpoint": """
        CURSORS Change CheckpointStore Codec Commit Delete Diagnosis DryRun Durability FileStore Fresh Health
        LateStore MemoryStore ObjectStore Origin PostgresStore Put Recovered RecoveryPath ReplicatedStore Replication
        RollBack SqliteStore Standing Stored TypedKey Version VersionIs WithoutRemote examine open_object_store
        recover recovery_path_total repair
    """,
    "holdfast.checkpoint.operators": """
        FRESH Barrier BarrierCoordinator Buffer CheckpointedOperator Completion CompletionCodec Cut DedupLimits
        DurationHistogram Edge End Flow FlowKeys FlowSettings Graph HearsOfCompletion InputCut InputWindow Item Link
        Offload Offset Operator OperatorHealth OperatorSnapshot Point Recovery ReplayFrom SnapshotCodec
        SnapshotListener SnapshotMode SnapshotWriter Source SourceFeed SparseEntry Status StepHook SystemTimer Timer
        Verdict recover
    """,
}


@pytest.mark.parametrize("package", PUBLIC)
def test_the_public_names_are_these(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package].split())
    assert all(hasattr(module, name) for name in module.__all__)
