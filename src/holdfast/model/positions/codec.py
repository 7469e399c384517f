"""The stored and the typed form of positions: versioned JSON values, and text by kind. One table names all kinds.

What stands in the fields is each kind's own affair. Turning the JSON value into bytes is the caller's.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from holdfast.model.errors import UnknownFormat
from holdfast.model.positions.binlog import BinlogPosition
from holdfast.model.positions.checks import invalid, shown, string, whole_number
from holdfast.model.positions.file import FilePosition
from holdfast.model.positions.files import FilesPosition
from holdfast.model.positions.gtid import GtidSet
from holdfast.model.positions.kafka import KafkaOffsets
from holdfast.model.positions.log import LogPosition
from holdfast.model.positions.lsn import Lsn
from holdfast.model.positions.mysql import MysqlPosition
from holdfast.model.positions.number import ChangeId, Seq
from holdfast.model.positions.sifted import SiftedPosition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.model.positions.base import Position
    from holdfast.model.positions.json_value import Json

KINDS: Mapping[str, type[Position]] = MappingProxyType(
    {
        kind.kind: kind
        for kind in (
            Seq,
            Lsn,
            BinlogPosition,
            GtidSet,
            MysqlPosition,
            ChangeId,
            FilePosition,
            FilesPosition,
            KafkaOffsets,
            LogPosition,
            SiftedPosition,
        )
    }
)
_HEAD = frozenset({"kind", "v"})
_STORED = "stored"


def to_json(position: Position) -> dict[str, Json]:
    """The stored form: `{"kind": …, "v": …}` and the kind's fields."""
    return {"kind": position.kind, "v": position.version, **position.to_fields()}


def from_json(obj: object) -> Position:
    """The position of a stored form. `obj` may be anything that was read from outside.

    Raises `UnknownFormat` when the kind or its version is newer than this code, `InvalidPosition` for all else.
    """
    if not isinstance(obj, dict):
        raise invalid(_STORED, f"it must be a JSON object, not {shown(obj)}")
    _require(obj, _HEAD, _STORED)
    kind = _kind(string(_STORED, "kind", obj["kind"]))
    _check_version(kind, whole_number(kind.kind, "v", obj["v"], least=1))
    _require(obj, _HEAD | kind.field_names, kind.kind)
    _refuse_unknown(obj, _HEAD | kind.field_names, kind.kind)
    return kind.from_fields(obj)


def parse(kind: str, text: str) -> Position:
    """The position of the named kind that `text` stands for; `parse(p.kind, str(p)) == p`.

    Raises `UnknownFormat` for a kind that does not exist and `InvalidPosition` for text that is not of that kind.
    """
    return _kind(kind).from_text(text)


def _kind(name: str) -> type[Position]:
    try:
        return KINDS[name]
    except KeyError:
        what = f"The kind of position {shown(name)} is not known; known are {', '.join(KINDS)}."
        raise UnknownFormat(
            what,
            remedy="Run the version of Holdfast that wrote it or a newer one, or correct the kind.",
            kind=name,
        ) from None


def _check_version(kind: type[Position], version: int) -> None:
    if version > kind.version:
        what = f"The {kind.kind} position is stored in version {version}; this Holdfast reads up to {kind.version}."
        raise UnknownFormat(
            what,
            remedy="Run the version of Holdfast that wrote it, or go back to a checkpoint from before the upgrade.",
            kind=kind.kind,
            version=version,
        )


def _require(obj: Mapping[object, object], names: frozenset[str], kind: str) -> None:
    missing = sorted(name for name in names if name not in obj)
    if missing:
        raise invalid(kind, f"the field {missing[0]} is missing")


def _refuse_unknown(obj: Mapping[object, object], names: frozenset[str], kind: str) -> None:
    unknown = [name for name in obj if name not in names]
    if unknown:
        raise invalid(kind, f"the field {shown(unknown[0])} does not belong there")
