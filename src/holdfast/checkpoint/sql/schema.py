"""The tables of the SQL stores: how they are made, recognised, and brought up from older formats.

The format number stands in `holdfast_meta`. Format 0 has no such table: it is the layout of DeltaForge's versioned
store, `checkpoints(key, version, payload, created_at)`, without checksums and without epochs. An older format is read
once, inside the transaction that writes the new tables; its own tables stay as they were and are never read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from holdfast.checkpoint.contract import Origin
from holdfast.checkpoint.envelope import seal
from holdfast.checkpoint.keys import check_key
from holdfast.model.errors import CheckpointDamaged, ForeignFile, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FORMAT = 1
"""The format this version writes."""

Value = str | int | float | bytes | datetime | None
Row = tuple[Value, ...]


class Rows(Protocol):
    """The answer of a database to one statement."""

    def fetchone(self) -> Row | None:
        """The next row, or None."""

    def fetchall(self) -> list[Row]:
        """All rows that are left."""


class Database(Protocol):
    """A connection that speaks one dialect; `?` stands for a parameter in both."""

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> object:
        """Run one statement for each row."""

    def close(self) -> None:
        """Give the connection up."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What SQLite and PostgreSQL say differently."""

    begin: str
    lock_schema: Sequence[str]
    """What a transaction starts with that makes or migrates the tables, so that no other does it at the same time."""
    lock_row: str
    """What a SELECT ends in when its row must stay as it is until the transaction ends."""
    blob: str
    list_columns: str
    """Selects (table, column) of every table the store can see."""
    is_shared: bool
    """Whether tables of others may lie beside ours."""


_TABLES: Mapping[str, Mapping[str, str]] = {
    "holdfast_meta": {"format": "BIGINT NOT NULL"},
    "holdfast_owners": {"namespace": "TEXT PRIMARY KEY", "epoch": "BIGINT NOT NULL"},
    "holdfast_keys": {
        "namespace": "TEXT NOT NULL",
        "key": "TEXT NOT NULL",
        "counted": "BIGINT NOT NULL",
        "newest": "BIGINT NOT NULL",
    },
    "holdfast_versions": {
        "namespace": "TEXT NOT NULL",
        "key": "TEXT NOT NULL",
        "version": "BIGINT NOT NULL",
        "created_at": "TEXT NOT NULL",
        "size": "BIGINT NOT NULL",
        "checksum": "BIGINT NOT NULL",
        "epoch": "BIGINT NOT NULL",
        "origin": "TEXT NOT NULL",
        "restored_from": "BIGINT",
        "encoding": "TEXT NOT NULL",
        "payload": "{blob} NOT NULL",
    },
}
_PRIMARY_KEYS = {"holdfast_keys": "namespace, key", "holdfast_versions": "namespace, key, version"}
_LEGACY_COLUMNS = {"key", "version", "payload", "created_at"}

VERSION_COLUMNS = tuple(_TABLES["holdfast_versions"])
INSERT_VERSION = (
    f"INSERT INTO holdfast_versions ({', '.join(VERSION_COLUMNS)}) VALUES ({', '.join('?' for _ in VERSION_COLUMNS)})"
)
WRITE_HEAD = (
    "INSERT INTO holdfast_keys (namespace, key, counted, newest) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (namespace, key) DO UPDATE SET counted = excluded.counted, newest = excluded.newest"
)


def check_format(db: Database, dialect: Dialect, place: str) -> None:
    """Raise `ForeignFile` or `UnknownFormat` when the tables are not for us. Nothing is written."""
    _format_in(db, dialect, place)


def needs_upgrade(db: Database, dialect: Dialect, place: str) -> bool:
    """Whether the tables must be made or migrated; `ForeignFile` or `UnknownFormat` when they are not for us."""
    return _format_in(db, dialect, place) != FORMAT


def upgrade(db: Database, dialect: Dialect, place: str, namespace: str) -> None:
    """Make or migrate the tables, inside the transaction of the caller; what another did meanwhile is kept."""
    found = _format_in(db, dialect, place)
    if found is None:
        _create(db, dialect)
        return
    for migrate in _MIGRATIONS[found:]:
        migrate(db, dialect, namespace)


