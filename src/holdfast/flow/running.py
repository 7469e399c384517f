"""Runs a graph: one task for each operator, all of them owned and watched here, and one line of the log a decision.

An operator that fails is started again on the same edges, and the others do not notice but for the wait. One that may
not be started again is lost: its edges are closed, and the end spreads from there, up and down. Unless its supervision
says that the others go on, all sources are asked to stop then. A stop asks the sources, what is under way is drained
behind them, and whoever has not ended when the grace is over is cancelled, as often as it takes. Which exit is forgiven
is decided in `exits`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from holdfast.flow.building import channels_of, describe
from holdfast.flow.exits import Decision, Exit, decide, recent
from holdfast.flow.health import GraphHealth, metrics_of
from holdfast.flow.outcome import AllOk, BudgetExhausted, Crashed, Outcome
from holdfast.flow.runner import Runner
from holdfast.flow.sampling import Sampler
from holdfast.flow.shape import Ends, Loss, Role, order_of
from holdfast.flow.stop import Stop
from holdfast.flow.telling import tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.flow.channel import Channel
    from holdfast.flow.health import Metric
    from holdfast.flow.outcome import GraphEvent
    from holdfast.flow.ports import EdgeStats
    from holdfast.flow.shape import Declared
    from holdfast.flow.timer import Timer


class BuiltGraph:
    """A graph that runs once. Made by `OperatorGraph.build`."""

    def __init__(self, declared: Declared, *, timer: Timer, grace: float) -> None:
        self.declared = declared
        self.order = order_of(declared)
        """The operators in the order of the flow."""
        self.edges: Mapping[str, Channel[Any]] = channels_of(declared)
        self._timer = timer
        self._grace = grace
        self._stop = Stop()
        self._runners = {name: Runner(declared.vertex(name), self._ends(name)) for name in self.order}
        self._tasks: dict[asyncio.Task[None], Runner] = {}
        self._exits: dict[str, Exit] = {}
        self._event: GraphEvent | None = None
        self._abort_at: asyncio.TimerHandle | None = None

    async def run(self) -> Outcome:
        """Work until every operator has ended. Cancelling this aborts all of them first."""
        for edge in self.declared.edges:
            tell("edge", graph=self.declared.name, **describe(edge))
        try:
            for name in self.order:
                self._spawn(self._runners[name])
            while self._tasks:
                done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    self._ended(self._tasks.pop(task), task)
        finally:
            await self._end_all()
        return self._outcome()

    def stop(self) -> None:
        """Ask the sources to end; what has not ended when the grace is over is cancelled. Once is enough."""
        if self._abort_at is None:
            tell("stop", graph=self.declared.name, grace=self._grace)
            self._abort_at = asyncio.get_running_loop().call_later(self._grace, self._abort)
            self._stop.set()

    # What it says about itself

    def health(self) -> GraphHealth:
        """How the operators are."""
        now = self._timer.monotonic()
        return GraphHealth(self.declared.name, tuple(self._runners[name].health(now) for name in self.order))

    def stats(self) -> tuple[EdgeStats, ...]:
        """How the edges are, in the order in which they were declared."""
        return tuple(edge.stats() for edge in self.edges.values())

    def metrics(self) -> tuple[Metric, ...]:
        """The figures of operators and edges."""
        return metrics_of(self.health(), self.stats())

    def sampler(self, *, every: float = 0.1, keep: float = 30.0) -> Sampler:
        """Looks at the edges while it runs; whoever wants that runs it beside the graph."""
        edges = sorted(self.declared.edges, key=lambda edge: self.order.index(edge.downstream))
        return Sampler(
            self.stats,
            consumers={edge.name: edge.downstream for edge in edges},
            sources={
                edge.upstream: edge.name for edge in edges if self.declared.vertex(edge.upstream).role is Role.SOURCE
            },
            timer=self._timer,
            every=every,
            keep=keep,
        )

    # Supervision

    def _spawn(self, runner: Runner) -> None:
        self._tasks[runner.start(self._timer.monotonic())] = runner
        self._tell("spawn", runner, restarts=runner.restarts)

    def _ended(self, runner: Runner, task: asyncio.Task[None]) -> None:
        exit_, now = runner.end(task), self._timer.monotonic()
        policy = runner.vertex.supervision.restart
        if exit_ is Exit.ERRORED:
            runner.failures = recent((*runner.failures, now), policy, now)
        match decide(exit_, policy, runner.failures):
            case Decision.RESTART if not runner.is_aborted:
                runner.restarts += 1
                self._tell("restart", runner, logging.WARNING, restarts=runner.restarts, error=runner.error)
                self._spawn(runner)
            case Decision.RESTART | Decision.LEAVE:
                self._leave(runner, exit_)
                self._tell("clean-exit" if exit_ is Exit.OK else exit_.value, runner, error=runner.error)
            case Decision.EXHAUSTED:
                self._tell("budget-exhausted", runner, logging.ERROR, restarts=runner.restarts, error=runner.error)
                self._escalate(runner, exit_, BudgetExhausted(runner.vertex.name, runner.error))
            case Decision.ESCALATE:
                self._tell("escalate", runner, logging.ERROR, error=runner.error, traceback=runner.traceback)
                self._escalate(runner, exit_, Crashed(runner.vertex.name, runner.error))

    def _leave(self, runner: Runner, exit_: Exit) -> None:
        runner.exit = self._exits[runner.vertex.name] = exit_
        runner.close()

    def _escalate(self, runner: Runner, exit_: Exit, event: GraphEvent) -> None:
        self._event = self._event or event
        self._leave(runner, exit_)
        if runner.vertex.supervision.when_lost is Loss.ENDS_THE_GRAPH:
            self.stop()

    def _abort(self) -> None:
        late = list(self._tasks.values())
        if not late:
            return
        for runner in late:
            runner.abort()
        self._abort_at = asyncio.get_running_loop().call_later(self._grace, self._abort)
        tell("abort", logging.WARNING, graph=self.declared.name, operators=[runner.vertex.name for runner in late])

    async def _end_all(self) -> None:
        """Whoever still runs, because this was cancelled, is aborted and waited for."""
        if self._abort_at is not None:
            self._abort_at.cancel()
        for runner in self._tasks.values():
            runner.abort()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for task, runner in self._tasks.items():
            self._leave(runner, runner.end(task))
        self._tasks.clear()

    def _outcome(self) -> Outcome:
        left = {edge.edge: edge.occupancy for edge in self.stats() if edge.occupancy}
        dropped = {edge.edge: edge.dropped for edge in self.stats() if edge.dropped}
        event = self._event or AllOk()
        tell("ended", graph=self.declared.name, event_is=type(event).__name__, left_behind=left, dropped=dropped)
        return Outcome(event, dict(self._exits), left)

    def _tell(self, event: str, runner: Runner, level: int = logging.INFO, **fields: object) -> None:
        tell(event, level, graph=self.declared.name, operator=runner.vertex.name, **fields)

    def _ends(self, name: str) -> Ends:
        incoming, outgoing = self.declared.into(name), self.declared.out_of(name)
        return Ends(
            tuple(self.edges[edge.name] for edge in incoming),
            tuple(self.edges[edge.name] for edge in outgoing),
            self._stop,
        )
