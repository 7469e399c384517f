"""Whether the sources and sinks of a plan answer. Each is opened and closed again; nothing is read and nothing is sent.

What a sink makes when it is opened stays: a directory, a table of cursors with a row of a pipeline that never runs. The
lanes of the pipeline itself are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.deliver import LaneIdentity
from holdfast.model.errors import HoldfastError
from holdfast.model.steps import no_hook

if TYPE_CHECKING:
    from holdfast.runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A source or a sink that could not be opened."""

    component: str
    what: str
    remedy: str


def find_unreachable(plan: Plan) -> list[Unreachable]:
    """Those that cannot be opened, and why."""
    return [found for component, attempt in _attempts(plan) if (found := _tried(component, attempt)) is not None]


def _attempts(plan: Plan) -> Iterator[tuple[str, Callable[[], None]]]:
    for source in plan.sources:
        yield f"source {source.name}", lambda source=source: (source.open(None), source.close())  # type: ignore[misc]
    for spec in plan.sinks:
        identity = LaneIdentity(f"{plan.name}.validate", spec.name, "validate", 1, no_hook)
        yield f"sink {spec.name}", lambda s=spec.sink, i=identity: (s.open(i), s.close())  # type: ignore[misc]


def _tried(component: str, attempt: Callable[[], None]) -> Unreachable | None:
    try:
        attempt()
    except HoldfastError as error:
        return Unreachable(component, error.what, error.remedy)
    except Exception as error:
        return Unreachable(component, f"It cannot be opened: {error!r}.", "See that it runs and may be reached.")
    return None
