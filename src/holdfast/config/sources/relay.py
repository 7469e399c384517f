"""`type: relay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from holdfast.config.fields import Text
from holdfast.config.sources.base import SourceBlock

if TYPE_CHECKING:
    from holdfast.capture.contract import Source


class RelayBlock(SourceBlock):
    """A durable log that another process writes, such as the inbox of another pipeline."""

    local_paths: ClassVar[tuple[str, ...]] = ("directory",)

    type: Literal["relay"]
    """Another process's log."""
    directory: Text
    """Where the log lies."""

    def source(self) -> Source:
        """The log's follower."""
        from holdfast.capture.relay import Relay

        return Relay(self.directory, name=self.label)
