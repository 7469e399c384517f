"""Where a source stands: one typed value per kind of source, one order for all of them, one stored form.

Positions say nothing about how a source is read or where a position is kept.
"""

from __future__ import annotations

from holdfast.model.positions.base import Order, Position, earliest
from holdfast.model.positions.binlog import BinlogPosition
from holdfast.model.positions.codec import from_json, parse, to_json
from holdfast.model.positions.file import FilePosition, Fingerprint
from holdfast.model.positions.files import FilesPosition
from holdfast.model.positions.gtid import GtidSet, Tsid
from holdfast.model.positions.intervals import Interval, Intervals
from holdfast.model.positions.json_value import Json
from holdfast.model.positions.kafka import KafkaOffsets
from holdfast.model.positions.log import LogPosition
from holdfast.model.positions.lsn import Lsn
from holdfast.model.positions.mysql import MysqlPosition
from holdfast.model.positions.number import ChangeId, Seq
from holdfast.model.positions.sifted import SiftedPosition

__all__ = [
    "BinlogPosition",
    "ChangeId",
    "FilePosition",
    "FilesPosition",
    "Fingerprint",
    "GtidSet",
    "Interval",
    "Intervals",
    "Json",
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
