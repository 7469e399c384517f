"""Reads the logs between the edge and the tables, beside whoever writes them: how far each is, and what was given up.

A log that is not there yet is an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.log import DeadLetterFilter, DeadLetterReader, EntryState, Fate, InboxReader, outbox_index
from holdfast.log.dead_entry import SINK
from holdfast.log.opening import open_to_read
from holdfast.model.errors import LogMissing
from holdfast.model.positions import LogPosition, SiftedPosition
from holdfast.runtime.layout import Layout
from meridian.service.seen import DeadLetters, FeedSeen

if TYPE_CHECKING:
    from holdfast.log import Published

_GIVEN_UP = (Fate.RECORDED, Fate.REFUSED)


def published(pipeline: Path, *, upto: int, count: int) -> list[Published]:
    """The last batches of Spark up to a number, oldest first; those that the outbox has forgotten are not there.

    :param pipeline: what the pipeline keeps.
    """
    try:
        index, _ = open_to_read(Layout(pipeline).outbox, outbox_index.KIND)
    except LogMissing:
        return []
    with closing(index), index.reading() as db:
        return outbox_index.select(db, "oseq <= ? AND oseq > ? AND batch_id >= 0", upto, upto - count)


def feeds(pipeline: Path, judged: Published | None) -> list[FeedSeen]:
    """How far the logs of the edge have come in.

    :param judged: the batch that the newest row of the progress tells of.
    """
    inboxes = pipeline / "inbox"
    places = sorted(path for path in inboxes.iterdir() if path.is_dir()) if inboxes.is_dir() else []
    return [found for place in places if (found := _feed(place, judged.ends if judged else {})) is not None]


def _feed(place: Path, judged: Mapping[str, int]) -> FeedSeen | None:
    try:
        reader = InboxReader.open(place)
    except LogMissing:
        return None
    with closing(reader):
        end = reader.end()
        position = reader.position_at(end)
        passed = position.seq if isinstance(position, LogPosition | SiftedPosition) else end
        shed = position.left_out if isinstance(position, SiftedPosition) else 0
        return FeedSeen(log=reader.name, passed=passed, captured=end, judged=judged.get(reader.uuid, 0), shed=shed)


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What became dead letters in one place.

    :param again: of those of steps, how many were given to them again.
    """

    letters: Sequence[DeadLetters] = ()
    again: int = 0

    @property
    def of_steps(self) -> int:
        """How many events no step could take, and none was given again: rows that a table refused are not events."""
        return sum(each.count for each in self.letters if not each.operator.startswith(SINK)) - self.again


def given_up(place: Path) -> GivenUp:
    """Everything that was ever given up, by place and kind.

    :param place: of the dead letters.
    """
    try:
        reader = DeadLetterReader.open(place)
    except LogMissing:
        return GivenUp()
    with reader:
        tallied = reader.tallies()
        again = reader.counts(DeadLetterFilter(states=frozenset({EntryState.REPROCESSED})))
    counts: dict[tuple[str, str], int] = {}
    for (where, fate), count in tallied.items():
        if fate in _GIVEN_UP:
            counts[where] = counts.get(where, 0) + count
    letters = sorted(DeadLetters(stage, kind, count) for (stage, kind), count in counts.items())
    return GivenUp(letters, sum(count for where, count in again.items() if not where.stage.startswith(SINK)))
