"""Damages what a store has written, whatever its layout, so that a test can see the damage found.

The payload is looked for as the envelope keeps it (plain or compressed), raw or in base64.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import obstore

from holdfast.checkpoint.envelope import seal

if TYPE_CHECKING:
    from pathlib import Path

    import obstore.store


def flip(data: bytes) -> bytes:
    """The bytes with one bit of the middle one changed."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x01]) + data[middle + 1 :]


def flip_in_files(directory: Path, payload: bytes) -> None:
    """Damage the payload in the one file below `directory` that holds it."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and (damaged := _flipped_inside(path.read_bytes(), payload)):
            path.chmod(0o600)
            path.write_bytes(damaged)
            return
    _not_found(str(directory))


def flip_in_objects(store: obstore.store.ObjectStore, prefix: str, payload: bytes) -> None:
    """Damage the payload in the one object below `prefix` that holds it."""
    for chunk in obstore.list(store, prefix):
        for meta in chunk:
            data = bytes(obstore.get(store, meta["path"]).bytes())
            if damaged := _flipped_inside(data, payload):
                obstore.put(store, meta["path"], damaged)
                return
    _not_found(prefix)


def _flipped_inside(content: bytes, payload: bytes) -> bytes | None:
    data = seal(payload).data
    for form in (data, base64.b64encode(data), base64.urlsafe_b64encode(data)):
        start = content.find(form)
        if start >= 0:
            return content[:start] + _changed(form) + content[start + len(form) :]
    return None


def _changed(form: bytes) -> bytes:
    """Another byte of the same alphabet, so that only the checksum can tell."""
    middle = len(form) // 2
    return form[:middle] + (b"B" if form[middle : middle + 1] == b"A" else b"A") + form[middle + 1 :]


def _not_found(where: str) -> None:
    message = f"The payload to damage was not found below {where}; teach this module the layout."
    raise AssertionError(message)
