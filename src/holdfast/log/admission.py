"""How much of its inboxes a pipeline takes into the next micro-batch.

The limits are shared out evenly, so that no inbox starves the others; where a range may end each inbox decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.log.values import Limits


class Admitting(Protocol):
    """An inbox, as far as admission looks at it."""

    def end(self) -> int:
        """The last seq that ends a transaction."""

    def admit(self, after: int, limits: Limits) -> int:
        """The end of the next range within the limits."""


def admitted(inboxes: Mapping[str, Admitting], after: Mapping[str, int], limits: Limits) -> dict[str, int]:
    """The next offset: what is new of every inbox, and `after` for those that are not read any more.

    Each has an equal share of the rows, and what one does not need of it the others have; whoever has the fewest rows
    comes first. Of the bytes each has an equal share and no more, since nobody knows beforehand how many it needs.
    """
    news = {uuid: inbox.end() - after.get(uuid, 0) for uuid, inbox in inboxes.items()}
    waits = sorted((uuid for uuid, count in news.items() if count > 0), key=news.__getitem__)
    upto, left = dict(after) | {uuid: after.get(uuid, 0) for uuid in inboxes}, limits.rows
    for place, uuid in enumerate(waits):
        rows, nbytes = left // (len(waits) - place), limits.nbytes // len(waits)
        share = replace(limits, rows=max(1, rows), nbytes=max(1, nbytes))
        upto[uuid] = inboxes[uuid].admit(upto[uuid], share)
        left = max(0, left - (upto[uuid] - after.get(uuid, 0)))
    return upto


def waiting(inboxes: Mapping[str, Admitting], after: Mapping[str, int]) -> int:
    """How many events are there that were not admitted."""
    return sum(max(0, inbox.end() - after.get(uuid, 0)) for uuid, inbox in inboxes.items())
