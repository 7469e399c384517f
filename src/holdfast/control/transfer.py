"""The newest version of every key as a file of JSON lines, and back in one commit. Each line carries its checksum.

It is also how checkpoints move to another store. An export knows the owner that it was made after, so an export that is
older than the last run is not taken for the present.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c

from holdfast.checkpoint import Commit, Put
from holdfast.checkpoint.replication.replica import RESERVED
from holdfast.control.files import owning, reading
from holdfast.log import outbox_index
from holdfast.log.opening import open_to_read
from holdfast.model.errors import InvalidRequest
from holdfast.runtime.checkpoints.opening import is_there, open_local, record_kind, recorded_kind
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import Ownership
from holdfast.runtime.records import LOGS

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.config import Document
    from holdfast.runtime.checkpoints.settings import LocalSettings

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class _Export:
    """What a file holds."""

    updates: tuple[Put, ...]
    owner: int
    """The epoch of the newest owner when it was made; 0 in a file of an older version."""


def export_newest(directory: Path, file: Path) -> int:
    """Write the file, which must not exist; how many keys it has."""
    with reading(directory) as store:
        keys, epoch = store.keys(), store.epoch()
        stored = [found for key in keys if key != RESERVED and (found := store.get_raw(key)) is not None]
    lines = [
        json.dumps(
            {
                "format": _FORMAT,
                "key": each.version.key,
                "version": each.version.number,
                "created_at": each.version.created_at.isoformat(),
                "owner": epoch,
                "crc32c": each.version.checksum,
                "payload": base64.b64encode(each.payload).decode(),
            }
        )
        for each in stored
    ]
    try:
        with file.open("x") as out:
            out.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror}.", remedy="Name another file.") from error
    return len(lines)


def import_newest(directory: Path, file: Path) -> int:
    """Write what the file has as the newest versions, in one commit; how many keys that were."""
    export = _read(file)
    with owning(directory) as (store, epoch):
        store.commit(Commit(epoch, export.updates))
    return len(export.updates)


def import_into(document: Document, file: Path) -> int:
    """The same for a pipeline with a document: into the store that it names, also when that is a new one."""
    layout = Layout(document.directory.absolute())
    settings, before = document.values.spec.checkpoint.local_settings(), recorded_kind(layout)
    if before == settings.kind and is_there(settings, layout):
        return import_newest(layout.root, file)
    must_be_newest = before != settings.kind  # in the place of a store that is lost, an older export is all there is
    return _move(document.name, layout, settings, file, must_be_newest=must_be_newest)


def _move(name: str, layout: Layout, settings: LocalSettings, file: Path, *, must_be_newest: bool) -> int:
    """Write an export into a store that is not in use yet, and use that one from then on."""
    export, ownership = _read(file), Ownership.take(layout.root)
    try:
        outbox, owner = _outbox(layout)
        is_newest = export.owner >= owner and LOGS.name in {put.key for put in export.updates}
        if must_be_newest and not is_newest:
            raise InvalidRequest(
                f"{file} is not the present state of pipeline {name!r}: it was made before the last run, or is not "
                "complete.",
                kept="Nothing was written.",
                remedy=f"Export it again: `holdfast checkpoints export {layout.root} FILE`, then import that.",
            )
        with open_local(settings, layout, name) as store:
            if (there := store.get(LOGS)) is not None and there.outbox != outbox:
                raise InvalidRequest(
                    f"The {settings.kind} store holds the checkpoints of another pipeline of the name {name!r}.",
                    kept="Nothing was written.",
                    remedy="Name another database or schema, or give one of the pipelines another name.",
                )
            epoch = store.take_over(at_least=max(export.owner, owner) + 1)
            store.commit(Commit(epoch, export.updates))
        record_kind(layout, settings.kind)
    finally:
        ownership.release()
    return len(export.updates)


def _outbox(layout: Layout) -> tuple[str, int]:
    """The uuid of the outbox, and the owner that last wrote to it."""
    index, identity = open_to_read(layout.outbox, outbox_index.KIND)
    try:
        with index.reading() as db:
            (epoch,) = db.execute("SELECT epoch FROM log").fetchone()
            return identity.uuid, int(epoch)
    finally:
        index.close()


def _read(file: Path) -> _Export:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}.", remedy="Name the exported file.") from error
    return export_of(content, str(file))


def export_of(content: bytes, file: str) -> _Export:
    """The content of an exported file; `InvalidRequest` when it is none, or is damaged."""
    try:
        lines = [json.loads(line) for line in content.decode().splitlines()]
        owners = [int(line["owner"]) for line in lines if "owner" in line]
        return _Export(tuple(map(_update, lines)), max(owners, default=0))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidRequest(f"{file} is not an export: {error!r}.", remedy="Export it again.") from error


def _update(line: dict[str, object]) -> Put:
    payload = base64.b64decode(str(line["payload"]), validate=True)
    if line["format"] != _FORMAT or google_crc32c.value(payload) != line["crc32c"]:
        message = f"the line of {line['key']} is damaged or of another format"
        raise ValueError(message)
    return Put(str(line["key"]), payload)
