"""`type: files`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from holdfast.capture.files import Follow, LogFiles
from holdfast.config.fields import Count, Duration, Size, Text
from holdfast.config.sources.base import SourceBlock
from holdfast.model.encoding import Encoding

if TYPE_CHECKING:
    from holdfast.capture.contract import Source


class LogFilesBlock(SourceBlock):
    """Log files that are followed however they are rotated; each line, or record of several lines, is an event."""

    local_paths: ClassVar[tuple[str, ...]] = ("paths",)

    type: Literal["files"]
    """Log files."""
    paths: list[Text] = Field(min_length=1)
    """Names of files, with `*`, `?`, `[…]` and `**`; rotated files should match too."""
    encoding: Annotated[Encoding, Field(strict=False)] = Encoding.UTF_8
    """How their bytes are text."""
    first_line: Text | None = None
    """A regular expression (RE2) for the first line of a record of several lines; without it, each line is a record."""
    max_bytes: Size = 1 << 20
    """What is kept of one record; a longer one says in a header how much was left out."""
    idle: Duration = timedelta(seconds=5)
    """How long what has no newline rests before it is given out as it is."""
    follow: Annotated[Follow, Field(strict=False)] = Follow.FOREVER
    """How long the files are followed."""
    fingerprint: Size = 1024
    """How much of its beginning tells a file from all others, up to 64KiB."""
    forget_after: Duration = timedelta(minutes=1)
    """When a file is forgotten that is gone and read."""
    max_open: Count | None = None
    """How many files are open at once; without it, a quarter of what the system allows."""

    def source(self) -> Source:
        """The files, followed."""
        return LogFiles(
            *self.paths,
            name=self.label,
            encoding=self.encoding,
            first_line=self.first_line,
            max_bytes=self.max_bytes,
            idle=self.idle.total_seconds(),
            follow=self.follow,
            fingerprint=self.fingerprint,
            forget_after=self.forget_after.total_seconds(),
            max_open=self.max_open,
        )
