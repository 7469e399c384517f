"""What people call the objects of an operation: the names in its catalog, read again when the catalog changes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from holdfast.model.errors import HoldfastError
from meridian.operation.catalog import read_elements
from meridian.service.values import ConjunctionSeen, WordSaid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meridian.orbit import Elements

log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]
_Pair = TypeVar("_Pair", ConjunctionSeen, WordSaid)


class Names:
    """The names of objects by catalog number. Without a readable catalog there are none.

    :param catalog: the catalog of the operation.
    """

    def __init__(self, catalog: Path) -> None:
        self._catalog = catalog
        self._stamp: _Stamp | None = None
        self._names: Mapping[str, str] = {}

    def of(self, pairs: Sequence[_Pair]) -> list[_Pair]:
        """The same pairs with the names of their objects."""
        names = self._current()
        return [
            replace(each, name_a=names.get(each.object_a, ""), name_b=names.get(each.object_b, "")) for each in pairs
        ]

    def _current(self) -> Mapping[str, str]:
        stamp = _stamp_of(self._catalog)
        if stamp != self._stamp:
            self._stamp = stamp
            self._names = {} if stamp is None else self._read()
        return self._names

    def _read(self) -> Mapping[str, str]:
        try:
            return distinct(read_elements(self._catalog))
        except HoldfastError as error:
            log.warning("objects are shown by number, because %s cannot be read: %s", self._catalog, error)
            return {}


def distinct(catalog: Sequence[Elements]) -> dict[str, str]:
    """The name of each object that has one; several objects of one name are told apart by their numbers."""
    shared = Counter(each.name for each in catalog)
    return {
        each.object_id: each.name if shared[each.name] == 1 else f"{each.name} ({each.object_id})"
        for each in catalog
        if each.name
    }


def _stamp_of(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
