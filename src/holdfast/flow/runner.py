"""One operator of a running graph: its task, how often it was started, and how it ended. Decides nothing."""

from __future__ import annotations

import asyncio
from traceback import format_exception
from typing import TYPE_CHECKING

from holdfast.flow.exits import Exit
from holdfast.flow.health import OperatorHealth, OperatorState
from holdfast.flow.outcome import exit_of, text_of

if TYPE_CHECKING:
    from holdfast.flow.shape import Ends, Vertex


class Runner:
    """One operator and what became of it."""

    def __init__(self, vertex: Vertex, ends: Ends) -> None:
        self.vertex = vertex
        self.ends = ends
        self.task: asyncio.Task[None] | None = None
        self.started_at = 0.0
        self.restarts = 0
        self.failures: tuple[float, ...] = ()
        self.exit: Exit | None = None
        self.error = ""
        self.traceback = ""
        self.is_aborted = False

    def start(self, now: float) -> asyncio.Task[None]:
        """A task of it, on the edges it had before."""
        self.started_at = now
        self.task = asyncio.create_task(self.vertex.start(self.ends), name=self.vertex.name)
        return self.task

    def abort(self) -> None:
        """Cancel it, if it runs, and start it no more."""
        self.is_aborted = True
        if self.task is not None:
            self.task.cancel()

    def end(self, task: asyncio.Task[None]) -> Exit:
        """How the task ended; one that was cancelled by nobody here has crashed."""
        if task.cancelled():
            self.error = "" if self.is_aborted else "it cancelled itself"
            return Exit.ABORTED if self.is_aborted else Exit.CRASHED
        error = task.exception()
        self.error, self.traceback = text_of(error), "".join(format_exception(error)) if error else ""
        outputs = frozenset(edge.name for edge in self.ends.outputs)
        return exit_of(error, expects=self.vertex.supervision.expects, outputs=outputs)

    def close(self) -> None:
        """Nothing comes from it any more, and nothing is taken."""
        for edge in (*self.ends.outputs, *self.ends.inputs):
            edge.close()

    def health(self, now: float) -> OperatorHealth:
        """How it is."""
        is_running = self.task is not None and self.exit is None
        return OperatorHealth(
            self.vertex.name,
            self.vertex.role,
            self._state(),
            self.restarts,
            now - self.started_at if is_running else 0.0,
            self.exit,
            self.error,
        )

    def _state(self) -> OperatorState:
        if self.exit is None:
            return OperatorState.WAITING if self.task is None else OperatorState.RUNNING
        is_fine = self.exit in (Exit.OK, Exit.ABORTED)
        return OperatorState.ENDED if is_fine else OperatorState.FAILED
