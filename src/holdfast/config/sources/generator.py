"""`type: generator`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from holdfast.config.fields import Block, Count, Duration, Positive, Whole
from holdfast.config.sources.base import SourceBlock

if TYPE_CHECKING:
    from holdfast.capture.contract import Source


class PaceBlock(Block):
    """How fast events come."""

    rate: Positive
    """Events a second."""
    burst: Positive = 1.0
    """How many times as many come in the first tenth of every `every`."""
    every: Duration = timedelta(seconds=10)
    """How long it takes from one burst to the next."""


class GeneratorBlock(SourceBlock):
    """Made-up orders, the same on every run but for their times: an order happens when it is read."""

    type: Literal["generator"]
    """Made-up orders."""
    events: Whole | None = None
    """How many there are; without it there is no end."""
    transactions: list[Count] = Field(default=[1], min_length=1)
    """The sizes of transactions, repeated in turn."""
    pace: PaceBlock | None = None
    """How fast they come; without it, as fast as they are read."""
    chunk: Count = 8192
    """How many events one read gives at most."""
    padding: Whole = 0
    """How many bytes of text every order carries besides its numbers."""

    def source(self) -> Source:
        """A generator of orders."""
        from holdfast.capture.generator import Generator, Pace

        pace = Pace(self.pace.rate, self.pace.burst, self.pace.every.total_seconds()) if self.pace else None
        return Generator(
            self.label,
            events=self.events,
            transactions=tuple(self.transactions),
            pace=pace,
            chunk=self.chunk,
            padding=self.padding,
        )
