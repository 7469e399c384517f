"""Runs an operation: the edge in a process of its own, fusion in this one, and what keeps both supplied.

Whatever is killed, it can be started again: the edge goes on with its logs, fusion with what it had done of them.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from urllib.request import urlopen

from holdfast.control.ending import Manner as Ending
from holdfast.control.host import Manners, host
from holdfast.control.status import Status
from holdfast.disk.files import replace_file
from holdfast.ledger import StopRecord
from holdfast.model.errors import SourceUnavailable
from meridian.fusion.foreseen import HOUR
from meridian.fusion.pipeline import pipeline
from meridian.fusion.subscriber.lane import Prompt
from meridian.hosting.children import Child
from meridian.hosting.owning import alone
from meridian.operation.assembling import FromHome
from meridian.operation.foreseeing import Told, foresee
from meridian.operation.forgetting import DAY, forget
from meridian.operation.home import Home
from meridian.sensors import EdgeDocument
from meridian.sensors.branch import CorrelatorBranch
from meridian.sensors.config import load as load_edge
from meridian.sensors.recollection import Recollection
from meridian.service.metrics import exposition
from meridian.service.service import Service
from meridian.service.values import Snapshot

log = logging.getLogger(__name__)

CONSUMER = "fusion"
_START_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_DRAIN_SECONDS = 10.0
"""So long what fusion has begun may take to its end when the operation is told to stop; the rest is for later."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an operation is to be run.

    :param is_simulated: whether made-up sensors send to the edge.
    :param told: is given a line about each step of the start.
    :param looked: is given what there is to see, once a second while fusion runs.
    :param takes_signals: is called when SIGTERM and SIGINT let it drain from now on, and do not end it any more.
    :param ends: is called before fusion drains, with the seconds that may take, and before it stops without waiting.
    """

    is_simulated: bool = False
    told: Told = lambda line: None
    looked: Callable[[Snapshot], None] = lambda snapshot: None
    takes_signals: Callable[[], None] = lambda: None
    ends: Callable[[Ending, float], None] = lambda ending, within: None
    until_raised: int | None = None
    """End in order once so many conjunctions were raised."""


def run(home: Home, manner: Manner) -> StopRecord | None:
    """Until it is told to stop: SIGTERM and SIGINT let everything drain. What fusion left for the next start."""
    edge = load_edge(home.edge_file)
    assembly, sources, subscribers = FromHome.of(home), list(branches(home, edge)), home.subscribers()
    counting: list[CorrelatorBranch | Prompt] = [*sources]
    counting += [each.sink for each in subscribers if isinstance(each.sink, Prompt)]
    service = Service(
        home.directory,
        edge.control_plane.bind_addr,
        figures=lambda: [metric for part in counting for metric in part.metrics()],
    )
    with alone(home), ExitStack() as held:
        foresee(home, assembly, manner.told)
        children = list(_started(home, edge, manner, held))
        manner.told("starting Spark")
        plan = pipeline(home.directory, assembly, *sources, subscribers=subscribers).plan()
        held.enter_context(_upkeep(home, assembly, service, manner, children))
        manners = Manners(drain_within=_DRAIN_SECONDS)
        manner.takes_signals()
        record = host(plan, home.document_file.read_text(), manners, told=_nothing, ends=manner.ends)
        for child in children:
            _check_kept(child)
        return record


def _started(home: Home, edge: EdgeDocument, manner: Manner, held: ExitStack) -> Iterator[Child]:
    """What runs beside fusion, until what is held is let go."""
    manner.told("starting the edge")
    child = Child("meridian.sensors", [str(home.edge_file)], home.directory / "edge.log")
    held.callback(child.stop)
    _wait_until_healthy(child, edge.control_plane.bind_addr)
    yield child
    if manner.is_simulated:
        manner.told("starting simulated radars, telescopes and satellites")
        simulator = Child("meridian.hosting.simulator", [str(home.directory)], home.directory / "simulator.log")
        held.callback(simulator.stop)
        yield simulator


def branches(home: Home, edge: EdgeDocument) -> Iterator[CorrelatorBranch]:
    """The ways from the logs of the edge into fusion."""
    arrays = range(1, len(edge.radar.bind_addrs) + 1) if edge.radar else ()
    names = [*(f"radar-{array}" for array in arrays), *(["optical"] if edge.optical else [])]
    for name in [*names, *(["isl"] if edge.isl else [])]:
        memory = Recollection(home.recent / name)
        yield CorrelatorBranch(home.edge, f"obs.{name}", consumer=CONSUMER, memory=memory)


@contextmanager
def _upkeep(
    home: Home, assembly: FromHome, service: Service, manner: Manner, children: Sequence[Child]
) -> Iterator[None]:
    """Beside fusion: somebody looks, metrics and objects of conjunctions are published, and house is kept."""
    over, keep_days = threading.Event(), home.document().tables.keep_days

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            with _tolerated("nobody can look just now"):
                publish_watched(home, service)
                snapshot = service.snapshot()
                replace_file(home.metrics, exposition(snapshot))
                manner.looked(snapshot)
                if _is_over(manner, service) or not all(child.is_kept for child in children):
                    os.kill(os.getpid(), signal.SIGTERM)
                    return

    def keep_house() -> None:
        while not over.wait(HOUR / 1e9 / 4):
            with _tolerated("the next hour could not be foreseen, fusion will do it when it needs it"):
                foresee(home, assembly)
            with _tolerated("what is old could not be forgotten, it is tried again"):
                forget_what_is_old(home, keep_days, time.time_ns())

    threads = [threading.Thread(target=each, daemon=True) for each in (look, keep_house)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(5)


def _is_over(manner: Manner, service: Service) -> bool:
    return manner.until_raised is not None and len(service.conjunctions()) >= manner.until_raised


def publish_watched(home: Home, service: Service) -> None:
    """Tell the edge which objects somebody may have to act on: nothing that is seen of them is left out."""
    objects = sorted({name for each in service.conjunctions() for name in (each.object_a, each.object_b)})
    text, path = json.dumps({"objects": objects}), home.edge / "watched.json"
    if not path.exists() or path.read_text() != text:
        replace_file(path, text)


def forget_what_is_old(home: Home, keep_days: float | None, now_ns: int) -> None:
    """Let the tables forget what is older than so many days; nothing when nobody says how many."""
    if keep_days is not None:
        gone = forget(home.directory, now_ns - round(keep_days * DAY))
        if any(gone.values()):
            log.info("rows older than %g days are forgotten: %s", keep_days, gone)


@contextmanager
def _tolerated(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception(what)


def _wait_until_healthy(child: Child, address: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and child.is_kept:
        if _is_well(child, address):
            return
        time.sleep(0.05)
    raise SourceUnavailable(
        f"The edge does not answer at http://{address}/health.",
        remedy=f"Look at the end of {child.log}: {child.last_line}",
    )


def _is_well(child: Child, address: str) -> bool:
    """Whether it is this child that answers, not an edge of somebody else, and says that it is well."""
    try:
        with urlopen(f"http://{address}/health", timeout=1) as answer:
            told = json.load(answer)
    except (OSError, HTTPException, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and told.get("pid") == child.pid


def _check_kept(child: Child) -> None:
    if not child.is_kept:
        raise SourceUnavailable(
            f"{child.name} ended and was given up, so the operation was stopped in order.",
            remedy=f"Look at the end of {child.log}: {child.last_line}",
        )


def _nothing(status: Status) -> None:
    """The screen tells."""
