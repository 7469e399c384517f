"""A sink that records what it is given and fails as it is told. What it has survives the crash of whoever writes to it.

The `Vault` is what would be on the sink's disk: it outlives the sink object, can be backed up and restored, and several
sinks, as of several processes, may stand over one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import TYPE_CHECKING

from holdfast.deliver.contract import GoingBack, LaneIdentity, Ordering, Sink, SinkBatch, Tier
from holdfast.model.errors import CommitUnknown, CursorMoved, Fatal, Rejected, SinkFenced, Transient
from holdfast.model.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

Row = Mapping[str, object]


@dataclass(slots=True)
class Vault:
    """The durable contents of a recording sink."""

    rows: list[tuple[int, int, Row]] = field(default_factory=list)
    """Every row in the order in which it was written, with its oseq and ordinal."""
    batches: list[int] = field(default_factory=list)
    """The oseq of every batch that was applied, in that order."""
    cursor: int = 0
    epoch: int = 0
    outbox: str | None = None
    lock: AbstractContextManager[object] = field(default_factory=RLock, repr=False)

    def values(self, column: str) -> list[object]:
        """One column of all rows, in the order in which they were written."""
        return [row[column] for _, _, row in self.rows]

    def backup(self) -> Vault:
        """A copy of what is there now."""
        with self.lock:
            return Vault(deepcopy(self.rows), list(self.batches), self.cursor, self.epoch, self.outbox)

    def restore(self, copy: Vault) -> None:
        """Go back to an earlier copy, as from a backup."""
        with self.lock:
            self.rows, self.batches = deepcopy(copy.rows), list(copy.batches)
            self.cursor, self.outbox = copy.cursor, copy.outbox


@dataclass(slots=True)
class Calls:
    """What was asked of a sink, for tests that count."""

    opened: int = 0
    closed: int = 0
    delivered: list[tuple[int, int]] = field(default_factory=list)
    """The oseq and number of rows of every `deliver`, failed ones included."""
    probed: list[int] = field(default_factory=list)
    """The number of rows of every `probe`."""
    at_once: int = 0
    most_at_once: int = 0


class RecordingSink(Sink):
    """Writes into a vault, and does what the test says on the way.

    :param keeps_cursor: whether the sink itself knows what it has, in the same step as the rows. Without, a batch that
        is delivered twice is there twice.
    :param refuses: rows that it refuses for what they are.
    :param before: called with every batch before it is written; what it raises, `deliver` raises.
    :param after: called with every batch after it was written; what it raises, `deliver` raises.
    """

    kind = "recording"
    tier = Tier.EXACTLY_ONCE

    def __init__(
        self,
        vault: Vault | None = None,
        *,
        keeps_cursor: bool = True,
        refuses: Callable[[Row], bool] = lambda _: False,
        before: Callable[[SinkBatch], None] = lambda _: None,
        after: Callable[[SinkBatch], None] = lambda _: None,
    ) -> None:
        self.vault = Vault() if vault is None else vault
        self.keeps_cursor = keeps_cursor
        self.refuses = refuses
        self.before = before
        self.after = after
        self.down: Exception | None = None
        """While set, everything that is asked of the sink fails with it."""
        self.calls = Calls()
        self._counting = Lock()
        self._identity: LaneIdentity | None = None

    def open(self, identity: LaneIdentity) -> None:
        """Claim the vault for the epoch."""
        self.calls.opened += 1
        self._fail_when_down()
        with self.vault.lock:
            self._refuse_older(identity)
            self.vault.epoch = identity.epoch
            if self.vault.outbox != identity.outbox:
                self.vault.outbox, self.vault.cursor = identity.outbox, 0
        self._identity = identity

    def cursor(self) -> int | None:
        """The last oseq that is in the vault."""
        self._fail_when_down()
        return self.vault.cursor if self._is_ordered and self.keeps_cursor else None

    def deliver(self, batch: SinkBatch) -> None:
        """Write the batch, all or none, unless it is there."""
        identity = self._opened()
        with self._counted(batch):
            self._fail_when_down()
            self.before(batch)
            identity.hook(Step.SINK_WRITE)
            self._refuse_bad_rows(batch)
            identity.hook(Step.SINK_COMMIT)
            with self.vault.lock:
                self._refuse_older(identity)
                self._apply(batch)
            identity.hook(Step.SINK_COMMITTED)
            self.after(batch)

    def probe(self, batch: SinkBatch) -> None:
        """Say whether these rows would be taken."""
        self._opened()
        self.calls.probed.append(batch.rows.num_rows)
        self._fail_when_down()
        self._refuse_bad_rows(batch)

    def going_back(self) -> GoingBack:
        """A vault knows which row came with which batch."""
        return GoingBack.ENDS_EQUAL

    def go_back(self, oseq: int) -> None:
        """Forget what came with later batches."""
        identity, vault = self._opened(), self.vault
        with vault.lock:
            self._refuse_older(identity)
            vault.rows = [row for row in vault.rows if row[0] <= oseq]
            vault.batches = [batch for batch in vault.batches if batch <= oseq]
            vault.cursor = min(vault.cursor, oseq)

    def close(self) -> None:
        """The vault stays."""
        self.calls.closed += 1
        self._identity = None

    def _apply(self, batch: SinkBatch) -> None:
        vault = self.vault
        if self._has(batch.oseq):
            return
        if self._is_ordered and self.keeps_cursor and vault.cursor != batch.previous:
            raise CursorMoved(
                f"The sink is at batch {vault.cursor}, but batch {batch.oseq} follows on batch {batch.previous}.",
                remedy="Start the pipeline again.",
            )
        ordinals = batch.ordinals.to_pylist()
        vault.rows += [(batch.oseq, at, row) for at, row in zip(ordinals, batch.rows.to_pylist(), strict=True)]
        vault.batches.append(batch.oseq)
        vault.cursor = batch.oseq

    def _has(self, oseq: int) -> bool:
        if self._is_ordered:
            return self.keeps_cursor and oseq <= self.vault.cursor
        return oseq in self.vault.batches

    @property
    def _is_ordered(self) -> bool:
        return self.ordering is Ordering.ORDERED

    def _refuse_bad_rows(self, batch: SinkBatch) -> None:
        bad = [row for row in batch.rows.to_pylist() if self.refuses(row)]
        if bad:
            raise Rejected(f"{len(bad)} rows are refused, the first is {bad[0]}.", remedy="Mend the rows.")

    def _refuse_older(self, identity: LaneIdentity) -> None:
        if identity.epoch < self.vault.epoch:
            raise SinkFenced(
                f"Epoch {self.vault.epoch} owns the sink, and we are {identity.epoch}.", remedy="Stop this process."
            )

    def _fail_when_down(self) -> None:
        if self.down is not None:
            raise self.down

    def _opened(self) -> LaneIdentity:
        if self._identity is None:
            raise Fatal("The sink is not open.", remedy="Open it first.")
        return self._identity

    @contextmanager
    def _counted(self, batch: SinkBatch) -> Iterator[None]:
        calls = self.calls
        with self._counting:
            calls.delivered.append((batch.oseq, batch.rows.num_rows))
            calls.at_once += 1
            calls.most_at_once = max(calls.most_at_once, calls.at_once)
        try:
            yield
        finally:
            with self._counting:
                calls.at_once -= 1


class ConcurrentSink(RecordingSink):
    """Takes several batches at once, each under a name of its own; it keeps no cursor."""

    ordering = Ordering.CONCURRENT


class DisjointSink(RecordingSink):
    """Takes several batches at once, as long as they share no key; it keeps no cursor."""

    ordering = Ordering.DISJOINT


class Flakiness:
    """Lets deliveries fail at random, before or after the sink wrote. Use it as a sink's `before` and `after`.

    :param rate: the share of calls that fail, at each of the two.
    """

    def __init__(self, random: Random, *, rate: float = 0.2) -> None:
        self._random = random
        self._rate = rate

    def before(self, _: SinkBatch) -> None:
        """Fail with the certainty that nothing was written, or go on."""
        if self._random.random() < self._rate:
            raise Transient("The sink failed before it wrote.", remedy="Try again.")

    def after(self, _: SinkBatch) -> None:
        """Fail although everything was written, or go on."""
        if self._random.random() < self._rate:
            raise CommitUnknown("The connection broke after the commit.", remedy="Look into the sink.")
