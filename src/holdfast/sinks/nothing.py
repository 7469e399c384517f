"""A sink that keeps nothing, to measure what comes before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from holdfast.deliver.contract import Ordering, Sink, Tier

if TYPE_CHECKING:
    from holdfast.deliver.contract import LaneIdentity, SinkBatch


class Nothing(Sink):
    """Takes every batch at once and forgets it."""

    kind: ClassVar[str] = "nothing"
    tier: ClassVar[Tier] = Tier.AT_LEAST_ONCE
    ordering: ClassVar[Ordering] = Ordering.CONCURRENT

    def open(self, identity: LaneIdentity) -> None:
        """Nothing to open."""

    def cursor(self) -> int | None:
        """It remembers nothing."""
        return None

    def deliver(self, batch: SinkBatch) -> None:
        """Forget it."""

    def probe(self, batch: SinkBatch) -> None:
        """It would be taken."""

    def close(self) -> None:
        """Nothing to close."""
