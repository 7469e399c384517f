"""The catalog of an operation: elements of objects in one file, taken in from files of any form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.disk.files import replace_file
from holdfast.model.errors import DocumentUnreadable
from meridian.orbit import CatalogFile, Elements, Refusal, format_json, read_catalog
from meridian.orbit.texts import LARGEST_FILE, NotText, decoded


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
    """The first of them, with their places."""
    refused: Mapping[str, int]
    """How many there were in all, by field."""
    total: int


def read_elements(path: Path) -> list[Elements]:
    """The elements of a catalog; `DocumentUnreadable` when it cannot be read whole.

    A catalog is written by `import_elements` alone. One in which a set cannot be read is damaged, and whatever is
    computed from the rest would leave objects out without a word.
    """
    found = _read(path)
    if found.refused:
        raise DocumentUnreadable(
            f"The catalog {path} is damaged: {sum(found.refused.values()):,} element sets cannot be read, "
            f"the first: {found.refusals[0].reason.what}",
            remedy="Move it away and import the elements again with `meridian catalog import`.",
        )
    return list(found.elements)


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
    return Imported(added, renewed, kept, found.refusals, found.refused, len(known))


def write_elements(path: Path, elements: Sequence[Elements]) -> None:
    """Put a catalog in place whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, format_json(sorted(elements, key=lambda each: each.object_id)))


def _read(path: Path) -> CatalogFile:
    found = read_catalog(_text(path))
    if not found.elements:
        raise DocumentUnreadable(
            f"{path} holds no element set that can be read{_why(found)}",
            remedy="Name a file of TLE, or of OMM as KVN, XML, JSON or CSV.",
        )
    return found


def _text(path: Path) -> str:
    remedy = "Name a file of TLE or OMM, in UTF-8."
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            what = f"{path} is larger than {LARGEST_FILE // 2**20} MiB, and nothing of it was read."
            raise DocumentUnreadable(what, remedy="Import it in parts.")
        return decoded(data)
    except OSError as error:
        raise DocumentUnreadable(f"{path} cannot be read: {error.strerror}.", remedy=remedy) from error
    except NotText as error:
        raise DocumentUnreadable(f"{path} cannot be read: {error}.", remedy=remedy) from error


def _why(found: CatalogFile) -> str:
    if not found.refusals:
        return ": it is empty."
    return f": {sum(found.refused.values()):,} were refused, the first: {found.refusals[0].reason.what}"