def _format_in(db: Database, dialect: Dialect, place: str) -> int | None:
    """The format of the tables, or None where there are none yet."""
    tables: dict[str, set[str]] = {}
    for table, column in db.execute(dialect.list_columns).fetchall():
        tables.setdefault(str(table), set()).add(str(column))
    ours = {table: columns for table, columns in tables.items() if table in _TABLES}
    if not ours:
        if _LEGACY_COLUMNS <= tables.get("checkpoints", set()) <= _LEGACY_COLUMNS | {"id"}:
            return 0
        if tables and not dialect.is_shared:
            raise _foreign(place, f"it holds other tables ({', '.join(sorted(tables)[:3])})")
        return None
    return _written_format(db, place, ours)


def _written_format(db: Database, place: str, ours: Mapping[str, set[str]]) -> int:
    if "format" not in ours.get("holdfast_meta", set()):
        raise _foreign(place, "it has tables of our names that we did not make")
    row = db.execute("SELECT format FROM holdfast_meta").fetchone()
    if row is None or not isinstance(row[0], int) or row[0] < 1:
        raise _foreign(place, "its format number is missing")
    if row[0] > FORMAT:
        raise _too_new(place, row[0])
    if any(not _TABLES[table].keys() <= ours.get(table, set()) for table in _TABLES):
        raise _foreign(place, f"its tables are not those of format {row[0]}")
    return row[0]


def _create(db: Database, dialect: Dialect) -> None:
    for table, columns in _TABLES.items():
        parts = [f"{name} {kind.format(blob=dialect.blob)}" for name, kind in columns.items()]
        if table in _PRIMARY_KEYS:
            parts.append(f"PRIMARY KEY ({_PRIMARY_KEYS[table]})")
        db.execute(f"CREATE TABLE {table} ({', '.join(parts)})")
    db.execute("INSERT INTO holdfast_meta (format) VALUES (?)", (FORMAT,))


def _from_0_to_1(db: Database, dialect: Dialect, namespace: str) -> None:
    """Copy every version under its number; the first namespace that opens the store owned all of them."""
    legacy = db.execute("SELECT key, version, payload, created_at FROM checkpoints ORDER BY key, version").fetchall()
    _create(db, dialect)
    db.executemany(INSERT_VERSION, (_migrated(namespace, row) for row in legacy))
    newest = {str(key): version for key, version, _, _ in legacy}
    db.executemany(WRITE_HEAD, ((namespace, key, version, version) for key, version in newest.items()))


def _migrated(namespace: str, legacy: Row) -> Row:
    key, version, payload, created_at = legacy
    sealed = seal(payload if isinstance(payload, bytes) else str(payload).encode())
    described = (_time(created_at), sealed.size, sealed.checksum, 0, Origin.MIGRATION.value, None)
    return (namespace, check_key(str(key)), version, *described, sealed.encoding.value, sealed.data)


def _time(written: Value) -> str:
    """The time of a legacy row, which was text, a Unix time or a timestamp; without a zone it was UTC."""
    if isinstance(written, int | float):
        return datetime.fromtimestamp(written, UTC).isoformat()
    try:
        moment = written if isinstance(written, datetime) else datetime.fromisoformat(str(written))
    except ValueError as error:
        raise _no_time(written) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


_MIGRATIONS: Sequence[Callable[[Database, Dialect, str], None]] = (_from_0_to_1,)
"""The n-th goes from format n to n + 1."""


def _no_time(written: Value) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"A checkpoint of format 0 has {written!r} where its time should be.",
        kept="Nothing was migrated; the old tables are as they were.",
        remedy="Correct or remove that row of the table `checkpoints`, then open the store again.",
    )


def _foreign(place: str, why: str) -> ForeignFile:
    return ForeignFile(
        f"{place} is not a checkpoint store of Holdfast: {why}.",
        remedy="Name another place, or move what is there away.",
        place=place,
    )


def _too_new(place: str, found: int) -> UnknownFormat:
    return UnknownFormat(
        f"{place} was written in format {found}; this version reads up to {FORMAT}.",
        remedy="Use the version of Holdfast that wrote it, or a newer one.",
        place=place,
        found=found,
    )
