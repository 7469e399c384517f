"""What was lost on the way, and what fusion survives by: checkpoint, dead letters, restarts, breakers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group

from meridian.screen.parts import Part, Piece, flowing, line
from meridian.screen.wording import NOTHING, lasting, size, tally
from meridian.service.seen import PipelineSeen
from meridian.service.values import Snapshot

_OLD_SECONDS = 60.0
_CLOSED = 0
_RUNNING = "running"
_FEWEST_LINES = 3
_BREAKERS = {_CLOSED: "closed", 1: "open", 2: "half-open"}


def resilience(snapshot: Snapshot, width: int) -> Part:
    """In as many lines as it takes."""
    lines = flowing([*_survives(snapshot), *_lost(snapshot)], width)
    return Part(
        line(("Resilience and losses", "bold")),
        lambda height: Group(*lines[:height]),
        least=min(len(lines), _FEWEST_LINES),
        wanted=len(lines),
    )


def _survives(snapshot: Snapshot) -> list[Piece]:
    state = [] if snapshot.progress is None else [f"state {size(snapshot.progress.state_bytes)}"]
    return [_checkpoint(snapshot.pipeline), *state, *_runs(snapshot.pipeline), _breakers(breakers(snapshot))]


def _lost(snapshot: Snapshot) -> list[Piece]:
    counted = [("dropped at the edge", snapshot.drops), ("dead letters", snapshot.dead_letters)]
    return [(f"{what} {tally(counts)}", "yellow" if sum(counts.values()) else "") for what, counts in counted]


def _checkpoint(pipeline: PipelineSeen | None) -> Piece:
    if pipeline is None:
        return f"checkpoint {NOTHING}"
    age = pipeline.checkpoint_age_s
    return (f"checkpoint {lasting(age)} old", "yellow" if age > _OLD_SECONDS else "")


def _runs(pipeline: PipelineSeen | None) -> list[Piece]:
    """How often it was started again, and where the state came from."""
    if pipeline is None:
        return [f"restarts {NOTHING}, recovery {NOTHING}"]
    paths = ", ".join(sorted(pipeline.starts)) or NOTHING
    restarts: Piece = (f"restarts {pipeline.restarts:,}, recovery {paths}", "yellow" if pipeline.restarts else "")
    return [restarts] if pipeline.state == _RUNNING else [restarts, (pipeline.state, "yellow")]


def breakers(snapshot: Snapshot) -> dict[str, int]:
    """The breakers of the edge and of the sinks, by whose they are."""
    sensors = snapshot.edge.sensors if snapshot.edge is not None else ()
    sinks = snapshot.pipeline.sinks if snapshot.pipeline is not None else ()
    asked = {each.source: each.breaker for each in sensors if each.breaker is not None}
    return {**asked, **{f"sink {each.sink}": each.breaker for each in sinks}}


def _breakers(states: Mapping[str, int]) -> Piece:
    tripped = {name: state for name, state in states.items() if state != _CLOSED}
    if not tripped:
        return f"breakers {'all closed' if states else NOTHING}"
    return (f"breakers {', '.join(f'{name} {_BREAKERS.get(state, state)}' for name, state in tripped.items())}", "red")
