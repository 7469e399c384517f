"""The Python face: a pipeline is put together, run and asked how it is.

    orders = (
        Pipeline("orders", directory="data/orders")
        .read(Generator(events=1_000_000))
        .process(sql("SELECT after.* FROM events WHERE op <> 'd'"))
        .write(Files("out"), Sqlite("orders.db", table="orders"))
    )
    orders.run()

Each call returns a new pipeline; nothing starts before `run` or `start`.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.capture.runner import Reach
from holdfast.deliver import SinkSpec
from holdfast.model.errors import HoldfastError, LifecycleRefused, PipelineFailed
from holdfast.model.steps import StepHook, no_hook
from holdfast.runtime.analysis import schemas_of
from holdfast.runtime.causes import reason_of
from holdfast.runtime.engine import Engine
from holdfast.runtime.gateway import running
from holdfast.runtime.ground import Accept
from holdfast.runtime.layout import Layout
from holdfast.runtime.lifecycle import State
from holdfast.runtime.owner import Takeover
from holdfast.runtime.plan import BatchLimits, Checkpointing, Plan, Quotas
from holdfast.runtime.processor import Processor, SparkProcessor
from holdfast.runtime.rollback.operator import Rollbacks
from holdfast.runtime.session import SparkSettings, spark_session
from holdfast.runtime.starting import start_when_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.capture.contract import Input
    from holdfast.deliver import Sink
    from holdfast.flow.exits import Budget
    from holdfast.ledger import Policy, StopRecord
    from holdfast.log import DeadLetterLimits, Keep
    from holdfast.process.steps import Step
    from holdfast.runtime.isolation import IsolationLimits
    from holdfast.runtime.rollback.points import PointsKept
    from holdfast.runtime.status import PipelineStatus


class Until(Enum):
    """How long a run lasts."""

    STOPPED = "stopped"
    """Until somebody stops it, with SIGTERM for instance."""
    CAUGHT_UP = "caught up"
    """Until every source has ended and every sink has everything that came of it."""
    AVAILABLE_NOW = "available now"
    """Until every sink has what was in the inboxes and sources at the start; what comes later is left for later."""


_PARTS = ("name", "directory", "sources", "steps", "sinks")
"""What every pipeline is given; everything else of a plan has a default."""


class Pipeline:
    """Sources, steps and sinks under one name."""

    def __init__(self, name: str, *, directory: str | Path | None = None) -> None:
        self.name = name
        self._directory = Path(directory) if directory is not None else Path("holdfast-data") / name
        self._sources: tuple[Input, ...] = ()
        self._steps: tuple[Step, ...] = ()
        self._sinks: tuple[SinkSpec, ...] = ()
        self._options: dict[str, object] = {}
        self._engine: Engine | None = None

    @classmethod
    def of(cls, plan: Plan) -> Pipeline:
        """The pipeline that a plan describes."""
        made = cls(plan.name, directory=plan.directory)
        options = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in _PARTS}
        made.__dict__.update(
            _sources=tuple(plan.sources), _steps=tuple(plan.steps), _sinks=tuple(plan.sinks), _options=options
        )
        return made

    # Putting together

    def read(self, *sources: Input) -> Pipeline:
        """Read these sources too."""
        return self._with(_sources=(*self._sources, *sources))

    def process(self, *steps: Step) -> Pipeline:
        """Take these steps too, in order."""
        return self._with(_steps=(*self._steps, *steps))

    def write(self, *sinks: Sink | SinkSpec) -> Pipeline:
        """Deliver to these sinks too; a bare sink is required and named after its kind."""
        specs = [sink if isinstance(sink, SinkSpec) else SinkSpec(name=sink.kind, sink=sink) for sink in sinks]
        return self._with(_sinks=(*self._sinks, *specs))

    def commit(self, policy: Policy) -> Pipeline:
        """Let this policy decide what is committed."""
        return self._with(_options={**self._options, "policy": policy})

    def batch(self, limits: BatchLimits) -> Pipeline:
        """Bound the micro-batches."""
        return self._with(_options={**self._options, "batch": limits})

    def quotas(self, quotas: Quotas) -> Pipeline:
        """Bound the disk that the logs use."""
        return self._with(_options={**self._options, "quotas": quotas})

    def keep(self, keep: Keep) -> Pipeline:
        """Let the inboxes keep more than is needed, so that one can go back."""
        return self._with(_options={**self._options, "keep": keep})

    def checkpoint(self, how: Checkpointing) -> Pipeline:
        """Say where checkpoints are kept and copied to, how often cursors are written, and how many versions stay."""
        return self._with(_options={**self._options, "checkpoint": how})

    def keep_delivered(self, nbytes: int) -> Pipeline:
        """Let the outbox keep so many bytes of batches that every sink has, so that one can go back."""
        return self._with(_options={**self._options, "keep_delivered": nbytes})

    def points(self, points: PointsKept) -> Pipeline:
        """Make points to go back to so often, and keep them so long."""
        return self._with(_options={**self._options, "points": points})

    def dead_letters(self, limits: DeadLetterLimits) -> Pipeline:
        """Bound the dead letters."""
        return self._with(_options={**self._options, "dead_letters": limits})

    def restarts(self, budget: Budget) -> Pipeline:
        """Bound how often it may fail."""
        return self._with(_options={**self._options, "restarts": budget})

    def isolation(self, limits: IsolationLimits) -> Pipeline:
        """Bound the search for rows that make a batch fail."""
        return self._with(_options={**self._options, "isolation": limits})

    def spark(self, settings: SparkSettings) -> Pipeline:
        """Run Spark with these settings."""
        return self._with(_options={**self._options, "spark": settings})

    def output_mode(self, mode: str) -> Pipeline:
        """Spark's output mode of a query with state: `append` or `update`."""
        return self._with(_options={**self._options, "output_mode": mode})

    def plan(self) -> Plan:
        """What was put together, checked."""
        return Plan(
            name=self.name,
            directory=self._directory,
            sources=self._sources,
            steps=self._steps,
            sinks=self._sinks,
            **self._options,  # type: ignore[arg-type]
        )

    def rollbacks(self, *, hook: StepHook = no_hook) -> Rollbacks:
        """Where it can go back to, and how. While it runs, its sinks are busy: ask one that was put together anew."""
        if self._engine is not None and self._engine.is_open:
            raise LifecycleRefused(f"Pipeline {self.name!r} runs, so it cannot go back.", remedy="Drain it first.")
        return Rollbacks(self.plan(), hook=hook)

    # Running

    def start(
        self,
        *,
        until: Until = Until.STOPPED,
        takeover: Takeover = Takeover.REFUSE,
        accept: Accept = Accept.NOTHING,
        hook: StepHook = no_hook,
        processor: Callable[[], Processor] | None = None,
    ) -> None:
        """Start and return: capture and lanes work, Spark comes up behind them.

        :param until: `Until.AVAILABLE_NOW` reads no further than what is there now.
        """
        if self._engine is not None and not self._engine.state.is_over:
            raise LifecycleRefused(f"Pipeline {self.name!r} runs already.", remedy="Stop it first.")
        if self._engine is not None and self._engine.is_open:
            self._engine.stop()  # it failed, and nobody has closed it since
        plan = self.plan()
        engine = Engine(
            plan,
            processor or _in_spark(plan, hook),
            takeover=takeover,
            accept=accept,
            reach=Reach.NOW if until is Until.AVAILABLE_NOW else Reach.END,
            hook=hook,
        )
        engine.start()
        self._engine = engine

    def run(
        self,
        *,
        until: Until = Until.STOPPED,
        drain_within: float = 30.0,
        takeover: Takeover = Takeover.REFUSE,
        accept: Accept = Accept.NOTHING,
        processor: Callable[[], Processor] | None = None,
        started: Callable[[], None] = lambda: None,
    ) -> StopRecord | None:
        """Start, wait, and drain; SIGTERM and SIGINT drain too. Raises what ended the pipeline, if something did.

        On a full disk it starts once there is room, and behind a locked file once the lock is free. None when it was
        asked to stop before.

        :param processor: what runs the steps instead of Spark, for tests.
        :param started: called once capture and lanes work.
        """
        with _asked_to_stop() as asked:
            is_started = start_when_possible(
                lambda: self.start(until=until, takeover=takeover, accept=accept, processor=processor),
                self._directory,
                is_asked_to_stop=asked.wait,
            )
            if not is_started:
                return None
            started()
            while not asked.is_set() and not self.wait(until=until, timeout=0.2):
                pass
        return self.drain(within=drain_within)

    def wait(self, *, until: Until = Until.STOPPED, timeout: float | None = None) -> bool:
        """Wait for it; False when it was not so in time. A pipeline that failed is over too: `drain` says why."""
        if until is Until.AVAILABLE_NOW and self.engine.reach is not Reach.NOW:
            raise LifecycleRefused(
                f"Pipeline {self.name!r} was not started to read what is available now.",
                remedy="Start it with `until=Until.AVAILABLE_NOW`.",
            )
        return self.engine.wait(caught_up=until is not Until.STOPPED, timeout=timeout)

    def drain(self, *, within: float = 30.0) -> StopRecord | None:
        """Stop in order and say what remains. Raises what ended the pipeline, if something did."""
        engine = self.engine
        if engine.state.is_over:
            engine.stop()
        else:
            engine.drain(within)
        if engine.error is not None:
            raise _ended(self.name, engine)
        return engine.stop_record

    def stop(self) -> None:
        """Stop now."""
        self.engine.stop()

    def pause(self) -> None:
        """Admit nothing new; lanes finish what is published. It stays so, also after a restart, until `resume`."""
        self.engine.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        self.engine.resume()

    def attach(self, sink: str) -> None:
        """Deliver again to a sink that was detached, from where the outbox still is; what it missed stays on record."""
        self.engine.attach(sink)

    def status(self) -> PipelineStatus:
        """Where everything stands."""
        return self.engine.status()

    @property
    def engine(self) -> Engine:
        """The run of this pipeline in this process."""
        if self._engine is None:
            raise LifecycleRefused(f"Pipeline {self.name!r} was not started.", remedy="Call `start` or `run` first.")
        return self._engine

    def _with(self, **changes: object) -> Pipeline:
        other = Pipeline(self.name, directory=self._directory)
        other.__dict__.update({**self.__dict__, "_engine": None, **changes})
        return other


def _in_spark(plan: Plan, hook: StepHook) -> Callable[[], Processor]:
    def brought_up() -> Processor:
        session = spark_session(plan.spark, log=Layout(plan.directory.absolute()).spark_log)  # as long as the JVM takes
        return SparkProcessor(
            lambda: session,
            plan.steps,
            jvm=running(),
            schemas=schemas_of(plan),
            output_mode=plan.output_mode,
            step_texts=plan.step_texts,
            hook=hook,
        )

    return brought_up


def _ended(name: str, engine: Engine) -> Exception:
    error = engine.error
    assert error is not None
    if isinstance(error, Exception) and engine.state is not State.FAILED:
        return error
    code, remedy = "", "Mend the cause and start it again; it goes on where it stopped."
    if isinstance(error, HoldfastError):
        code, remedy = f" ({error.code})", error.remedy
    failed = PipelineFailed(
        f"Pipeline {name!r} failed{code}: {reason_of(error)}",
        kept="What was captured is in the inbox, and every sink stands where its cursor says.",
        remedy=remedy,
        pipeline=name,
    )
    failed.__cause__ = error
    return failed


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, where this thread may listen to signals."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
