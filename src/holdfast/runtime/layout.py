"""Where the parts of a pipeline lie in its directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The directory of one pipeline."""

    root: Path

    def inbox(self, source: str) -> Path:
        """The inbox of a source."""
        return self.root / "inbox" / source

    @property
    def outbox(self) -> Path:
        """The outbox."""
        return self.root / "outbox"

    @property
    def dead_letters(self) -> Path:
        """The dead letters."""
        return self.root / "dead"

    def disks(self) -> tuple[Path, ...]:
        """The directories that may lie on disks of their own."""
        return (self.root, self.root / "inbox", self.outbox, self.dead_letters)

    @property
    def checkpoints(self) -> Path:
        """The checkpoint store of the kind `sqlite`: cursors, history of runs, known sources."""
        return self.root / "checkpoints.db"

    @property
    def checkpoint_files(self) -> Path:
        """The checkpoint store of the kind `file`."""
        return self.root / "checkpoints"

    @property
    def checkpoint_kind(self) -> Path:
        """Says which kind of checkpoint store is in use."""
        return self.root / "checkpoint-store.json"

    @property
    def points(self) -> Path:
        """Copies of Spark's checkpoint to go back to."""
        return self.root / "points"

    @property
    def log(self) -> Path:
        """What the process that runs the pipeline logs."""
        return self.root / "log" / "holdfast.log"

    @property
    def spark_log(self) -> Path:
        """What Spark's JVM and its Python workers print."""
        return self.root / "log" / "spark.log"

    def spark(self, generation: int) -> Path:
        """Spark's checkpoint directory of a generation."""
        return self.root / "spark" / str(generation)
