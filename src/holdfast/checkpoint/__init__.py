"""Remembers what the ledger decided: versioned, fenced, checksummed stores and the operators' snapshots.

Operators have a package of their own, `holdfast.checkpoint.operators`.
"""

from __future__ import annotations

from holdfast.checkpoint.contract import (
    CheckpointStore,
    Codec,
    Commit,
    Delete,
    Durability,
    Origin,
    Put,
    RollBack,
    Stored,
    TypedKey,
    Version,
    VersionIs,
)
from holdfast.checkpoint.cursors import CURSORS
from holdfast.checkpoint.difference import Change
from holdfast.checkpoint.doctor import Diagnosis, DryRun, examine, repair
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.objects import ObjectStore, open_object_store
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.latestore import LateStore
from holdfast.checkpoint.replication.recovery import Fresh, Recovered, RecoveryPath, recover
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Health, Replication, Standing
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.checkpoint.sqlite import SqliteStore

__all__ = [
    "CURSORS",
    "Change",
    "CheckpointStore",
    "Codec",
    "Commit",
    "Delete",
    "Diagnosis",
    "DryRun",
    "Durability",
    "FileStore",
    "Fresh",
    "Health",
    "LateStore",
    "MemoryStore",
    "ObjectStore",
    "Origin",
    "PostgresStore",
    "Put",
    "Recovered",
    "RecoveryPath",
    "ReplicatedStore",
    "Replication",
    "RollBack",
    "SqliteStore",
    "Standing",
    "Stored",
    "TypedKey",
    "Version",
    "VersionIs",
    "WithoutRemote",
    "examine",
    "open_object_store",
    "recover",
    "recovery_path_total",
    "repair",
]
