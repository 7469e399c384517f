"""`type: files`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from holdfast.config.fields import Count, Size, Text
from holdfast.config.sinks.base import SinkBlock
from holdfast.sinks.filesystem.formats import Format

if TYPE_CHECKING:
    from holdfast.deliver import Sink


class FilesBlock(SinkBlock):
    """Files in a directory, each batch under names of its own."""

    local_paths: ClassVar[tuple[str, ...]] = ("directory",)

    type: Literal["files"]
    """Files in a directory."""
    directory: Text
    """The directory, made when it does not exist below one that does."""
    format: Annotated[Format, Field(strict=False)] = Format.PARQUET
    """What a file holds."""
    rotate_at: Size = 64 << 20
    """The size from which a batch goes on in another file."""
    max_inflight: Count = 1
    """How many batches may be on their way at once."""

    def sink(self) -> Sink:
        """A directory of files."""
        from holdfast.sinks.files import Files

        return Files(self.directory, format=self.format, rotate_at=self.rotate_at)

    @property
    def inflight(self) -> int:
        """As many as the document says."""
        return self.max_inflight
