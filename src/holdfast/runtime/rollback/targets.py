"""Where one can go back to, and what that would mean. Pure: from what is on disk to a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from holdfast.deliver.contract import GoingBack
from holdfast.ledger.cursors import Cursors
from holdfast.log.values import Published
from holdfast.model.errors import RollbackRefused
from holdfast.runtime.records import Generation
from holdfast.runtime.rollback.records import History, Outcome, Rollback

OLDEST, NEWEST = "oldest", "newest"


@dataclass(frozen=True, slots=True)
class Target:
    """A batch that one can go back to: later ones are delivered again, or computed again."""

    oseq: int
    at: datetime | None
    """When it was published; None for a batch that is on record no more."""
    batch: Published | None = None
    place: str | None = None
    """For the whole pipeline: the directory below the pipeline's that has Spark's files."""
    initial: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is on disk, as far as it matters here."""

    cursors: Cursors
    generation: Generation
    batches: Sequence[Published]
    """Those on record that are not void, ascending; their parts may be gone."""
    void: Sequence[Published]
    """Those that a rollback made void and that are still there, ascending."""
    trimmed: int
    """The parts of batches up to this one are gone."""
    last_oseq: int
    planned: frozenset[int]
    """The batches of Spark of which `offsets` has a file, and of which `commits` has one."""
    finished: frozenset[int]
    points: Sequence[Target]
    """The copies of Spark's checkpoint, oldest first."""
    held_from: Mapping[str, int]
    """For each inbox by its uuid, the event from which on nothing is forgotten."""
    history: History

    @property
    def newest(self) -> Published | None:
        """The newest batch of Spark in the present generation."""
        own = [batch for batch in self.batches if batch.batch_id >= 0]
        return own[-1] if own and own[-1].generation == self.generation.number else None


@dataclass(frozen=True, slots=True)
class SinkMeans:
    """What a sink is, as far as a rollback cares."""

    name: str
    kind: str
    tier: str
    effect: GoingBack


@dataclass(frozen=True, slots=True)
class SinkPreview:
    """What a rollback means for a sink."""

    sink: SinkMeans
    delivered: int
    """The batch up to which it has everything now."""
    batches: int
    """How many of them lie behind the target: they come again, or others in their place."""
    rows: int | None
    """How many rows those had; None when that is on record no more."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rollback would do. Nothing is touched to tell."""

    sink: str | None
    to: Target
    events: int
    """How many events are read again and computed again; none when only a sink goes back."""
    batches: int
    """How many published batches become void; none when only a sink goes back."""
    sinks: Sequence[SinkPreview]
    notes: Sequence[str] = ()


def targets_of_sink(facts: Facts, sink: str) -> list[Target]:
    """Where a sink can go back to: everything behind must still be in the outbox."""
    delivered = _delivered(facts, sink)
    kept = [Target(batch.oseq, batch.published_at, batch) for batch in facts.batches if batch.oseq > facts.trimmed]
    first = next((batch for batch in facts.batches if batch.oseq == facts.trimmed), None)
    start = Target(facts.trimmed, None if first is None else first.published_at, first)
    return [start, *(target for target in kept if target.oseq <= delivered)]


def targets_of_pipeline(facts: Facts) -> list[Target]:
    """Where the whole pipeline can go back to: Spark's files of then are there, and all that was captured since."""
    place = f"spark/{facts.generation.number}"
    own = [
        Target(batch.oseq, batch.published_at, batch, place, facts.generation.initial)
        for batch in facts.batches
        if batch.generation == facts.generation.number and _can_spark_go_on_behind(batch.batch_id, facts)
    ]
    known = {target.oseq for target in own}
    found = [*own, *(point for point in facts.points if point.oseq not in known)]
    redelivered = max((batch.oseq for batch in facts.batches if batch.batch_id < 0), default=0)
    return sorted(
        (target for target in found if target.oseq > redelivered and _is_held(target, facts)),
        key=lambda target: target.oseq,
    )


def chosen(targets: Sequence[Target], to: str, what: str) -> Target:
    """The target that somebody means by a batch, a time, `oldest` or `newest`; `RollbackRefused` when there is none."""
    if not targets:
        raise _refused(what, to, "there is no place to go back to", "Let it run first, and see `--list`.")
    if to in (OLDEST, NEWEST):
        return targets[0 if to == OLDEST else -1]
    if to.isdecimal():
        found = [target for target in targets if target.oseq == int(to)]
    else:
        moment = _moment(to, what)
        found = [target for target in targets if target.at is not None and target.at <= moment]
    if not found:
        reach = f"it can go back to {len(targets)} places, from batch {targets[0].oseq} to batch {targets[-1].oseq}"
        raise _refused(what, to, reach, "Choose one of those that `--list` tells.")
    return found[-1]


