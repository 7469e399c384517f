"""Carries out what a diagnosis proposes, or says what it would do.

Every repair is made by the owner: the caller's epoch is checked before the first, and each change of a version is a
commit of its own that requires the store to be as it was examined. A dry run writes nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from holdfast.checkpoint.commitlog.store import LogStore
from holdfast.checkpoint.contract import CheckpointStore, Commit, Origin, RollBack, VersionIs
from holdfast.checkpoint.doctor.diagnosis import Diagnosis, Finding
from holdfast.checkpoint.doctor.repairs import AcceptLoss, FallBack, Forget, Remove, Repair
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.model.errors import CheckpointDamaged, RequirementFailed


class DryRun(Enum):
    """Whether repairs are only named."""

    YES = "yes"
    NO = "no"


class Outcome(Enum):
    """What became of a repair."""

    WOULD_DO = "would do"
    DONE = "done"
    NOT_DONE = "not done"


@dataclass(frozen=True, slots=True)
class Action:
    """One repair, and what became of it."""

    finding: Finding
    repair: Repair
    outcome: Outcome
    why: str | None = None
    """Why it was not done."""

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.repair}" + (f" ({self.why})" if self.why else "")


def repair(store: CheckpointStore, diagnosis: Diagnosis, *, epoch: int, dry_run: DryRun = DryRun.YES) -> list[Action]:
    """Carry out the repairs of a diagnosis, in its order; those of versions before those that build on them.

    `Fenced` or `UnknownEpoch` when the epoch does not own the store; then nothing was done.
    """
    proposed = sorted(
        ((finding, finding.repair) for finding in diagnosis.findings if finding.repair is not None),
        key=lambda pair: isinstance(pair[1], AcceptLoss),
    )
    if dry_run is DryRun.YES:
        return [Action(finding, cure, Outcome.WOULD_DO) for finding, cure in proposed]
    if proposed:
        store.commit(Commit(epoch, []))
    return [_treated(store, finding, cure, epoch) for finding, cure in proposed]


def _treated(store: CheckpointStore, finding: Finding, cure: Repair, epoch: int) -> Action:
    try:
        _carry_out(store, cure, epoch)
    except (RequirementFailed, CheckpointDamaged) as error:
        return Action(finding, cure, Outcome.NOT_DONE, str(error))
    return Action(finding, cure, Outcome.DONE)


def _carry_out(store: CheckpointStore, cure: Repair, epoch: int) -> None:
    tier = store.tiers.local if isinstance(store, ReplicatedStore) else store
    match cure:
        case FallBack(versions, newest):
            updates = [RollBack(key, number, Origin.FALLBACK) for key, number in versions.items()]
            store.commit(Commit(epoch, updates, [VersionIs(key, number) for key, number in newest.items()]))
        case Forget(key, keep):
            store.prune(key, keep=keep, epoch=epoch)
        case Remove(name) if isinstance(tier, LogStore):
            tier.medium.remove([name])
        case AcceptLoss() if isinstance(tier, LogStore):
            tier.accept_loss(epoch=epoch)
