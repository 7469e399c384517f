"""What is wrong with the checkpoint store, and with how the cursors in it fit the outbox."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from holdfast.checkpoint import CURSORS, FileStore, SqliteStore
from holdfast.checkpoint.contract import value_of
from holdfast.checkpoint.doctor import FindingKind
from holdfast.checkpoint.doctor import examine as examine_store
from holdfast.control.doctor.findings import Code, Finding, Severity
from holdfast.control.doctor.repairs import MendStore, RollBackRecord, UpgradeStore
from holdfast.control.doctor.sqlite_files import copied, damage, opened
from holdfast.control.stores import open_store_at
from holdfast.model.errors import (
    CheckpointDamaged,
    ControlError,
    DocumentError,
    HoldfastError,
    StoreUnavailable,
    UnknownFormat,
)
from holdfast.runtime.checkpoints.opening import recorded_kind
from holdfast.runtime.checkpoints.settings import FileSettings, PostgresSettings
from holdfast.runtime.records import GENERATION, HISTORY, LOGS, PAUSE, Generation, Logs
from holdfast.runtime.restarts import History
from holdfast.runtime.rollback.records import ROLLBACKS

if TYPE_CHECKING:
    from holdfast.checkpoint import CheckpointStore
    from holdfast.checkpoint.contract import TypedKey
    from holdfast.checkpoint.doctor import Finding as StoreFinding
    from holdfast.control.doctor.log_files import OutboxFacts
    from holdfast.ledger import Cursors
    from holdfast.runtime.layout import Layout

_REST = "Logs and sinks are untouched."
_RESTORE = "Put the file back from a copy."
_REMEDIES = {
    Code.STORE_NEWER: "Use the version of Holdfast that wrote it.",
    Code.STORE_UNREACHABLE: "See that the server runs, and that the variables of the document are set here.",
}
_SAFE_TO_GO_BACK = frozenset({LOGS.name, HISTORY.name, PAUSE.name})
"""An older version of these only remembers less; an older generation would let Spark go on elsewhere."""
_KINDS = {
    FindingKind.DAMAGED_NEWEST: (Code.VERSION_DAMAGED, Severity.BREAKS_START),
    FindingKind.DAMAGED_OLDER: (Code.VERSION_OLDER_DAMAGED, Severity.LOSES_NOTHING),
    FindingKind.UNLISTABLE: (Code.VERSIONS_UNLISTABLE, Severity.BREAKS_START),
    FindingKind.DOUBT: (Code.VERSION_DAMAGED, Severity.BREAKS_START),
    FindingKind.HOLE: (Code.VERSIONS_HOLE, Severity.LOSES_NOTHING),
    FindingKind.CLOCK_BACK: (Code.CLOCK_WENT_BACK, Severity.LOSES_NOTHING),
    FindingKind.CURSORS_UNREADABLE: (Code.CURSORS_UNREADABLE, Severity.BREAKS_START),
    FindingKind.CURSORS_IMPOSSIBLE: (Code.CURSORS_IMPOSSIBLE, Severity.BREAKS_START),
}


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """The checkpoint store, as far as it can be read."""

    path: Path
    fault: tuple[Code, str] | None = None
    is_older: bool = False
    """Whether it is of an older format, which the next start brings up."""
    epoch: int = 0
    findings: tuple[StoreFinding, ...] = ()
    """What the store's own doctor finds."""
    unreadable: tuple[tuple[str, str, int | None], ...] = ()
    """Records that make no sense: key, why, and the newest version that does."""
    cursors: Cursors | None = None
    logs: Logs = field(default_factory=Logs)
    generation: Generation | None = None
    history: History = field(default_factory=History)


