"""The worlds that are explored. Each is small enough to finish and large enough to hold a bug of its kind."""

from __future__ import annotations

from holdfast.ledger.lane import LaneSpec
from holdfast.ledger.policy import All, Quorum, Required
from tests.model.explorer import Exploration, explore
from tests.model.world import POLICIES, Bounds, Violation

ORDERED = LaneSpec("a", required=True, max_inflight=1)
WIDE = LaneSpec("a", required=True, max_inflight=2)
OPTIONAL = LaneSpec("b", required=False, max_inflight=1)
SECOND = LaneSpec("b", required=True, max_inflight=1)
THIRD = LaneSpec("c", required=True, max_inflight=1)
OWN_CURSOR = frozenset({"a"})

QUICK: dict[str, Bounds] = {
    "one lane, answers out of order": Bounds((WIDE,), batches=3, troubles=1, rejects=1, crashes=1),
    "two lanes": Bounds((ORDERED, OPTIONAL), batches=2, troubles=1, rejects=0, crashes=1),
    "a sink with its own cursor": Bounds(
        (ORDERED,), remembering=OWN_CURSOR, batches=3, troubles=1, rejects=1, crashes=1, restores=1
    ),
    "sinks and policies come and go": Bounds(
        (ORDERED,),
        batches=2,
        troubles=0,
        rejects=0,
        crashes=1,
        changes=2,
        spare=THIRD,
        policies=(Quorum(1), All()),
    ),
    "a sink is detached and attached": Bounds(
        (ORDERED, OPTIONAL),
        remembering=frozenset({"b"}),
        batches=1,
        troubles=0,
        rejects=0,
        crashes=1,
        restores=1,
        changes=2,
    ),
    "rollback": Bounds((WIDE,), batches=3, troubles=0, rejects=0, crashes=1, rollbacks=1),
    "rollback of a sink with its own cursor": Bounds(
        (ORDERED,), remembering=OWN_CURSOR, batches=3, troubles=0, rejects=0, crashes=1, restores=1, rollbacks=1
    ),
}
"""Explored to the end by `make test`."""

FULL: dict[str, Bounds] = {
    "two lanes, answers out of order": Bounds((WIDE, OPTIONAL), batches=3, troubles=1, rejects=1, crashes=1),
    "quorum of three": Bounds(
        (ORDERED, OPTIONAL, THIRD), policy=Quorum(2), batches=2, troubles=1, rejects=0, crashes=1
    ),
    "all of three": Bounds((ORDERED, OPTIONAL, THIRD), policy=All(), batches=2, troubles=0, rejects=1, crashes=1),
    "two sinks, one with its own cursor": Bounds(
        (ORDERED, SECOND), remembering=OWN_CURSOR, batches=3, troubles=1, rejects=1, crashes=2, restores=1
    ),
    "sinks and policies come and go": Bounds(
        (ORDERED, OPTIONAL), batches=3, troubles=0, rejects=1, crashes=1, changes=2, spare=THIRD, policies=POLICIES
    ),
    "a sink is detached and attached": Bounds(
        (ORDERED, OPTIONAL), remembering=frozenset({"b"}), batches=3, troubles=0, rejects=0, crashes=1, changes=3
    ),
    "rollback of two": Bounds((WIDE, OPTIONAL), batches=3, troubles=1, rejects=0, crashes=1, rollbacks=1),
    "rollback and change": Bounds(
        (ORDERED, SECOND),
        policy=Required(),
        remembering=OWN_CURSOR,
        batches=3,
        troubles=0,
        rejects=0,
        crashes=2,
        restores=1,
        changes=1,
        spare=THIRD,
        policies=(All(), Quorum(1)),
        rollbacks=1,
    ),
}
"""Explored by `make model`, each up to its share of the states asked for."""


def explore_full(task: tuple[str, int]) -> tuple[str, Exploration | str]:
    """One world of `FULL`, for a process of its own; a violation comes back as its message."""
    name, limit = task
    try:
        return name, explore(
            FULL[name], limit=limit, progress=lambda states: print(f"  {name}: {states:,} …", flush=True)
        )
    except Violation as violation:
        return name, str(violation)
