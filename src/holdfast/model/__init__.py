"""Values that everything else speaks in: positions, identity and errors. Imports nothing of ours."""

from __future__ import annotations

from holdfast.model.encoding import Encoding
from holdfast.model.errors import HoldfastError
from holdfast.model.positions import (
    BinlogPosition,
    ChangeId,
    FilePosition,
    FilesPosition,
    Fingerprint,
    GtidSet,
    KafkaOffsets,
    Lsn,
    MysqlPosition,
    Order,
    Position,
    Seq,
    Tsid,
    earliest,
    from_json,
    parse,
    to_json,
)

__all__ = [
    "BinlogPosition",
    "ChangeId",
    "Encoding",
    "FilePosition",
    "FilesPosition",
    "Fingerprint",
    "GtidSet",
    "HoldfastError",
    "KafkaOffsets",
    "Lsn",
    "MysqlPosition",
    "Order",
    "Position",
    "Seq",
    "Tsid",
    "earliest",
    "from_json",
    "parse",
    "to_json",
]
