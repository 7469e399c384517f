"""When is a batch committed? A policy is an order statistic over what the lanes have delivered.

Pure: a policy and the lanes' standings go in, a batch number comes out. The ledger asks it after every answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from holdfast.model.errors import InvalidPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Required:
    """A batch is committed when every required sink has it. The default."""


@dataclass(frozen=True, slots=True)
class All:
    """A batch is committed when every sink has it, optional ones too."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """A batch is committed when any `n` sinks have it."""

    n: int


Policy = Required | All | Quorum


class Standing(Protocol):
    """What a policy needs to know of a lane."""

    @property
    def required(self) -> bool:
        """Whether the `required` policy waits for this lane."""

    @property
    def counts(self) -> bool:
        """False for a lane that was added and does not reach over `committed` yet."""

    @property
    def delivered(self) -> int:
        """The lane's resolved prefix."""


def policy_prefix(policy: Policy, lanes: Iterable[Standing]) -> int | None:
    """The highest batch number that satisfies the policy, or None while no number can.

    A lane that does not count yet neither holds the policy back nor helps to meet it.
    """
    if isinstance(policy, Required):
        return min([lane.delivered for lane in lanes if lane.counts and lane.required], default=None)
    if isinstance(policy, All):
        return min([lane.delivered for lane in lanes if lane.counts], default=None)
    highest_first = sorted([lane.delivered for lane in lanes if lane.counts], reverse=True)
    return highest_first[policy.n - 1] if len(highest_first) >= policy.n else None


def check_policy(policy: Policy, required: Iterable[bool]) -> None:
    """Refuse a policy that these lanes (a flag each: is it required?) can never meet."""
    flags = list(required)
    if not flags:
        raise InvalidPolicy(
            "The pipeline has no sink, so nothing could ever be committed.", remedy="Declare at least one sink."
        )
    if isinstance(policy, Required) and not any(flags):
        raise InvalidPolicy(
            f"The policy is `required`, but none of the {len(flags)} sinks is required.",
            remedy="Mark at least one sink as required, or choose the policy `all` or `quorum`.",
        )
    if isinstance(policy, Quorum) and not 1 <= policy.n <= len(flags):
        raise InvalidPolicy(
            f"A quorum of {policy.n} cannot be met by {len(flags)} sinks.",
            remedy=f"Choose a quorum from 1 to {len(flags)}, or add sinks.",
            quorum=policy.n,
            sinks=len(flags),
        )
