"""Writes a commit document as bytes and reads it back, checked. No I/O.

The first line is the description of the store with its CRC32C; every further line is one small payload. So damage in a
payload leaves the description whole, and only that version is lost; each payload has a checksum of its own.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import google_crc32c

from holdfast.checkpoint.commitlog.model import Chain, Document, Doubt, Record, Reign
from holdfast.checkpoint.contract import Origin, Version
from holdfast.checkpoint.envelope import Encoding
from holdfast.model.errors import CheckpointDamaged, ForeignFile, UnknownFormat

FORMAT = 1
MARKER = "holdfast.json"
"""Says that the place is a store, and of which format."""

_KIND = "holdfast checkpoint log"
_LINE = re.compile(rb'\{"crc32c":"([0-9a-f]{8})","body":(.+)\}', re.DOTALL)
_NAME = re.compile(r"([0-9]{20})\.json")


def commit_name(number: int) -> str:
    """Where the document of a commit lies."""
    return f"commits/{number:020d}.json"


def commit_number(file_name: str) -> int | None:
    """The number in a document's file name; None for any other file."""
    found = _NAME.fullmatch(file_name)
    return int(found[1]) if found else None


def encode(document: Document) -> bytes:
    """The bytes to publish."""
    body = _json(_body(document))
    head = b'{"crc32c":"%08x","body":%s}' % (google_crc32c.value(body), body)
    lines = [head, *(_json([key, base64.b64encode(data).decode()]) for key, data in document.payloads.items())]
    return b"".join(line + b"\n" for line in lines)


def decode(data: bytes, *, number: int, where: str) -> Document:
    """The document again; `CheckpointDamaged` when its description is not the one that was written."""
    head, *lines = data.split(b"\n")
    body = _checked_body(head, where)
    if body["number"] != number:
        raise _damaged(where, f"it says that it is commit {body['number']}")
    return _document(body, _payloads(lines))


def encode_marker() -> bytes:
    """What the marker of a new store says."""
    return _json({"kind": _KIND, "format": FORMAT}) + b"\n"


def check_marker(data: bytes, *, where: str) -> None:
    """Raise unless the marker is one of ours and of a format that this version reads."""
    try:
        marker = json.loads(data)
    except (ValueError, RecursionError):
        marker = None
    if not isinstance(marker, dict) or marker.get("kind") != _KIND:
        raise ForeignFile(
            f"{where} is not the marker of a checkpoint store.",
            remedy="Give the store a place of its own; if this was a store, copy the marker of another one here.",
            where=where,
        )
    _check_format(marker.get("format"), where)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _checked_body(head: bytes, where: str) -> Mapping[str, Any]:
    found = _LINE.fullmatch(head)
    if not found:
        raise _damaged(where, "its first line is not a commit")
    if google_crc32c.value(found[2]) != int(found[1], 16):
        raise _damaged(where, "its bytes do not match its checksum")
    body: Mapping[str, Any] = json.loads(found[2])
    _check_format(body["format"], where)
    return body


def _check_format(found: object, where: str) -> None:
    if found != FORMAT:
        raise UnknownFormat(
            f"{where} has format {found}; this version of Holdfast reads format {FORMAT}.",
            remedy="Use the version of Holdfast that wrote it, or a newer one.",
            where=where,
            format=found,
        )


def _payloads(lines: Iterable[bytes]) -> dict[str, bytes]:
    """The payloads that can be read; a missing one is noticed by whoever looks for it."""
    found = {}
    for line in lines:
        try:
            key, text = json.loads(line)
            found[key] = base64.b64decode(text, validate=True)
        except (ValueError, TypeError, binascii.Error, RecursionError):
            continue
    return found


def _body(document: Document) -> dict[str, object]:
    return {
        "format": FORMAT,
        "number": document.number,
        "epoch": document.epoch,
        "created_at": document.created_at and document.created_at.isoformat(),
        "nonce": document.nonce,
        "chains": {key: _chain_body(chain) for key, chain in document.chains.items()},
        "doubt": document.doubt and {"commits": document.doubt.commits, "settled": sorted(document.doubt.settled)},
        "reigns": [[reign.epoch, reign.since] for reign in document.reigns],
    }


def _chain_body(chain: Chain) -> dict[str, object]:
    trail = [_record_body(record) for record in chain.trail]
    spared = chain.spared and _record_body(chain.spared)
    return {"last": chain.last, "floor": chain.floor, "spared": spared, "trail": trail}


def _record_body(record: Record) -> dict[str, object]:
    version = record.version
    return {
        "version": version.number,
        "created_at": version.created_at.isoformat(),
        "size": version.size,
        "checksum": version.checksum,
        "epoch": version.epoch,
        "origin": version.origin.value,
        "restored_from": version.restored_from,
        "commit": record.commit,
        "nonce": record.nonce,
        "encoding": record.encoding.value,
        "blob": record.blob,
    }


def _document(body: Mapping[str, Any], payloads: Mapping[str, bytes]) -> Document:
    doubt = body["doubt"]
    return Document(
        number=body["number"],
        epoch=body["epoch"],
        created_at=body["created_at"] and datetime.fromisoformat(body["created_at"]),
        nonce=body["nonce"],
        chains={key: _chain(key, chain) for key, chain in body["chains"].items()},
        doubt=doubt and Doubt(tuple(doubt["commits"]), frozenset(doubt["settled"])),
        reigns=tuple(Reign(epoch, since) for epoch, since in body["reigns"]),
        payloads=payloads,
    )


def _chain(key: str, body: Mapping[str, Any]) -> Chain:
    trail = tuple(_record(key, record) for record in body["trail"])
    spared = body["spared"] and _record(key, body["spared"])
    return Chain(body["last"], body["floor"], spared, trail)


def _record(key: str, body: Mapping[str, Any]) -> Record:
    version = Version(
        key=key,
        number=body["version"],
        created_at=datetime.fromisoformat(body["created_at"]),
        size=body["size"],
        checksum=body["checksum"],
        epoch=body["epoch"],
        origin=Origin(body["origin"]),
        restored_from=body["restored_from"],
    )
    return Record(version, body["commit"], body["nonce"], Encoding(body["encoding"]), body["blob"])


def _damaged(where: str, why: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"The commit document {where} is damaged: {why}.",
        kept="Older versions are untouched.",
        remedy="Run `doctor` on the store to see which versions are whole and to go back to them.",
        where=where,
    )
