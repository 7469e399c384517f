"""Values that everything else speaks in: positions, identity and errors. Imports nothing of ours.

The names are loaded when they are first used: a command that only asks a running pipeline needs no positions.
"""

from __future__ import annotations

from holdfast.model.lazily import loaded

TYPE_CHECKING = False
"""In place of `typing`'s own, as in `holdfast`."""

if TYPE_CHECKING:
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
        LogPosition,
        Lsn,
        MysqlPosition,
        Order,
        Position,
        Seq,
        SiftedPosition,
        Tsid,
        earliest,
        from_json,
        parse,
        to_json,
    )

_HOMES = {
    "holdfast.model.encoding": ("Encoding",),
    "holdfast.model.errors": ("HoldfastError",),
    "holdfast.model.positions": (
        "BinlogPosition",
        "ChangeId",
        "FilePosition",
        "FilesPosition",
        "Fingerprint",
        "GtidSet",
        "KafkaOffsets",
        "LogPosition",
        "Lsn",
        "MysqlPosition",
        "Order",
        "Position",
        "Seq",
        "SiftedPosition",
        "Tsid",
        "earliest",
        "from_json",
        "parse",
        "to_json",
    ),
}

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
    "LogPosition",
    "Lsn",
    "MysqlPosition",
    "Order",
    "Position",
    "Seq",
    "SiftedPosition",
    "Tsid",
    "earliest",
    "from_json",
    "parse",
    "to_json",
]

__getattr__ = loaded(__name__, _HOMES)
