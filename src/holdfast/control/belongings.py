"""What an operator's work needs of a pipeline: of one that runs in this process, or of one that does not run at all.

A pipeline that runs in another process is not touched: whoever wants something of it asks that process.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.checkpoint import CURSORS
from holdfast.control.stores import open_store_at
from holdfast.ledger import Cursors
from holdfast.log import DeadLetterLog, Inbox, Outbox
from holdfast.model.errors import LogMissing, PhaseRefused
from holdfast.model.steps import StepHook, no_hook
from holdfast.runtime.checkpoints.opening import recorded_kind
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import Ownership
from holdfast.runtime.records import LOGS, Logs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from holdfast.log import Published
    from holdfast.runtime.engine import Engine


@dataclass(frozen=True, slots=True)
class Belongings:
    """The open logs of a pipeline, in the process that owns them."""

    layout: Layout
    dead_letters: DeadLetterLog
    inboxes: Mapping[str, Inbox]
    """By the name of the source."""
    outbox: Outbox
    lanes: Callable[[], Collection[str]]
    """The sinks that are delivered to."""
    published: Callable[[Published], None]
    """Told of every batch that is added to the outbox."""

    @classmethod
    def of(cls, engine: Engine) -> Belongings:
        """Those of a pipeline that runs in this process."""
        ground, delivery = engine.ground, engine.delivery

        def tell(batch: Published) -> None:
            with suppress(PhaseRefused):  # it is stopping: the batch is delivered after the next start
                delivery.published(batch)

        return cls(
            ground.layout,
            ground.dead_letters,
            ground.inboxes,
            ground.outbox,
            lambda: delivery.status().lanes.keys(),
            tell,
        )


@contextmanager
def stopped(directory: Path, *, hook: StepHook = no_hook) -> Iterator[Belongings]:
    """Those of a pipeline that does not run. This process owns it meanwhile: `PipelineBusy` when another one does."""
    layout = Layout(directory)
    if recorded_kind(layout) is None or not layout.dead_letters.exists():
        raise LogMissing(
            f"There is no pipeline in {directory}.", remedy="Name the directory of a pipeline that was started before."
        )
    with ExitStack() as opened:
        opened.callback(Ownership.take(layout.root).release)
        store = opened.enter_context(open_store_at(directory))
        known, cursors, epoch = store.get(LOGS) or Logs(), store.get(CURSORS) or Cursors({}), store.take_over()
        yield Belongings(
            layout,
            opened.enter_context(DeadLetterLog.open(layout.dead_letters, epoch=epoch, hook=hook)),
            {
                source: opened.enter_context(Inbox.open(layout.inbox(source), name=source, epoch=epoch, hook=hook))
                for source in known.inboxes
                if layout.inbox(source).exists()
            },
            opened.enter_context(Outbox.open(layout.outbox, epoch=epoch, hook=hook)),
            lambda: cursors.delivered.keys(),
            lambda _: None,
        )
