"""Whether the sources and sinks of a plan answer. Each is opened and closed again; nothing is read and nothing is sent.

What a sink makes when it is opened stays: a directory, a table of cursors with a row of a pipeline that never runs. The
lanes of the pipeline itself are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from holdfast.capture.contract import Receiver
from holdfast.control.client import ask
from holdfast.deliver import LaneIdentity
from holdfast.model.errors import HoldfastError, SourceUnavailable
from holdfast.model.steps import no_hook

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A source, a sink or a checkpoint store that could not be opened."""

    component: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Connections:
    """What came of the attempts."""

    unreachable: tuple[Unreachable, ...]
    notes: tuple[str, ...]
    """What could not be tried, and is no problem."""


class _HeldByThePipeline(Exception):
    """A receiver cannot be tried, because the running pipeline has its address."""


def try_connections(plan: Plan) -> Connections:
    """Open and close everything that the plan names."""
    unreachable, notes = [], []
    for component, attempt in _attempts(plan):
        try:
            attempt()
        except _HeldByThePipeline as held:
            notes.append(f"{component} is not tried: {held}")
        except HoldfastError as error:
            unreachable.append(Unreachable(component, error.what, error.remedy))
        except Exception as error:
            what = f"It cannot be opened: {error!r}."
            unreachable.append(Unreachable(component, what, "See that it runs and may be reached."))
    return Connections(tuple(unreachable), tuple(notes))


def _attempts(plan: Plan) -> Iterator[tuple[str, Callable[[], None]]]:
    for source in plan.sources:
        if isinstance(source, Receiver):
            yield f"source {source.name}", partial(_try_receiver, source, plan.directory)
        else:
            yield f"source {source.name}", source.check_connection
    for spec in plan.sinks:
        identity = LaneIdentity(f"{plan.name}.validate", spec.name, "validate", 1, no_hook)
        yield f"sink {spec.name}", partial(spec.sink.check_connection, identity)


def _try_receiver(receiver: Receiver, directory: Path) -> None:
    """An address that is in use is fine when the pipeline itself runs and takes in there."""
    try:
        receiver.check_connection()
    except SourceUnavailable:
        if (pid := _serving(directory, receiver.name)) is not None:
            raise _HeldByThePipeline(f"the pipeline runs as process {pid} and takes in there.") from None
        raise


def _serving(directory: Path, source: str) -> int | None:
    """The process that runs the pipeline, when its source of this name takes in; None otherwise."""
    try:
        status = ask(directory, "status")["snapshot"]
    except HoldfastError:
        return None
    serves = any(each["name"] == source and each["error"] is None for each in status["sources"])
    return int(status["pid"]) if serves else None
