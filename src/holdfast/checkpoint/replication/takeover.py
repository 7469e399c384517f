"""Fences both tiers of a replicated store under one epoch, and finds out which of them is ahead.

The remote tier comes first: when it cannot be reached, nothing has changed yet and the takeover can be refused. Without
it no other host can be fenced, so to go on nevertheless is a choice that must be made by name.
"""

from __future__ import annotations

from enum import Enum

from holdfast.checkpoint.replication.remotetier import newest_manifest
from holdfast.checkpoint.replication.replica import NOTHING, is_behind
from holdfast.checkpoint.replication.status import Standing
from holdfast.checkpoint.replication.tiers import NEVER, Tiers
from holdfast.model.errors import Fenced, StoreUnavailable


class WithoutRemote(Enum):
    """What a takeover does when the remote tier cannot be reached, so that another host cannot be fenced there."""

    REFUSE = "refuse"
    """Raise `StoreUnavailable` and change nothing."""
    DETACH = "detach"
    """Take over the local tier alone, say so in the status, and fence the remote tier as soon as it is back."""


def take_over(tiers: Tiers, at_least: int, without: WithoutRemote) -> int:
    """Raise the epoch in both tiers and see how they stand to each other."""
    with tiers.remote_use:
        try:
            tiers.remote.manifest()
            former = tiers.remote.store.epoch()
        except StoreUnavailable as error:
            if without is WithoutRemote.REFUSE:
                raise _unreachable(error) from error
            return _detach(tiers, at_least, error)
        epoch = _raise_both(tiers, max(at_least, former + 1, tiers.local.epoch() + 1))
        _reconcile(tiers, epoch, former)
        return epoch


def attach(tiers: Tiers) -> None:
    """The remote tier may be back after a takeover without it: fence it, unless another host was there first."""
    former = tiers.remote.store.epoch()
    if former > tiers.record.epoch or former >= tiers.epoch:
        raise _taken(tiers.epoch, former)
    if (reached := tiers.remote.store.take_over(at_least=tiers.epoch)) != tiers.epoch:
        raise _taken(tiers.epoch, reached)
    _reconcile(tiers, tiers.epoch, former)


def _raise_both(tiers: Tiers, at_least: int) -> int:
    """The same epoch in both tiers; again when somebody raised the local one meanwhile."""
    while True:
        remote = tiers.remote.store.take_over(at_least=at_least)
        local = tiers.local.take_over(at_least=remote)
        if local == remote:
            return local
        at_least = local + 1


def _detach(tiers: Tiers, at_least: int, error: StoreUnavailable) -> int:
    epoch = tiers.local.take_over(at_least=at_least)
    with tiers.changed:
        tiers.epoch, tiers.standing = epoch, Standing.DETACHED
        tiers.record, tiers.copied = newest_manifest(tiers.local).manifest, NEVER
        tiers.attempts = tiers.attempts.failed(error)
        tiers.note_differences(tiers.record)
    return epoch


def _reconcile(tiers: Tiers, epoch: int, former: int) -> None:
    """See which tier is ahead, write the epoch into the record before it is used, and note what is to be copied."""
    found, record = tiers.remote.manifest(), newest_manifest(tiers.local).manifest
    behind = is_behind(tiers.local_versions(), record, found, former)
    known = record if found.is_damaged else max(found.manifest, record, key=lambda manifest: manifest.mark)
    if not behind:
        tiers.keep_record(epoch, known.claimed(epoch))
    with tiers.changed:
        tiers.epoch, tiers.base, tiers.copied = epoch, found, NEVER
        tiers.standing = Standing.BEHIND if behind else Standing.IN_STEP
        if not behind:
            tiers.note_differences(NOTHING if found.is_damaged else known)


def _unreachable(error: StoreUnavailable) -> StoreUnavailable:
    return StoreUnavailable(
        f"The remote tier cannot be reached, so no other host can be fenced there: {error.what}",
        remedy="See to the remote tier. If no other host can be running, take over with WithoutRemote.DETACH.",
    )


def _taken(mine: int, newest: int) -> Fenced:
    return Fenced(
        f"Epoch {newest} took over the remote tier while epoch {mine} was detached from it.",
        remedy="Stop this instance: another host has taken over.",
        carried=mine,
        newest=newest,
    )
