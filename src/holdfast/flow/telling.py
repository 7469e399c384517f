"""One structured line for each decision, as JSON; never one for each event."""

from __future__ import annotations

import asyncio
import json
import logging
from math import inf

log = logging.getLogger("holdfast.flow")

WHILE = 10.0
"""Seconds between two lines about what one edge drops."""


def tell(event: str, level: int = logging.INFO, /, **fields: object) -> None:
    """Write one line; the fields in the order given."""
    if log.isEnabledFor(level):
        log.log(level, "%s", json.dumps({"event": event, **fields}, default=str))


class Drops:
    """Counts what an edge does not take, and tells of it at most once in a while."""

    def __init__(self, edge: str, policy: str) -> None:
        self._edge = edge
        self._policy = policy
        self.count = 0
        """Items, ever."""
        self._told = 0
        self._told_at = -inf

    def dropped(self, items: int) -> None:
        """So many items were not taken. In a running event loop, whose time it goes by."""
        self.count += items
        now = asyncio.get_running_loop().time()
        if now - self._told_at >= WHILE:
            dropped, self._told, self._told_at = self.count - self._told, self.count, now
            tell("edge drops", logging.WARNING, edge=self._edge, policy=self._policy, dropped=dropped, total=self.count)