def store_facts(layout: Layout) -> StoreFacts:
    """What there is of the checkpoint store; files are read from a copy."""
    try:
        kind = recorded_kind(layout)
    except CheckpointDamaged as error:
        return StoreFacts(layout.checkpoint_kind, fault=(Code.STORE_DAMAGED, error.what))
    match kind:
        case PostgresSettings.kind:
            return _on_a_server(layout)
        case FileSettings.kind:
            return _in_files(layout.checkpoint_files)
        case _:
            return _in_sqlite(layout.checkpoints)


def _in_sqlite(path: Path) -> StoreFacts:
    facts = StoreFacts(path)
    if not path.is_file() or path.stat().st_size == 0:
        return replace(facts, fault=(Code.STORE_MISSING, "it is gone"))
    with copied(path) as copy:
        with opened(copy) as db:
            broken = damage(db)
            if broken is not None:
                return replace(facts, fault=(Code.STORE_DAMAGED, broken))
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        try:
            with SqliteStore(copy) as store:
                return _read(replace(facts, is_older="holdfast_meta" not in tables), store)
        except HoldfastError as error:
            return replace(facts, fault=(_code_of(error), error.what.replace(str(copy), str(path))))


def _in_files(directory: Path) -> StoreFacts:
    facts = StoreFacts(directory)
    if not directory.is_dir():
        return replace(facts, fault=(Code.STORE_MISSING, "it is gone"))
    with TemporaryDirectory(prefix="holdfast-doctor-") as place:
        copy = Path(place) / directory.name
        shutil.copytree(directory, copy)
        try:
            with FileStore(copy) as store:
                return _read(facts, store)
        except HoldfastError as error:
            return replace(facts, fault=(_code_of(error), error.what.replace(str(copy), str(directory))))


def _on_a_server(layout: Layout) -> StoreFacts:
    facts = StoreFacts(layout.checkpoint_kind)
    try:
        with open_store_at(layout.root) as store:
            return _read(facts, store)
    except (StoreUnavailable, ControlError, DocumentError) as error:
        return replace(facts, fault=(Code.STORE_UNREACHABLE, error.what))
    except HoldfastError as error:
        return replace(facts, fault=(_code_of(error), error.what))


def judge_store(facts: StoreFacts, *, newest_epoch: int) -> Iterator[Finding]:
    """What is wrong with the store itself. Pure.

    :param newest_epoch: the newest owner that any log knows.
    """
    if facts.fault is not None:
        code, why = facts.fault
        what = f"The checkpoint store cannot be used: {why.rstrip('.')}."
        remedy = _REMEDIES.get(code, _RESTORE)
        yield Finding(code, Severity.BREAKS_START, what, facts.path, _REST, remedy)
        return
    if facts.is_older:
        what = "The checkpoint store is of an older format."
        remedy = "Let the doctor bring it up: a start would, but it would not know that owners came before it."
        cure = UpgradeStore(newest_epoch)
        yield Finding(Code.STORE_OLDER, Severity.BREAKS_START, what, facts.path, _REST, remedy, repair=cure)
    elif newest_epoch > facts.epoch:
        what = (
            f"The checkpoint store knows owners up to {facts.epoch}, and the logs were written by owner {newest_epoch}."
        )
        remedy = "The store is an older copy: put the newer one back."
        yield Finding(Code.STORE_EPOCH_BEHIND, Severity.BREAKS_START, what, facts.path, _REST, remedy)
    for found in facts.findings:
        code, severity = _KINDS[found.kind]
        repair = MendStore(str(found.repair)) if found.repair else None
        remedy = str(found.repair) if found.repair else f"It cannot be repaired: {found.cannot}"
        what = (
            f"{found.kind.value[:1].upper()}{found.kind.value[1:]} ({found.place}): {found.meaning} {found.next_start}"
        )
        yield Finding(code, severity, what, facts.path, _REST, remedy, repair=repair)
    for key, why, version in facts.unreadable:
        what = f"The record {key!r} makes no sense: {why}."
        back = RollBackRecord(key, version) if version is not None and key in _SAFE_TO_GO_BACK else None
        remedy = str(back) if back else "Import it from an export with `holdfast checkpoints import`."
        yield Finding(Code.RECORD_UNREADABLE, Severity.BREAKS_START, what, facts.path, _REST, remedy, repair=back)


