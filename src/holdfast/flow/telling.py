"""One structured line for each decision, as JSON; never one for each event."""

from __future__ import annotations

import json
import logging

log = logging.getLogger("holdfast.flow")


def tell(event: str, level: int = logging.INFO, /, **fields: object) -> None:
    """Write one line; the fields in the order given."""
    if log.isEnabledFor(level):
        log.log(level, "%s", json.dumps({"event": event, **fields}, default=str))


class Drops:
    """Counts what an edge does not take, and tells when that begins and when it ends."""

    def __init__(self, edge: str, policy: str) -> None:
        self._edge = edge
        self._policy = policy
        self.count = 0
        """Items, ever."""
        self._ended_at = 0

    def dropped(self, items: int) -> None:
        """So many items were not taken."""
        if self.count == self._ended_at:
            tell("edge drops", logging.WARNING, edge=self._edge, policy=self._policy, dropped_before=self.count)
        self.count += items

    def took(self) -> None:
        """A whole batch was taken."""
        if self.count > self._ended_at:
            dropped, self._ended_at = self.count - self._ended_at, self.count
            tell("edge has room again", edge=self._edge, policy=self._policy, dropped=dropped)