def preview_of_sink(facts: Facts, sink: SinkMeans, to: Target) -> Preview:
    """What it means to take a sink back."""
    return Preview(sink.name, to, events=0, batches=0, sinks=[_for_sink(facts, sink, to.oseq)])


def preview_of_pipeline(facts: Facts, sinks: Sequence[SinkMeans], to: Target) -> Preview:
    """What it means to take the whole pipeline back."""
    assert to.batch is not None, "a place to go back to in Spark is a batch"
    newest = facts.newest
    ends = newest.ends if newest is not None else {}
    return Preview(
        None,
        to,
        events=sum(max(0, end - to.batch.ends.get(inbox, 0)) for inbox, end in ends.items()),
        batches=sum(1 for batch in facts.batches if batch.oseq > to.oseq),
        sinks=[_for_sink(facts, sink, to.oseq) for sink in sinks if sink.name in facts.cursors.delivered],
        notes=[
            "No schema versions are restored: no source of this pipeline records any.",
            "Dead letters of the batches that become void stay; a row that a sink refuses again is one more.",
        ],
    )


def undoable(facts: Facts) -> Rollback:
    """The newest rollback, if it can be taken back: nothing came of it yet, and what it made void is still there."""
    done = [known for known in facts.history.rollbacks if known.outcome is Outcome.DONE]
    if not done or done[-1].undoes is not None:
        raise _not_undone("the newest one is none that was carried out", "There is nothing to take back.")
    last = done[-1]
    if last.newest != facts.last_oseq or any(facts.cursors.delivered.get(n, 0) != at for n, at in _after(last).items()):
        raise _not_undone("batches were published or delivered since", "Roll back to a batch instead, see `--list`.")
    if last.generations is None and last.sink in last.removing:
        raise _not_undone("the sink removed what it had", "Start the pipeline: the sink gets it again from the outbox.")
    if last.generations is not None and not _is_whole(facts.void, last):
        raise _not_undone(
            "the batches that it made void are not all in the outbox any more", "Start the pipeline: it computes them."
        )
    return last


def _after(rollback: Rollback) -> Mapping[str, int]:
    """Where the lanes stood when the rollback was done."""
    if rollback.sink is not None:
        return {**rollback.delivered, rollback.sink: rollback.to}
    return {lane: min(at, rollback.to) for lane, at in rollback.delivered.items()}


def _is_whole(void: Sequence[Published], rollback: Rollback) -> bool:
    numbers = [batch.oseq for batch in void if batch.oseq > rollback.to]
    has_rows = all(batch.parts or not batch.rows for batch in void)
    return numbers == list(range(rollback.to + 1, rollback.newest + 1)) and has_rows


def _for_sink(facts: Facts, sink: SinkMeans, to: int) -> SinkPreview:
    delivered = _delivered(facts, sink.name)
    behind = [batch for batch in facts.batches if to < batch.oseq <= delivered]
    is_known = to >= delivered or any(batch.oseq <= to + 1 for batch in facts.batches)
    return SinkPreview(sink, delivered, len(behind), sum(batch.rows for batch in behind) if is_known else None)


def _can_spark_go_on_behind(batch_id: int, facts: Facts) -> bool:
    """Spark looks at the batch before the last one too."""
    return batch_id in facts.planned & facts.finished and (batch_id == 0 or batch_id - 1 in facts.planned)


def _is_held(target: Target, facts: Facts) -> bool:
    ends = target.batch.ends if target.batch is not None else {}
    return all(ends.get(inbox, 0) + 1 >= first for inbox, first in facts.held_from.items())


def _delivered(facts: Facts, sink: str) -> int:
    if sink not in facts.cursors.delivered:
        known = ", ".join(sorted(facts.cursors.delivered)) or "none"
        raise _refused(f"Sink {sink!r}", "an earlier batch", "it has no cursor", f"Name one of its sinks: {known}.")
    return facts.cursors.delivered[sink]


def _moment(text: str, what: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _refused(what, text, "that is neither a batch nor a time", "Name a batch, a time, or `oldest`.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _not_undone(why: str, remedy: str) -> RollbackRefused:
    return RollbackRefused(f"No rollback can be taken back: {why}.", kept="Nothing was touched.", remedy=remedy)


def _refused(what: str, to: str, why: str, remedy: str) -> RollbackRefused:
    return RollbackRefused(
        f"{what} cannot go back to {to}: {why}.",
        kept="Nothing was touched.",
        remedy=remedy,
    )
