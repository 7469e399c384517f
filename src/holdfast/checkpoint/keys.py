"""Refuses what no store could keep: a malformed key, a commit that contradicts itself. No I/O.

Everything here can be decided without looking into a store; what depends on the store's content is in `rules`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Origin, RollBack
from holdfast.model.errors import InvalidCommit, InvalidKey

if TYPE_CHECKING:
    from holdfast.checkpoint.contract import Commit, Update

MAX_KEY_LENGTH = 200

_ALLOWED = re.compile(r"[a-zA-Z0-9._\-/:]+\Z")
_REMEDY = (
    f"Use 1 to {MAX_KEY_LENGTH} characters of a-z A-Z 0-9 . _ - / : that do not start with `/` or `.` and have no `..`."
)


def check_key(key: str) -> str:
    """The key itself when every backend can keep it, `InvalidKey` otherwise."""
    if reason := _key_fault(key):
        what = f"The key {_shown(key)} cannot be used: {reason}."
        raise InvalidKey(what, remedy=_REMEDY, key=key)
    return key


def check_commit(commit: Commit) -> None:
    """Raise `InvalidKey` or `InvalidCommit` when the commit could be applied to no store at all."""
    for key in [update.key for update in commit.updates] + [need.key for need in commit.requirements]:
        check_key(key)
    if reason := _commit_fault(commit):
        what = f"The commit cannot be applied: {reason}."
        raise InvalidCommit(what, remedy="Correct the caller.", epoch=commit.epoch)


def check_prune(key: str, keep: int) -> None:
    """Raise `InvalidKey` or `InvalidCommit` when nothing could be pruned by these arguments."""
    check_key(key)
    if keep < 1:
        what = f"Pruning {key!r} to {keep} versions would leave none."
        raise InvalidCommit(what, remedy="Keep at least one version, or delete the key.", key=key, keep=keep)


def _key_fault(key: str) -> str | None:
    if not key:
        return "it is empty"
    if len(key) > MAX_KEY_LENGTH:
        return f"it has {len(key)} characters"
    if not _ALLOWED.match(key):
        return "it holds a character that not every backend can keep"
    if key[0] in "/." or ".." in key:
        return "it could be taken for a path outside of the store"
    return None


def _commit_fault(commit: Commit) -> str | None:
    twice = [key for key, count in Counter(update.key for update in commit.updates).items() if count > 1]
    if twice:
        return f"{twice[0]!r} stands in more than one update"
    if negative := next((need for need in commit.requirements if need.version < 0), None):
        return f"it requires version {negative.version} of {negative.key!r}"
    return next((fault for update in commit.updates if (fault := _update_fault(update))), None)


def _update_fault(update: Update) -> str | None:
    if not isinstance(update, RollBack):
        return None
    if update.version < 1:
        return f"{update.key!r} has no version {update.version}"
    if update.origin not in (Origin.ROLLBACK, Origin.FALLBACK):
        return f"going back in {update.key!r} cannot have the origin {update.origin.value!r}"
    return None


def _shown(key: str) -> str:
    return repr(key if len(key) <= MAX_KEY_LENGTH else key[:MAX_KEY_LENGTH] + "…")
