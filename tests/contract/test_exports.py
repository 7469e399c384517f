"""The public names, each exported in one place. A change here is a change that users see."""

from __future__ import annotations

import importlib

import pytest

PUBLIC = {
    "holdfast": """
        Accept All BatchLimits Budget Checkpointing Console ConsoleForm DeadLetterLimits Encoding Files Follow Format
        Generator HoldfastError Http HttpBody HttpPush IsolationLimits Keep LogFiles Overflow Pace Pipeline
        PipelineStatus Postgres Quorum Quotas Relay Required SinkSpec SparkSettings Sqlite State Stdin Takeover Until
        Upsert batches filter_rows flatten parse_json parse_logfmt parse_regex parse_text python route rows sql
    """,
    "holdfast.model": """
        BinlogPosition ChangeId Encoding FilePosition FilesPosition Fingerprint GtidSet HoldfastError KafkaOffsets
        LogPosition Lsn MysqlPosition Order Position Seq SiftedPosition Tsid earliest from_json parse to_json
    """,
    "holdfast.ledger": """
        Acknowledge All Batch Cursors CursorsCodec DeadLetter Decision Gap Lane LaneSpec LaneStart Ledger Phase Policy
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
        FRESH Buffer DedupLimits Flow FlowSettings Graph HearsOfCompletion Item Keepable Link Offset Operator Recovery
        ReplayFrom SnapshotMode Source StateKeeper Status Timer
    """,
    "holdfast.capture": """
        Boundary Capture CaptureState CaptureStatus Captured FilesStatus Follow Generator HttpPush Input Intake LogFiles
        Pace Receiver Reception Relay Source Stdin capture_of
    """,
    "holdfast.process": """
        Step applied batches filter_rows fingerprint flatten parse_json parse_logfmt parse_regex parse_text python route
        rows sql
    """,
    "holdfast.config": """
        Alteration Change Document Effect Place Problem compare find_problems json_schema load named_in
    """,
    "holdfast.log": """
        Appended Chunk DeadLetterEntry DeadLetterFilter DeadLetterLimits DeadLetterLog DeadLetterReader
        DeadLetterStatus Digest EntryState Fate Gone Inbox InboxReader Keep Limits Listed NewBatch Outbox Overflow
        PartRef Published Retained Trimmed Where clip entry_id part_name read_chunk read_part write_part
    """,
    "holdfast.flow": """
        AllOk Always Backpressure Bottleneck Breaker BreakerPolicy BreakerState Budget BudgetExhausted
        BuiltGraph BurstProfile ByPriority Channel Classifier CopyToAll Crashed CreditEdge Credits DeadLetters
        Decision Declared Discardable Dropped Edge EdgePlan EdgeSpec EdgeStats EwmaRate Exit FOR_SINKS
        FOR_STATEFUL FOR_STATELESS FROM_SOURCE Finding FindingKind FlowPolicy GraphEvent GraphHealth Inlet Loan Loss
        Metric Never OccupancySample OperatorGraph OperatorHealth OperatorState Outcome Outlet Permanent Permit
        Priority PriorityEdge RestartPolicy RetryPolicy Retrying Role SERVICE Sampler Sender Sends Shed Stop
        Supervision SystemTimer TO_DEADLINE TO_EXPORT TO_STATE Takes Through Timed Timer Transient Tries Verdict
        Vertex audit by_type decide find_bottleneck gradient merge require_clean suspicions
    """,
    "holdfast.deliver": """
        BreakerPolicy BreakerState Clock Delivery DeliveryPhase DeliverySettings DeliveryStatus GoingBack LaneIdentity
        LaneState LaneStatus OnExhausted OnQuota Ordering PoisonUnit RetryPolicy Sink SinkBatch SinkSpec SystemClock
        Tier
    """,
    "holdfast.control": """
        Belongings Candidate DeadLetters Exported PayloadForm Preview Rate Refusal Reprocessed Shown Standing stopped
    """,
    "holdfast.testing": """
        ConcurrentSink Crash Delivered DisjointSink Flakiness LocalProcessor ManualClock NotPlayed RecordingSink Script
        Tx Vault play
    """,
    "holdfast.sinks": "Console ConsoleForm Files Format Http HttpBody Postgres Sqlite Upsert",
    "meridian.sensors": """
        Angular Area Bounds Candidates Catalog Classifier ClockKind ClockQuality ENVELOPE_VERSION Edge EdgeDocument
        EdgeLog ErrorKind Form IslTcp Landing Mode NAMESPACE OBSERVATION_SCHEMA Observation ObservationColumns
        ObservationSource OpticalHttp Physics Polling Pump RECORD RadarUdp RangeRate RecentObjects Refusal Repeats Row
        Screen Screened Sensors SourceKind StateVector TRAITS Taken Traits Uncertainty UnknownObjects columns_of
        events_of from_json from_observations heartbeat load max_skews_ns observation_ids parse standard_rules
        to_arrow to_observations
    """,
    "meridian.sensors.simulate": """
        Archive BeaconSender Burst Emission Faults Noise Objects Outage Player RADARS Record Scenario Span
        TELESCOPES Tempo emissions send_datagrams synthetic
    """,
}


@pytest.mark.parametrize("package", PUBLIC)
def test_the_public_names_are_these(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package].split())
    assert all(hasattr(module, name) for name in module.__all__)
