"""What a sink missed while its lane was detached. Values only; the ledger keeps them with the cursors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Batches that a sink was not given, because its lane was detached while they went by."""

    after: int
    """The last batch before them that the lane had resolved."""
    through: int | None = None
    """The last of them; None while the lane is detached, and the gap grows."""


Gaps = tuple[Gap, ...]
"""All gaps of a sink, ascending. Its lane is detached while the last one is open."""


def is_detached(gaps: Gaps) -> bool:
    """Whether the lane is left out until somebody attaches it again."""
    return bool(gaps) and gaps[-1].through is None


def closed(gaps: Gaps, through: int, had: int | None) -> Gaps:
    """The gaps once the lane goes on after batch `through`; a gap without a batch in it is none.

    :param had: what the sink itself says it had: less than we thought, when it was restored or replaced meanwhile. It
        never counts as more, because an attempt to attach that a crash cut short may have moved the sink's cursor.
    """
    *before, last = gaps
    after = last.after if had is None else min(last.after, had)
    return (*before, Gap(after, through)) if through > after else tuple(before)
