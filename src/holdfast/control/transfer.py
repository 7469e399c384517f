"""The newest version of every key as a file of JSON lines, and back in one commit. Each line carries its checksum."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import google_crc32c

from holdfast.checkpoint import Commit, Put
from holdfast.control.files import owning, reading
from holdfast.model.errors import InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 1


def export_newest(directory: Path, file: Path) -> int:
    """Write the file, which must not exist; how many keys it has."""
    with reading(directory) as store:
        keys = store.keys()
        stored = [found for key in keys if (found := store.get_raw(key)) is not None]
    lines = [
        json.dumps(
            {
                "format": _FORMAT,
                "key": each.version.key,
                "version": each.version.number,
                "created_at": each.version.created_at.isoformat(),
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
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}.", remedy="Name the exported file.") from error
    updates = updates_of(content, str(file))
    with owning(directory) as (store, epoch):
        store.commit(Commit(epoch, updates))
    return len(updates)


def updates_of(content: bytes, file: str) -> list[Put]:
    """The content of an export as updates; `InvalidRequest` when it is none, or is damaged."""
    try:
        return [_update(json.loads(line)) for line in content.decode().splitlines()]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidRequest(f"{file} is not an export: {error!r}.", remedy="Export it again.") from error


def _update(line: dict[str, object]) -> Put:
    payload = base64.b64decode(str(line["payload"]), validate=True)
    if line["format"] != _FORMAT or google_crc32c.value(payload) != line["crc32c"]:
        message = f"the line of {line['key']} is damaged or of another format"
        raise ValueError(message)
    return Put(str(line["key"]), payload)
