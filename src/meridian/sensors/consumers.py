"""Who reads the logs of an edge and how far each has come: small files beside the logs, one for each consumer.

Only the edge may write to its logs, and its consumers are other processes: so they leave word, and the edge reads it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.disk.files import replace_file
from holdfast.log import Keep
from holdfast.log.oserrors import damaged
from holdfast.model.errors import InvalidSource

if TYPE_CHECKING:
    from holdfast.log import Inbox

FOLDER = "consumers"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_ITSELF = "edge"
"""The cursor of the edge on its raw logs, which nobody else reads."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """One reader of one log."""

    log: str
    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidSource(
                f"{self.name!r} cannot be the name of a consumer.",
                remedy="Name it with letters, digits, hyphens and underscores.",
            )

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.log}.{self.name}.json"


def declare(directory: Path, consumer: Consumer, seq: int, *, left_out: int = 0) -> None:
    """Leave word that a consumer is done with events up to this one; it is on disk when this returns.

    :param left_out: how many of them it never looked at.
    """
    folder = directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / consumer.file, json.dumps({"seq": seq, "left_out": left_out}))


def last_word(directory: Path, consumer: Consumer) -> tuple[int, int] | None:
    """Up to where a consumer said it is done, and how many it had left out; nothing when it never said so."""
    try:
        return _word_in(directory / FOLDER / consumer.file)
    except FileNotFoundError:
        return None


def declared(directory: Path, log: str) -> dict[str, int]:
    """The consumers of a log, and how far each has come."""
    found = {}
    for path in sorted((directory / FOLDER).glob(f"{log}.*.json")):
        name = path.name.removeprefix(f"{log}.").removesuffix(".json")
        if _NAME.fullmatch(name):
            found[name], _ = _word_in(path)
    return found


def _word_in(path: Path) -> tuple[int, int]:
    """What a consumer left; `LogDamaged` when it cannot be read. To take it for none could forget what it needs."""
    content = path.read_bytes()
    try:
        said = json.loads(content)
        seq, left_out = said["seq"], said.get("left_out", 0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(path, 0, f"it does not say how far its consumer has come ({error!r})") from error
    if type(seq) is not int or type(left_out) is not int or not 0 <= left_out <= seq < 2**63:
        raise damaged(path, 0, "it does not say how far its consumer has come")
    return seq, left_out


@dataclass(frozen=True, slots=True)
class Retention:
    """Lets the logs of one source forget what all of its consumers have done, once it is old enough.

    What is done is kept so that alerts can be traced back to it. A log that fills its quota would slow its source down:
    so from half of the quota on what nobody needs is forgotten, however young it is.

    :param age: so long observations are kept, and `raw_age`, the bytes of the wire.
    :param quota: of each of the two logs, in bytes.
    """

    directory: Path
    inbox: Inbox
    raw: Inbox | None
    age: timedelta
    raw_age: timedelta
    quota: int | None = None

    def lags(self) -> dict[str, int]:
        """How many events each consumer is behind."""
        end = self.inbox.end()
        return {name: end - seq for name, seq in self.inbox.cursors().items()}

    def tend(self) -> None:
        """Take over what consumers left, and forget. While nobody has declared itself, observations are kept."""
        before = self.inbox.cursors()
        for name, seq in declared(self.directory, self.inbox.name).items():
            if seq > before.get(name, -1):
                self.inbox.set_cursor(name, seq)
        self.inbox.trim(keep=self._keep(self.inbox, self.age))
        if self.raw is not None:
            self._tend_raw(self.raw)

    def _tend_raw(self, raw: Inbox) -> None:
        if raw.cursors().get(_ITSELF) != raw.end():
            raw.set_cursor(_ITSELF, raw.end())
        raw.trim(keep=self._keep(raw, self.raw_age))

    def _keep(self, log: Inbox, age: timedelta) -> Keep:
        half = None if self.quota is None else self.quota // 2
        return Keep(age=age) if half is None or log.retained().nbytes <= half else Keep(nbytes=half)
