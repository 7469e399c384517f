"""Opens sinks and decides, with the ledger's rules, where their lanes begin.

A sink that cannot be reached is tried again by its own lane while the others work; when it answers at last, its own
cursor is compared with ours. A lane that begins elsewhere than at the earliest batch must be reachable the first time:
its sink's cursor is moved to that place before ours is written, else a crash would make it look like a restored sink.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.checkpoint.cursors import CURSORS
from holdfast.deliver.classify import classify_opening
from holdfast.deliver.contract import SinkBatch
from holdfast.ledger.cursors import Cursors
from holdfast.ledger.lane import Start
from holdfast.ledger.ledger import Phase
from holdfast.ledger.resume import Batch, LaneStart, Resume, Route, lane_start
from holdfast.model.errors import CursorAhead, NotRetained, Transient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.ports import Outbox, PublishedBatch
    from holdfast.ledger.ledger import Ledger

logger = logging.getLogger(__name__)


def open_sink(lane: DeliveryLane) -> None:
    """Open the sink and ask for its cursor, for as long as it takes. Called by the lane's first worker."""
    cursor = lane.patiently(lambda: _open(lane), judge=classify_opening)
    with lane.core.changing():
        lane.cursor, lane.is_open = cursor, True
        if lane.is_member:
            _compare(lane, lane.core.ledger)


def read_what_is_known(store: CheckpointStore, outbox: Outbox, batches: Iterable[PublishedBatch]) -> Resume:
    """The cursors on disk and the batches in the outbox; what the sinks say is added later."""
    return Resume(
        cursors=store.get(CURSORS) or Cursors(delivered={}),
        batches=[Batch(batch.oseq, batch.positions) for batch in batches],
        last_oseq=outbox.last_oseq(),
        trimmed=outbox.trimmed(),
    )


def cursors_of(lanes: Iterable[DeliveryLane], known: Cursors) -> dict[str, int]:
    """What the open sinks say. A sink that has nothing, of a lane that we do not know, says nothing."""
    return {
        lane.name: lane.cursor
        for lane in lanes
        if lane.is_open and lane.cursor is not None and (lane.cursor > 0 or lane.name in known.delivered)
    }


def prepare_new_lane(lane: DeliveryLane, known: Resume) -> None:
    """Before our cursors name a lane for the first time: let its sink say where the lane begins."""
    if lane.name in known.cursors.delivered or (_is_from_the_first(lane) and not lane.is_open):
        return
    if not lane.is_open:
        raise Transient(
            f"Sink {lane.name!r} is new, starts at {lane.spec.start}, and cannot be reached: {lane.last_error}.",
            remedy="Make the sink reachable, or take it out of the pipeline.",
            lane=lane.name,
        )
    if lane.cursor == 0:
        start = lane_start(lane.spec.lane(), known)
        if start.delivered > 0:
            with lane.gate.alone():
                lane.sink.deliver(nothing(start.delivered))
            lane.cursor = start.delivered


def move_to_what_is_kept(lane: DeliveryLane, begins: int) -> None:
    """Let the sink of a lane that was detached say that it goes on where the outbox still is: it skips what is gone."""
    if lane.cursor is not None and lane.cursor < begins:
        with lane.gate.alone():
            lane.sink.deliver(nothing(begins, previous=lane.cursor))
        lane.cursor = begins


def stop_what_is_not_retained(lane: DeliveryLane, start: LaneStart, trimmed: int) -> None:
    """A sink that needs batches which are gone cannot go on by itself."""
    if start.route is Route.NOT_RETAINED:
        lane.stop(_not_retained(lane, start.delivered, trimmed))


def add_lane(lane: DeliveryLane, ledger: Ledger) -> LaneStart:
    """Add the lane of an open sink to a running ledger; refused when the sink needs batches that are gone."""
    cursors = ledger.cursors()
    held = cursors_of([lane], cursors)
    now = Resume(cursors, last_oseq=ledger.batches.last_oseq, trimmed=ledger.batches.released, sink_cursors=held)
    start = lane_start(lane.spec.lane(), now)
    if start.route is Route.NOT_RETAINED:
        raise _not_retained(lane, start.delivered, ledger.batches.released)
    return ledger.add_lane(lane.spec.lane(), sink_cursor=held.get(lane.name))


def told_what_is_missing(refusal: NotRetained, outbox: Outbox) -> NotRetained:
    """The refusal of a sink that needs batches which are gone, with the events that were in them."""
    missing = refusal.context.get("missing")
    ends = outbox.positions_at(missing[1]) if isinstance(missing, tuple) else {}
    if not ends:
        return refusal
    events = ", ".join(f"{source} up to {end}" for source, end in sorted(ends.items()))
    return NotRetained(
        f"{refusal.what} They came from {events}.",
        kept=refusal.kept,
        remedy=refusal.remedy,
        **refusal.context,
        positions=ends,
    )


def _is_from_the_first(lane: DeliveryLane) -> bool:
    start = lane.spec.start
    return isinstance(start, Start) and start.is_from_the_first


def _open(lane: DeliveryLane) -> int | None:
    with lane.gate.alone():
        try:
            lane.sink.open(lane.identity)
            return lane.sink.cursor()
        except BaseException:
            lane.sink.close()
            raise


def nothing(oseq: int, previous: int = 0) -> SinkBatch:
    """A batch without rows: it only moves the sink's own cursor."""
    return SinkBatch(oseq, previous, pa.table({}), pa.array([], pa.int64()))


def _compare(lane: DeliveryLane, ledger: Ledger) -> None:
    """The sink was opened after its lane began: its own cursor wins, both ways. What it has more, workers skip."""
    found, ours, batches = lane.cursor, ledger.lanes[lane.name].delivered, ledger.batches
    if found is None or found == ours:
        return
    if found > batches.last_oseq:
        lane.stop(
            CursorAhead(
                f"Sink {lane.name!r} has batch {found}, but the outbox never published more than {batches.last_oseq}.",
                remedy="The outbox was lost or replaced by an older copy: restore it, or give the sink a new name.",
                lane=lane.name,
            )
        )
    elif found < batches.released:
        lane.stop(_not_retained(lane, found, batches.released))
    elif found < ours and ledger.phase is Phase.RUNNING:
        logger.warning("lane %s: the sink has %d and we had recorded %d: delivering again", lane.name, found, ours)
        ledger.roll_back_lane(lane.name, found)


def _not_retained(lane: DeliveryLane, found: int, trimmed: int) -> NotRetained:
    return NotRetained(
        f"Sink {lane.name!r} has batch {found}, but batches up to {trimmed} are no longer kept.",
        remedy="Restore the sink from a newer copy, or add it again under a new name with a later start.",
        lane=lane.name,
        missing=(found + 1, trimmed),
    )
