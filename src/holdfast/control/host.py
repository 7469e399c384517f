"""Runs a pipeline in this process, so that it can be asked, watched and told to end.

SIGTERM and SIGINT let it drain, a second one stops it. What is beside the pipeline never ends it: a socket that cannot
be made, or a file of metrics that cannot be written, is told and done without.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.control.document import keep_document
from holdfast.control.ending import Ending, Manner
from holdfast.control.exporting import MetricsPort, write_metrics
from holdfast.control.observer import Observer
from holdfast.control.service import DRAIN_WITHIN, Service
from holdfast.control.signals import Phase, StopNow, StopSignals
from holdfast.control.socket import ControlSocket
from holdfast.control.status import Status, status_of
from holdfast.model.errors import ControlUnavailable, HoldfastError
from holdfast.runtime.ground import Accept
from holdfast.runtime.owner import Takeover
from holdfast.runtime.pipeline import Pipeline, Until
from holdfast.runtime.starting import StartDelay, start_when_possible

if TYPE_CHECKING:
    from holdfast.control.snapshot import Snapshot
    from holdfast.ledger import StopRecord
    from holdfast.runtime.plan import Plan
    from holdfast.runtime.processor import Processor

log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a pipeline is to be run."""

    until: Until = Until.STOPPED
    drain_within: float = DRAIN_WITHIN
    takeover: Takeover = Takeover.REFUSE
    accept: Accept = Accept.NOTHING
    interval: float = 1.0
    """Seconds between pictures, and so between metrics."""
    metrics_file: Path | None = None
    metrics_port: int | None = None


def host(
    plan: Plan,
    text: str,
    manners: Manners,
    *,
    folder: Path | None = None,
    processor: Callable[[], Processor] | None = None,
    told: Callable[[Status], None] = lambda _: None,
    started: Callable[[int | None], None] = lambda _: None,
    ends: Callable[[Manner, float], None] = lambda *_: None,
    waiting: Callable[[StartDelay], None] = lambda _: None,
) -> StopRecord | None:
    """Run until it ends, and say what remains. Raises what ended the pipeline, if something did.

    On a full disk it starts once there is room, and behind a locked file once the lock is free. None when it was
    asked to stop before.

    :param text: the document of the plan, which is kept beside the logs.
    :param folder: where the relative paths of the document begin; the working directory without it.
    :param told: given the status once an interval.
    :param started: called with the port of the metrics once capture and lanes work.
    :param ends: called before a drain begins, with the seconds that it may take, and before a stop.
    :param waiting: called when the start has to wait, once for each reason.
    """
    whole = Pipeline.of(plan)
    ending = Ending()
    signals = StopSignals(ending)
    with signals.handled():
        is_started = start_when_possible(
            lambda: whole.start(
                until=manners.until, takeover=manners.takeover, accept=manners.accept, processor=processor
            ),
            plan.directory,
            is_asked_to_stop=ending.asked.wait,
            waiting=waiting,
        )
        if not is_started:
            return None
        with ExitStack() as beside:
            beside.callback(_stop_if_open, whole)
            port = _surround(whole, (text, folder or Path()), manners, ending, told, beside)
            started(port)
            signals.phase = Phase.RUNNING
            while not ending.asked.is_set() and not whole.wait(until=manners.until, timeout=0.2):
                pass
            return _end(whole, ending, signals, manners.drain_within, ends)


def _surround(
    whole: Pipeline,
    document: tuple[str, Path],
    manners: Manners,
    ending: Ending,
    told: Callable[[Status], None],
    beside: ExitStack,
) -> int | None:
    """Everything that lets it be watched and asked; the port of the metrics."""

    def seen(pictures: tuple[Snapshot, ...]) -> None:
        status = status_of(pictures)
        if manners.metrics_file is not None:
            with _tolerated("The metrics cannot be written"):
                write_metrics(manners.metrics_file, status)
        told(status)

    directory = whole.engine.plan.directory
    with _tolerated("The document cannot be kept, so changes cannot be compared with it"):
        keep_document(directory, *document)
    observer = Observer(whole.engine, interval=manners.interval, told=seen)
    service = Service(whole.engine, observer, ending)
    observer.start()
    beside.callback(observer.close)
    port = None
    if manners.metrics_port is not None:
        served = MetricsPort(manners.metrics_port, service.status)
        beside.callback(served.close)
        port = served.port
    with _tolerated("The pipeline cannot be asked while it runs"):
        beside.callback(ControlSocket(directory, service.ask).close)
    return port


def _end(
    whole: Pipeline, ending: Ending, signals: StopSignals, drain_within: float, ends: Callable[[Manner, float], None]
) -> StopRecord | None:
    try:
        try:
            if whole.engine.state.is_over:
                signals.phase = Phase.STOPPING
            elif ending.is_to_stop():
                signals.phase = Phase.STOPPING
                ends(Manner.STOP, 0.0)
                whole.stop()
            else:
                within = drain_within if ending.within is None else ending.within
                ends(Manner.DRAIN, within)
                signals.phase = Phase.DRAINING
                if ending.is_to_stop():  # asked for since it was decided to drain
                    raise StopNow
                whole.drain(within=within)
                signals.phase = Phase.STOPPING
        except StopNow:
            ends(Manner.STOP, 0.0)
            whole.stop()
        record = whole.drain(within=0)  # it is over: this says how it ended
    except HoldfastError as error:
        ending.tell(None, error)
        raise
    ending.tell(record)
    return record


def _stop_if_open(whole: Pipeline) -> None:
    if whole.engine.is_open:
        whole.stop()


@contextmanager
def _tolerated(what: str) -> Iterator[None]:
    with suppress(OSError, ControlUnavailable):
        try:
            yield
        except (OSError, ControlUnavailable) as error:
            log.warning("%s: %s", what, error)
            raise
