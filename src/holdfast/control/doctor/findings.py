"""What the doctor can find in a pipeline's directory, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.control.doctor.repairs import Repair


class Severity(Enum):
    """What becomes of it when nobody acts."""

    BREAKS_START = "breaks the start"
    MISSES = "starts, and misses something"
    LOSES_NOTHING = "loses nothing"
    LEFTOVER = "leftover"


class Code(Enum):
    """What can be wrong. A code never changes its meaning."""

    STORE_MISSING = "store-missing"
    STORE_UNREACHABLE = "store-unreachable"
    STORE_DAMAGED = "store-damaged"
    STORE_FOREIGN = "store-foreign"
    STORE_NEWER = "store-newer-format"
    STORE_OLDER = "store-older-format"
    STORE_EPOCH_BEHIND = "store-epoch-behind"
    VERSION_DAMAGED = "version-damaged"
    VERSION_OLDER_DAMAGED = "older-version-damaged"
    VERSIONS_UNLISTABLE = "versions-unlistable"
    VERSIONS_HOLE = "versions-hole"
    CLOCK_WENT_BACK = "clock-went-back"
    CURSORS_UNREADABLE = "cursors-unreadable"
    CURSORS_IMPOSSIBLE = "cursors-impossible"
    RECORD_UNREADABLE = "record-unreadable"
    CURSOR_AHEAD = "cursor-ahead-of-outbox"
    CURSOR_BEHIND = "cursor-behind-outbox"
    LOG_GONE = "log-gone"
    LOG_REPLACED = "log-replaced"
    LOG_UNKNOWN = "log-unknown"
    INDEX_MISSING = "index-missing"
    INDEX_DAMAGED = "index-damaged"
    INDEX_FOREIGN = "index-foreign"
    INDEX_NEWER = "index-newer-format"
    INDEX_OLDER_COPY = "index-older-copy"
    DATA_MISSING = "data-missing"
    DATA_SHORT = "data-short"
    DATA_DAMAGED = "data-damaged"
    DATA_HOLE = "data-hole"
    DATA_UNNAMED = "data-unnamed"
    DATA_TAIL = "data-tail"
    ENTRIES_OLDER = "dead-letters-older-format"
    ENTRY_UNREADABLE = "dead-letter-unreadable"
    GENERATION_UNFINISHED = "generation-unfinished"
    GENERATION_BEHIND = "generation-behind"
    SPARK_MISSING = "spark-checkpoint-missing"
    SPARK_METADATA_TORN = "spark-metadata-torn"
    SPARK_QUERY_FOREIGN = "spark-query-foreign"
    SPARK_OFFSET_TORN = "spark-offset-torn"
    SPARK_OFFSET_HOLE = "spark-offset-hole"
    SPARK_COMMIT_TORN = "spark-commit-torn"
    SPARK_COMMIT_HOLE = "spark-commit-hole"
    SPARK_COMMIT_ALONE = "spark-commit-without-offset"
    SPARK_VERSION_UNKNOWN = "spark-version-unknown"
    SPARK_CHECKSUM_WRONG = "spark-checksum-wrong"
    SPARK_STATE_MISSING = "spark-state-missing"
    SPARK_ENDS_DIFFER = "spark-ends-differ"
    SPARK_AHEAD_OF_OUTBOX = "spark-ahead-of-outbox"
    SPARK_AHEAD_OF_INBOX = "spark-ahead-of-inbox"
    SPARK_BEHIND_INBOX = "spark-behind-inbox"
    SPARK_BEHIND_OUTBOX = "spark-behind-outbox"
    SPARK_LEFTOVER = "spark-leftover"
    OWNER_UNREADABLE = "owner-unreadable"
    SOCKET_STALE = "socket-stale"
    DOCUMENT_DRAFT = "document-draft"
    DOCUMENT_UNREADABLE = "document-unreadable"
    DISK_FULL = "disk-full"
    NOT_OURS = "not-ours"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    code: Code
    severity: Severity
    what: str
    """What is wrong, a whole sentence."""
    place: Path
    kept: str
    """What is safe all the same, a whole sentence."""
    remedy: str
    """What somebody can do about it, a whole sentence."""
    offset: int | None = None
    """Where in the file."""
    repair: Repair | None = None
    """What the doctor does about it when it is told to; None when that could lose something."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong in a pipeline's directory."""

    directory: Path
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What can be repaired, each once and in the order in which it is to be done."""
        return tuple(dict.fromkeys(finding.repair for finding in self.findings if finding.repair is not None))
