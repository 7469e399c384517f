"""`type: stdin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from holdfast.capture.stdin import Stdin
from holdfast.config.fields import Size
from holdfast.config.sources.base import SourceBlock
from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidSource

if TYPE_CHECKING:
    from holdfast.capture.contract import Source


class StdinBlock(SourceBlock):
    """Lines from standard input. They come once: what is not in the inbox when the process dies is lost."""

    type: Literal["stdin"]
    """Standard input."""
    encoding: Annotated[Encoding, Field(strict=False)] = Encoding.UTF_8
    """How its bytes are text."""
    max_bytes: Size = 1 << 20
    """What is kept of one line; a longer one says in a header how much was left out."""

    def source(self) -> Source:
        """The lines; `InvalidSource` when this process has no standard input."""
        try:
            return Stdin(self.label, encoding=self.encoding, max_bytes=self.max_bytes)
        except (OSError, ValueError, AttributeError) as error:
            raise InvalidSource(
                f"This process has no standard input ({error}).", remedy="Start it with something to read from."
            ) from error
