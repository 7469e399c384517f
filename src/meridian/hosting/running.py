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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from holdfast.control.host import Manners, host
from holdfast.control.status import Status
from holdfast.disk.files import replace_file
from holdfast.model.errors import SourceUnavailable
from meridian.fusion.foreseen import HOUR
from meridian.fusion.pipeline import pipeline
from meridian.hosting.children import Child, stopped_last
from meridian.operation.assembling import FromHome
from meridian.operation.foreseeing import Told, foresee
from meridian.operation.home import Home
from meridian.sensors import EdgeDocument
from meridian.sensors.branch import CorrelatorBranch
from meridian.sensors.config import load as load_edge
from meridian.sensors.recollection import Recollection
from meridian.service.service import Service

log = logging.getLogger(__name__)

CONSUMER = "fusion"
_START_SECONDS = 30.0
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How an operation is to be run.

    :param is_simulated: whether made-up sensors send to the edge.
    :param told: is given a line about each step of the start.
    :param looked: is called once a second while fusion runs.
    """

    is_simulated: bool = False
    told: Told = lambda line: None
    looked: Callable[[Service], None] = lambda service: None
    until_raised: int | None = None
    """End in order once so many conjunctions were raised."""


def run(home: Home, manner: Manner) -> None:
    """Until it is told to stop: SIGTERM and SIGINT let everything drain."""
    edge = load_edge(home.edge_file)
    assembly, sources = FromHome.of(home), list(branches(home, edge))
    service = Service(
        home.directory,
        edge.control_plane.bind_addr,
        figures=lambda: [metric for source in sources for metric in source.metrics()],
    )
    with ExitStack() as held:
        foresee(home, assembly, manner.told)
        manner.told("starting the edge")
        child = Child("meridian.sensors", [str(home.edge_file)], home.directory / "edge.log")
        stopped_last(held, child)
        _wait_until_healthy(child, edge.control_plane.bind_addr)
        if manner.is_simulated:
            manner.told("starting simulated radars, telescopes and satellites")
            log_file = home.directory / "simulator.log"
            stopped_last(held, Child("meridian.hosting.simulator", [str(home.directory)], log_file))
        manner.told("starting Spark")
        plan = pipeline(home.directory, assembly, *sources, subscribers=home.subscribers()).plan()
        held.enter_context(_upkeep(home, assembly, service, manner))
        host(plan, home.document_file.read_text(), Manners(), told=_nothing)


def branches(home: Home, edge: EdgeDocument) -> Iterator[CorrelatorBranch]:
    """The ways from the logs of the edge into fusion."""
    arrays = range(1, len(edge.radar.bind_addrs) + 1) if edge.radar else ()
    names = [*(f"radar-{array}" for array in arrays), *(["optical"] if edge.optical else [])]
    for name in [*names, *(["isl"] if edge.isl else [])]:
        memory = Recollection(home.recent / name)
        yield CorrelatorBranch(home.edge, f"obs.{name}", consumer=CONSUMER, memory=memory)


@contextmanager
def _upkeep(home: Home, assembly: FromHome, service: Service, manner: Manner) -> Iterator[None]:
    """Beside fusion: somebody looks, objects of conjunctions are published, and the next hour is foreseen."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            with _tolerated("nobody can look just now"):
                publish_watched(home, service)
                manner.looked(service)
                if manner.until_raised is not None and len(service.conjunctions()) >= manner.until_raised:
                    os.kill(os.getpid(), signal.SIGTERM)
                    return

    def look_ahead() -> None:
        while not over.wait(HOUR / 1e9 / 4):
            with _tolerated("the next hour could not be foreseen, fusion will do it when it needs it"):
                foresee(home, assembly)

    threads = [threading.Thread(target=each, daemon=True) for each in (look, look_ahead)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(5)


def publish_watched(home: Home, service: Service) -> None:
    """Tell the edge which objects somebody may have to act on: nothing that is seen of them is left out."""
    objects = sorted({name for each in service.conjunctions() for name in (each.object_a, each.object_b)})
    text, path = json.dumps({"objects": objects}), home.edge / "watched.json"
    if not path.exists() or path.read_text() != text:
        replace_file(path, text)


@contextmanager
def _tolerated(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception(what)


def _wait_until_healthy(child: Child, address: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and child.is_alive:
        try:
            with urlopen(f"http://{address}/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.05)
    raise SourceUnavailable(
        f"The edge does not answer at http://{address}/health.",
        remedy=f"Look at the end of {child.log}: {_last_line(child.log)}",
    )


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "it says nothing."


def _nothing(status: Status) -> None:
    """The screen tells."""
