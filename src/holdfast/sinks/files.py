"""Delivers to files in a directory: Parquet or JSON lines, each batch under names of its own.

A name is made of the lane, the outbox, the oseq and the number of the part, and is given by a link that refuses to
replace. So a batch that is delivered again, by whomever, finds its files there and changes nothing; no cursor is kept
and none is needed. Batches are independent of one another, so several may be written at once.

A file never stays open between two deliveries: a batch that is larger than `rotate_at` is cut into parts, a smaller one
is a file by itself. Merging small files is left to others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

import pyarrow as pa

from holdfast.deliver.contract import GoingBack, LaneIdentity, Ordering, Sink, SinkBatch, Tier
from holdfast.model.errors import Fatal, InvalidPipeline
from holdfast.model.steps import Step
from holdfast.sinks.filesystem.folder import Folder
from holdfast.sinks.filesystem.formats import Format, write_parts

if TYPE_CHECKING:
    import os

_OUTBOX_DIGITS = 8


class Files(Sink):
    """A directory on a file system that knows hard links; it is made when it does not exist, below one that does.

    :param rotate_at: the size in bytes from which a batch goes on in another file. It is looked at between groups of
        rows, so files become somewhat larger.
    """

    kind: ClassVar[str] = "files"
    tier = Tier.EXACTLY_ONCE_FILES
    ordering = Ordering.CONCURRENT

    def __init__(
        self, directory: str | os.PathLike[str], *, format: Format = Format.PARQUET, rotate_at: int = 64 << 20
    ) -> None:
        if rotate_at < 1:
            raise InvalidPipeline(
                f"Files cannot be rotated at {rotate_at} bytes.", remedy="Let rotate_at be a positive number of bytes."
            )
        self._directory = Path(directory).absolute()
        self._format = format
        self._rotate_at = rotate_at
        self._lane: LaneIdentity | None = None

    def open(self, identity: LaneIdentity) -> None:
        """Make the directory, and remove what a crash left half written."""
        self._folder(identity).prepare()
        self._lane = identity

    def cursor(self) -> None:
        """Files keep no cursor: delivering again changes nothing."""

    def deliver(self, batch: SinkBatch) -> None:
        """Write all parts under hidden names, then give them their names one after another."""
        lane = self._opened()
        if not batch.rows.num_rows:
            return
        lane.hook(Step.SINK_WRITE)
        with self._folder(lane).drafts(batch.oseq, self._format.value) as drafts:
            write_parts(batch.rows, self._format, self._rotate_at, drafts.new)
            drafts.sync()
            for name in drafts.names:
                lane.hook(Step.SINK_COMMIT)
                drafts.publish(name)
            drafts.sync_names()
        lane.hook(Step.SINK_COMMITTED)

    def probe(self, batch: SinkBatch) -> None:
        """Convert the rows and throw the bytes away."""
        self._opened()
        write_parts(batch.rows, self._format, self._rotate_at, pa.MockOutputStream)

    def going_back(self) -> GoingBack:
        """The names tell the batches, so those of later ones can be removed."""
        return GoingBack.ENDS_EQUAL

    def go_back(self, oseq: int) -> None:
        """Remove the files of later batches."""
        self._folder(self._opened()).remove_behind(oseq)

    def close(self) -> None:
        """Nothing is held between deliveries."""
        self._lane = None

    def _folder(self, lane: LaneIdentity) -> Folder:
        outbox = lane.outbox.replace("-", "")[:_OUTBOX_DIGITS]
        return Folder(self._directory, prefix=f"{quote(lane.lane, safe='')}-{outbox}", epoch=lane.epoch)

    def _opened(self) -> LaneIdentity:
        if self._lane is None:
            raise Fatal(
                f"The directory {self._directory} is not open.", remedy="Open the sink with the lane's identity first."
            )
        return self._lane
