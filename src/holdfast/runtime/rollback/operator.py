"""What an operator asks for: where one can go back to, what that would mean, and then to do it, or to take it back."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.deliver.contract import GoingBack
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import PipelineBusy, RollbackRefused
from holdfast.model.steps import StepHook, no_hook
from holdfast.runtime.rollback.carrying import (
    carry_out,
    carry_out_what_was_intended,
    open_past_store,
    owning,
    with_a_past,
)
from holdfast.runtime.rollback.facts import facts_of, means_of
from holdfast.runtime.rollback.records import Generations, Rollback
from holdfast.runtime.rollback.targets import (
    chosen,
    preview_of_pipeline,
    preview_of_sink,
    targets_of_pipeline,
    targets_of_sink,
    undoable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.runtime.plan import Plan
    from holdfast.runtime.rollback.carrying import Owned
    from holdfast.runtime.rollback.targets import Facts, Preview, Target


class Rollbacks:
    """The past of a pipeline. Looking works beside a process that runs it; going back needs it stopped."""

    def __init__(self, plan: Plan, *, hook: StepHook = no_hook, clock: Clock = utc_now) -> None:
        self._plan = plan
        self._hook = hook
        self._clock = clock

    # Looking

    def history(self) -> Sequence[Rollback]:
        """The rollbacks that were asked for, oldest first."""
        return self._facts().history.rollbacks

    def targets(self, sink: str | None = None) -> Sequence[Target]:
        """Where the pipeline, or a sink, can go back to, oldest first."""
        return _targets(self._facts(), sink)

    def preview(self, to: str, sink: str | None = None) -> Preview:
        """What going back would mean. Nothing is touched, and no sink is claimed.

        :param to: a batch by its number, a time in ISO 8601, `oldest` or `newest`.
        """
        return self._preview(self._facts(), to, sink)

    # Going back

    def go_back(self, to: str, sink: str | None = None, *, by: str) -> Rollback:
        """Take a sink, or the whole pipeline, back."""
        with self._owning() as owned:
            facts = facts_of(owned.layout, owned.store)
            preview = self._preview(facts, to, sink)
            return carry_out(owned, self._intended(facts, preview, owned, by))

    def undo(self, *, by: str) -> Rollback:
        """Take the newest rollback back; `RollbackRefused` once something came of it."""
        with self._owning() as owned:
            facts = facts_of(owned.layout, owned.store)
            return carry_out(owned, self._undoing(facts, undoable(facts), owned, by))

    # Internals

    def _facts(self) -> Facts:
        layout = with_a_past(self._plan)
        with open_past_store(self._plan, layout) as store:
            return facts_of(layout, store)

    def _preview(self, facts: Facts, to: str, sink: str | None) -> Preview:
        target = chosen(_targets(facts, sink), to, "The pipeline" if sink is None else f"Sink {sink!r}")
        means = means_of([spec for spec in self._plan.sinks if sink in (None, spec.name)])
        if sink is None:
            return preview_of_pipeline(facts, means, target)
        if not means:
            raise RollbackRefused(f"The pipeline declares no sink {sink!r}.", remedy="Name one that it declares.")
        return preview_of_sink(facts, means[0], target)

    @contextmanager
    def _owning(self) -> Iterator[Owned]:
        try:
            with owning(self._plan, hook=self._hook) as owned:
                carry_out_what_was_intended(owned)
                yield owned
        except PipelineBusy as busy:
            raise PipelineBusy(
                f"The pipeline runs, so it cannot go back: {busy.what}",
                kept="Nothing was touched.",
                remedy="Drain it first (`holdfast drain`), go back, and start it again.",
            ) from busy

    def _intended(self, facts: Facts, preview: Preview, owned: Owned, by: str) -> Rollback:
        target, generations = preview.to, None
        if preview.sink is None:
            assert target.batch is not None
            assert target.place is not None
            left = facts.generation.number
            generations = Generations(left, owned.outbox.generation + 1, target.batch, target.place, target.initial)
        return Rollback(
            number=_next(facts),
            at=self._clock(),
            by=by,
            sink=preview.sink,
            to=target.oseq,
            newest=facts.last_oseq,
            delivered=facts.cursors.delivered,
            removing=tuple(each.sink.name for each in preview.sinks if each.sink.effect is GoingBack.ENDS_EQUAL),
            generations=generations,
        )

    def _undoing(self, facts: Facts, undone: Rollback, owned: Owned, by: str) -> Rollback:
        left, generations = undone.generations, None
        to = undone.delivered[undone.sink] if undone.sink is not None else undone.newest
        if left is not None:
            newest = next((batch for batch in reversed(facts.void) if batch.batch_id >= 0), left.batch)
            opened = owned.outbox.generation + 1
            generations = Generations(left.opened, opened, newest, f"spark/{left.left}", left.initial)
        return Rollback(
            number=_next(facts),
            at=self._clock(),
            by=by,
            sink=undone.sink,
            to=to,
            newest=facts.last_oseq,
            delivered=facts.cursors.delivered,
            removing=undone.removing,
            generations=generations,
            undoes=undone.number,
        )


def _targets(facts: Facts, sink: str | None) -> list[Target]:
    return targets_of_pipeline(facts) if sink is None else targets_of_sink(facts, sink)


def _next(facts: Facts) -> int:
    return facts.history.rollbacks[-1].number + 1 if facts.history.rollbacks else 1
