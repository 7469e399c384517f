"""What the durable logs speak in: where rows lie, how much may be taken, what was appended, published and kept.

Values only. They travel to Spark's workers, so this module imports neither SQLite nor a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdfast.model.errors import InvalidPipeline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from holdfast.model.positions import Position


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of events that lies in one piece in one file: an Arrow IPC stream of one record batch."""

    first_seq: int
    last_seq: int
    file: str
    """Relative to the log's directory."""
    offset: int
    length: int
    crc32c: int
    tx_ends: tuple[int, ...] | None
    """The seqs in it that end a transaction; None when every row does."""
    position: str
    """Where the source stands after its last row, as the JSON text of a stored position."""

    @property
    def rows(self) -> int:
        """How many events it holds."""
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class PartRef:
    """One file of an outbox batch, written by one task of Spark."""

    file: str
    """Its name in the directory of the parts."""
    rows: int
    length: int
    """The size of the file."""
    crc32c: int
    nbytes: int
    """What the rows take in memory."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What a batch contained: equal rows in any order have equal digests."""

    rows: int
    hash_sum: int
    """The sum of the rows' 64-bit hashes, modulo 2^64."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a reader wants at once. At least one transaction, or one row, is given whatever its size."""

    rows: int
    nbytes: int
    whole_transactions: bool = True
    """Whether a range must end where a transaction of the source does."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append or a push became. Without rows, `first_seq` is the number behind `last_seq`."""

    first_seq: int
    last_seq: int
    left_out: int = 0
    """Events whose idempotency key was consumed before."""

    @property
    def rows(self) -> int:
        """How many events were appended."""
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class Keep:
    """Bounds that keep events longer than their readers need them. They never shorten anything."""

    age: timedelta | None = None
    """What is younger stays."""
    nbytes: int | None = None
    """The newest events stay, up to this size."""

    def check_against(self, quota: int | None) -> None:
        """Refuse to keep so much that a capture which waits for room would get none."""
        if self.nbytes is not None and quota is not None and self.nbytes > quota // 2:
            raise InvalidPipeline(
                f"An inbox is to keep {self.nbytes} bytes, but capture waits once it holds {quota}.",
                remedy="Keep at most half of the quota, or raise it.",
            )


@dataclass(frozen=True, slots=True)
class Retained:
    """What a log still has."""

    rows: int
    nbytes: int
    first_seq: int
    """The first number it has, or would have."""
    held_by: Mapping[str, int] = field(default_factory=dict)
    """Whose cursor stands where; the lowest one holds the rest."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a trim forgot, and what it left behind."""

    rows: int
    nbytes: int
    retained: Retained


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """A micro-batch of Spark whose parts are on disk and that is to be published."""

    batch_id: int
    query_id: str
    fingerprint: str
    """Of the steps that computed it."""
    starts: Mapping[str, int]
    """For each inbox by uuid, the last seq before the batch."""
    ends: Mapping[str, int]
    """For each inbox by uuid, the last seq in the batch."""
    positions: Mapping[str, Position]
    """For each source by name, where it stands after the batch."""
    parts: tuple[PartRef, ...]
    """In the order in which their rows are to be read."""
    digest: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(NewBatch):
    """A batch of the outbox."""

    oseq: int
    generation: int
    published_at: datetime

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.digest.rows

    @property
    def nbytes(self) -> int:
        """What its parts take on disk."""
        return sum(part.length for part in self.parts)


class Range(NamedTuple):
    """The events of an inbox behind `after` and up to `upto`, by their numbers in the log."""

    inbox: str
    after: int
    upto: int

    @property
    def events(self) -> int:
        """How many they are."""
        return self.upto - self.after
