"""A pipeline that dies and is started again over what is durable, and the account that must balance at its end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.model.positions import Lsn
from holdfast.model.steps import Step
from holdfast.testing import ConcurrentSink, Flakiness, RecordingSink, Vault
from tests.support.deliver_faults import Crash, Doors, Dying
from tests.support.deliver_world import World, all_on_disk, eventually, spec

if TYPE_CHECKING:
    from holdfast.deliver import Delivery, SinkSpec
    from holdfast.testing.recording import Row

BATCHES = 6
ROWS = 3
ALL_ROWS = [f"{oseq}-{at}" for oseq in range(1, BATCHES + 1) for at in range(ROWS)]
BAD = frozenset({"2-1", "4-0", "4-1", "4-2"})
"""A bad row, and a batch that is all bad."""

STEPS = (
    Step.DELIVER_READ,
    Step.SINK_WRITE,
    Step.SINK_COMMIT,
    Step.SINK_COMMITTED,
    Step.DEAD_LETTER_WRITE,
    Step.DEAD_LETTER_WRITTEN,
    Step.CURSOR_WRITE,
    Step.CURSOR_WRITTEN,
    Step.OUTBOX_TRIM,
    Step.OUTBOX_TRIMMED,
)
"""Every step of delivery at which a process can die."""


def is_bad(row: Row) -> bool:
    return row["id"] in BAD


@dataclass
class Pipeline:
    """Three sinks of different worth over one world."""

    world: World = field(default_factory=World)
    once: Vault = field(default_factory=Vault)
    """Keeps its own cursor in the step that writes the rows."""
    named: Vault = field(default_factory=Vault)
    """Takes four batches at once, each under its own name."""
    again: Vault = field(default_factory=Vault)
    """Keeps nothing: at least once is all it can have."""
    flaky: Flakiness | None = None
    """Lets all sinks fail now and then, before and after they wrote."""
    lives: int = 0

    def live(self, hook: Dying) -> bool:
        """Run to the end, or to the death of the process; True when it died."""
        delivery = self.world.delivery(*self._sinks(), hook=hook)
        self.lives += 1
        try:
            delivery.start()
            self._feed(delivery)
            self.world.clock.run_until(lambda: _is_over(delivery), limit=20)
            if delivery.failure() is None:
                delivery.drain(60)
        except Crash:
            assert hook.died
        finally:
            delivery.abandon()
        _see_what_it_died_of(delivery)
        return hook.died

    def _feed(self, delivery: Delivery) -> None:
        """The first batch goes all the way before the others come, so every step is reached twice at least."""
        outbox = self.world.outbox
        while outbox.last < BATCHES:
            self.world.publish(1, size=ROWS, to=delivery)
            self.world.clock.run_until(lambda: outbox.forgotten > 0 or delivery.failure() is not None, limit=20)

    def _sinks(self) -> list[SinkSpec]:
        """In its second life the first sink takes what it refused in its first: rejections are decisions."""
        once = RecordingSink(self.once, refuses=is_bad if self.lives == 0 else lambda _: False)
        named = ConcurrentSink(self.named)
        again = RecordingSink(self.again, keeps_cursor=False)
        if self.flaky is not None:
            for sink in (once, named, again):
                sink.before, sink.after = self.flaky.before, self.flaky.after
        return [spec("once", once), spec("named", named, max_inflight=4), spec("again", again, required=False)]

    def check(self) -> None:
        """After the last life: nothing lost, nothing doubled, everything told and forgotten."""
        self._check_the_exact_sink()
        assert Counter(self.named.values("id")) == Counter(ALL_ROWS)
        assert set(self.again.values("id")) == set(ALL_ROWS)
        self._check_what_is_told_and_kept()

    def _check_the_exact_sink(self) -> None:
        in_sink = self.once.values("id")
        dead = [f"{oseq}-{ordinal}" for oseq, ordinal in self.world.dead.places("sink:once")]
        assert in_sink == [row for row in ALL_ROWS if row in set(in_sink)], "in order, and none twice"
        assert Counter([*in_sink, *dead]) == Counter(ALL_ROWS), "every row is in the sink or a dead letter"
        assert set(dead) <= BAD
        assert self.once.batches == list(range(1, BATCHES + 1))

    def _check_what_is_told_and_kept(self) -> None:
        cursors = self.world.on_disk()
        assert dict(cursors.delivered) == {"once": BATCHES, "named": BATCHES, "again": BATCHES}
        assert (cursors.committed, self.world.outbox.forgotten) == (BATCHES, BATCHES)
        told = [positions["orders"] for positions in self.world.told]
        assert told[-1] == Lsn(BATCHES * 100), "the source knows that everything is safe"


def _is_over(delivery: Delivery) -> bool:
    return delivery.failure() is not None or all_on_disk(delivery.status())


def _see_what_it_died_of(delivery: Delivery) -> None:
    failure = delivery.failure()
    if failure is not None and not isinstance(failure, Crash):
        raise AssertionError(f"delivery ended by {failure!r}") from failure


def run_through(*hooks: Dying, flaky: Flakiness | None = None) -> Pipeline:
    """One life after the other, the last one to the end; then the account must balance."""
    pipeline = Pipeline(flaky=flaky)
    for hook in [*hooks, Dying()]:
        pipeline.live(hook)
    pipeline.check()
    return pipeline


def crash_with_a_hole(world: World) -> None:
    """Batches 2 to 4 are answered, batch 1 is not, everything is on disk, and the process dies."""
    doors, dying = Doors([1]), Dying()
    sink = ConcurrentSink(before=doors)
    delivery = world.running(spec("a", sink, max_inflight=4), hook=dying)
    world.publish(4, to=delivery)
    doors.wait_inside(1)
    eventually(delivery, lambda status: status.lanes["a"].delivered == 3 and status.is_durable)
    dying.died = True
    doors.open()
    delivery.abandon()
    again = world.running(spec("a", ConcurrentSink(sink.vault), max_inflight=4))
    eventually(again, all_on_disk)
    assert sorted(sink.vault.batches) == [1, 2, 3, 4]
