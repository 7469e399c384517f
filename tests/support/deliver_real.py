"""Deliveries over the real outbox, dead letters and checkpoint store of one directory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.checkpoint.cursors import CURSORS
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.deliver import Delivery
from holdfast.log import DeadLetterLog, Digest, NewBatch, Outbox, part_name, write_part
from holdfast.model.positions import Lsn
from holdfast.model.steps import StepHook, no_hook
from holdfast.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver import SinkSpec
    from holdfast.ledger import Cursors
    from holdfast.log import DeadLetterLimits, Published
    from holdfast.model.positions import Position


def publish(outbox: Outbox, table: pa.Table) -> Published:
    """Publish a batch as Spark's callback does."""
    batch_id = outbox.last_oseq()
    name = part_name(epoch=1, generation=outbox.generation, batch_id=batch_id, partition=0, attempt=0)
    part = write_part(outbox.parts_directory, name, table.to_batches(), table.schema)
    return outbox.publish(
        NewBatch(
            batch_id=batch_id,
            query_id="query",
            fingerprint="steps",
            starts={},
            ends={},
            positions={"orders": Lsn((batch_id + 1) * 100)},
            parts=(part,),
            digest=Digest(table.num_rows, 0),
        )
    )


@dataclass
class Life:
    """One process over the directory: everything it has open."""

    outbox: Outbox
    dead: DeadLetterLog
    delivery: Delivery
    _opened: ExitStack

    def end(self) -> None:
        """The process is gone; nothing is written on the way out."""
        self.delivery.abandon()
        self._opened.close()


@dataclass
class RealWorld:
    """A directory of a pipeline."""

    directory: Path
    clock: ManualClock = field(default_factory=ManualClock)
    told: list[Position] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)

    def life(self, *sinks: SinkSpec, hook: StepHook = no_hook, limits: DeadLetterLimits | None = None) -> Life:
        opened = ExitStack()
        store = opened.enter_context(SqliteStore(self.directory / "checkpoints.db"))
        epoch = store.take_over()
        outbox = opened.enter_context(Outbox.open(self.directory / "outbox", epoch=epoch, hook=hook))
        dead = opened.enter_context(DeadLetterLog.open(self.directory / "dead", epoch=epoch, limits=limits, hook=hook))
        delivery = Delivery(
            pipeline="shop",
            outbox=outbox,
            dead_letters=dead,
            store=store,
            epoch=epoch,
            sources=["orders"],
            sinks=sinks,
            committed=lambda positions: self.told.append(positions["orders"]),
            hook=hook,
            clock=self.clock,
            random=Random(0),
        )
        life = Life(outbox, dead, delivery, opened)
        self.lives.append(life)
        return life

    def cursors(self) -> Cursors | None:
        with SqliteStore(self.directory / "checkpoints.db") as store:
            return store.get(CURSORS)

    def close(self) -> None:
        for life in self.lives:
            life.end()
