"""Whether sources, sinks and checkpoint stores answer. Each is opened and closed again; nothing is read or sent.

What a sink or a store makes when it is opened stays: a directory, a table of cursors with a row of a pipeline that
never runs. The lanes of the pipeline itself are not touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from holdfast.capture.contract import Receiver
from holdfast.control.client import ask
from holdfast.deliver import LaneIdentity
from holdfast.model.errors import HoldfastError, SourceUnavailable, StoreReadOnly
from holdfast.model.steps import no_hook
from holdfast.runtime.checkpoints.opening import check_same_kind, is_there, open_local, open_remote
from holdfast.runtime.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.runtime.checkpoints.settings import RemoteSettings
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
    yield "checkpoint store", partial(_try_store, plan)
    if plan.checkpoint.remote is not None:
        yield "remote checkpoint store", partial(_try_remote, plan, plan.checkpoint.remote)


def _try_store(plan: Plan) -> None:
    """A store on a server must answer; one of files must be whole, or have a place to be made in."""
    layout = Layout(plan.directory.absolute())
    check_same_kind(plan, layout)
    if is_there(plan.checkpoint.store, layout):
        with open_local(plan.checkpoint.store, layout, plan.name) as store:
            store.epoch()
        return
    place = next(path for path in (layout.root, *layout.root.parents) if path.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        raise StoreReadOnly(
            f"The checkpoint store cannot be made: {place} is not writable for this user.",
            remedy="Make the directory writable, or name another `directory`.",
        )


def _try_remote(plan: Plan, remote: RemoteSettings) -> None:
    with open_remote(remote, plan.name) as store:
        store.epoch()


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
