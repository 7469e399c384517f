"""Cuts what was read where a transaction ends. Pure.

A transaction that was begun in an inbox must be let in to its end, whatever the quota says. So one is begun there only
when it is too large to be held back: otherwise a source whose reads never end with a transaction would know no quota.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from holdfast.capture.contract import Captured
from holdfast.log.cutting import position_of_row


def joined(read: Sequence[Captured]) -> Captured:
    """What was read piece by piece."""
    if len(read) == 1:
        return read[0]
    return Captured(pa.concat_batches([captured.events for captured in read]), read[-1].position)


def framed(captured: Captured) -> tuple[Captured, Captured | None]:
    """Everything up to the last end of a transaction, and what begins behind it; all of it when nothing ends there."""
    events = captured.events
    ends = np.flatnonzero(events["tx_end"].to_numpy(zero_copy_only=False))
    whole = int(ends[-1]) + 1 if len(ends) else events.num_rows
    if whole == events.num_rows:
        return captured, None
    position = position_of_row(events, whole - 1, captured.position)
    return Captured(events.slice(0, whole), position), Captured(events.slice(whole), captured.position)
