"""From which input the next item is taken: a pure choice.

In turns, the order follows from the sequence numbers alone, so a restarted operator meets its items in the order of
the first run and its outputs keep their numbers; it waits for an input whose turn it is. By arrival, nobody waits, and
a second run may differ from the first: right where a restart sets all operators back together.

Inputs of very different rates do not suit turns. Merge them in a durable log first and read that as one input.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Merge(Enum):
    """How an operator with several inputs takes them."""

    ARRIVAL = "what is there, each input in its turn"
    TURNS = "by sequence number, the inputs in their order; waits for the one whose turn it is"


def next_by_arrival(inputs: Sequence[str], ready: Collection[str], last: str | None) -> str | None:
    """The first input with a message, looking round from the one behind `last`; None when no input has any."""
    start = inputs.index(last) + 1 if last is not None else 0
    return next((name for name in (*inputs[start:], *inputs[:start]) if name in ready), None)


def next_in_turn(inputs: Sequence[str], ready: Collection[str], highest: Mapping[str, int]) -> str | None:
    """The input whose turn it is when it has a message, None otherwise.

    :param highest: the highest number applied of every input that has not ended.
    """
    turn = min((name for name in inputs if name in highest), key=highest.__getitem__, default=None)
    return turn if turn in ready else None
