"""What all sources of a document have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from holdfast.config.fields import Block, Name

if TYPE_CHECKING:
    from holdfast.capture.contract import Input


class SourceBlock(Block, ABC):
    """Where events come from."""

    type: str
    name: Name | None = None
    """What its inbox is called; the `type` when it is not given. Another name means reading from the beginning."""

    @property
    def label(self) -> str:
        """Its name."""
        return self.name or self.type

    @abstractmethod
    def source(self) -> Input:
        """The adapter. Its client library is imported here and not before; nothing is opened."""
