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
    """The next offset: what is new of every inbox, and `after` for those that are not read any more."""
    share = shared_out(limits, sum(inbox.end() > after.get(uuid, 0) for uuid, inbox in inboxes.items()))
    return {**after, **{uuid: inbox.admit(after.get(uuid, 0), share) for uuid, inbox in inboxes.items()}}


def shared_out(limits: Limits, sharers: int) -> Limits:
    """An equal share of the limits."""
    if sharers <= 1:
        return limits
    return replace(limits, rows=max(1, limits.rows // sharers), nbytes=max(1, limits.nbytes // sharers))


def waiting(inboxes: Mapping[str, Admitting], after: Mapping[str, int]) -> int:
    """How many events are there that were not admitted."""
    return sum(max(0, inbox.end() - after.get(uuid, 0)) for uuid, inbox in inboxes.items())