def judge_cursors(facts: StoreFacts, outbox: OutboxFacts) -> Iterator[Finding]:
    """Whether the cursors lie in what the outbox has. Pure."""
    if facts.cursors is None or outbox.log.fault is not None:
        return
    reached = {f"The cursor of {lane!r}": cursor for lane, cursor in facts.cursors.delivered.items()}
    for who, cursor in {**reached, "`committed`": facts.cursors.committed}.items():
        if cursor > outbox.log.end:
            what = f"{who} is at batch {cursor}, but the outbox never published more than {outbox.log.end}."
            remedy = (
                "The outbox is an older copy: put the newer one back. A sink that keeps a cursor itself goes by that."
            )
            yield Finding(Code.CURSOR_AHEAD, Severity.BREAKS_START, what, facts.path, _REST, remedy)
    for who, cursor in reached.items():
        if cursor + 1 < outbox.log.first:
            what = f"{who} is at batch {cursor}, but the outbox has let go everything before {outbox.log.first}."
            remedy = "A sink that remembers more itself goes on there; else put a newer store back."
            yield Finding(Code.CURSOR_BEHIND, Severity.MISSES, what, facts.path, _REST, remedy)


def judge_generation(facts: StoreFacts, outbox: OutboxFacts) -> Iterator[Finding]:
    """Whether store and outbox speak of the same generation. Pure."""
    if facts.generation is None or outbox.log.fault is not None or facts.generation.number == outbox.generation:
        return
    ours, theirs = facts.generation.number, outbox.generation
    if ours > theirs:
        what = f"The change to generation {ours} was cut short: the outbox is still in {theirs}."
        remedy = "Nothing needs to be done; the next start finishes it."
        yield Finding(Code.GENERATION_UNFINISHED, Severity.LOSES_NOTHING, what, outbox.log.directory, _REST, remedy)
    else:
        what = f"The store is in generation {ours}, and the outbox in {theirs}."
        remedy = "The store is an older copy: put the newer one back."
        yield Finding(Code.GENERATION_BEHIND, Severity.BREAKS_START, what, facts.path, _REST, remedy)


def _read(facts: StoreFacts, store: CheckpointStore) -> StoreFacts:
    found: dict[str, Any] = {}
    unreadable = []
    keys: tuple[TypedKey[Any], ...] = (LOGS, GENERATION, HISTORY, PAUSE, ROLLBACKS)
    for key in keys:
        try:
            stored = store.get_raw(key.name)
        except CheckpointDamaged:  # its bytes are not those that were written, and `examine_store` says so
            continue
        try:
            found[key.name] = None if stored is None else value_of(key, stored.payload)
        except HoldfastError as error:
            cause = error.__cause__ or error
            unreadable.append((key.name, f"{type(cause).__name__}: {cause}", _newest_readable(store, key)))
    try:
        cursors = store.get(CURSORS)
    except HoldfastError:
        cursors = None
    return replace(
        facts,
        epoch=store.epoch(),
        findings=examine_store(store, cursors=[CURSORS]).findings,
        unreadable=tuple(unreadable),
        cursors=cursors,
        logs=found.get(LOGS.name) or Logs(),
        generation=found.get(GENERATION.name),
        history=found.get(HISTORY.name) or History(),
    )


def _newest_readable(store: CheckpointStore, key: TypedKey[Any]) -> int | None:
    for version in reversed(store.versions(key.name)):
        try:
            value_of(key, store.get_version(key.name, version.number).payload)
        except HoldfastError:
            continue
        return version.number
    return None


def _code_of(error: HoldfastError) -> Code:
    if isinstance(error, UnknownFormat):
        return Code.STORE_NEWER
    return Code.STORE_DAMAGED if isinstance(error, CheckpointDamaged) else Code.STORE_FOREIGN
