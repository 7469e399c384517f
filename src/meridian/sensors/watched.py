"""The objects that somebody may have to act on, as fusion publishes them beside the logs of an edge."""

from __future__ import annotations

import json
import logging
from collections.abc import Set
from pathlib import Path

log = logging.getLogger(__name__)

FILE = "watched.json"
_Stamp = tuple[int, int, int]


class Watched:
    """What the file says, read again when it changes. One that is torn or missing changes nothing.

    :param directory: the `output_dir` of the edge.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._stamp: _Stamp | None = None
        self._objects: Set[str] = frozenset()
        self.refused = 0
        """How often the file said nothing that can be understood."""

    def objects(self) -> Set[str]:
        """The objects by the newest file that could be read."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            self._read_again()
        return self._objects

    def _stamp_now(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _read_again(self) -> None:
        try:
            self._objects = frozenset(_objects_in(self._path.read_text()))
        except (OSError, ValueError, RecursionError) as error:
            self.refused += 1
            log.warning("watched objects stay as they were: %s: %s", self._path, error)


def _objects_in(text: str) -> list[str]:
    said = json.loads(text)
    objects = said.get("objects") if isinstance(said, dict) else None
    if not isinstance(objects, list) or not all(isinstance(name, str) for name in objects):
        message = 'it is not {"objects": [names]}'
        raise ValueError(message)
    return objects
