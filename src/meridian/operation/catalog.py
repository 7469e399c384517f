"""The catalog of an operation: elements of objects in one file, taken in from files of any form."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.disk.files import replace_file
from holdfast.model.errors import DocumentUnreadable
from meridian.orbit import CatalogFile, Elements, Refusal, format_json, read_catalog


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file.

    :param added: objects that were not known.
    :param renewed: objects of which it had newer elements.
    :param kept: objects of which what was known is as new.
    """

    added: int
    renewed: int
    kept: int
    refusals: Sequence[Refusal]
    total: int


def read_elements(path: Path) -> list[Elements]:
    """The elements in a catalog file, by object; `DocumentUnreadable` when it cannot be read or holds none."""
    return list(_read(path).elements)


def digest_of(path: Path) -> str:
    """Tells one content of a catalog from another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def import_elements(source: Path, catalog: Path) -> Imported:
    """Take the elements of a file into a catalog; of an object that is there, the newer ones stay."""
    found = _read(source)
    known = {each.object_id: each for each in (read_elements(catalog) if catalog.exists() else [])}
    added = renewed = kept = 0
    for each in found.elements:
        before = known.get(each.object_id)
        if before is None:
            added += 1
        elif each.epoch_ns > before.epoch_ns:
            renewed += 1
        else:
            kept += 1
            continue
        known[each.object_id] = each
    if added or renewed:
        write_elements(catalog, list(known.values()))
    return Imported(added, renewed, kept, found.refusals, len(known))


def write_elements(path: Path, elements: Sequence[Elements]) -> None:
    """Put a catalog in place whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, format_json(sorted(elements, key=lambda each: each.object_id)))


def _read(path: Path) -> CatalogFile:
    try:
        found = read_catalog(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(f"{path} cannot be read: {error}.", remedy="Name a file of TLE or OMM.") from error
    if not found.elements:
        why = f"line {found.refusals[0].line}: {found.refusals[0].reason}" if found.refusals else "it is empty."
        raise DocumentUnreadable(
            f"{path} holds no elements: {why}", remedy="Name a file of TLE, or of OMM as KVN, XML, JSON or CSV."
        )
    return found
