"""What a store decides about a write, as pure functions: whose turn it is, what must hold, what may be forgotten.

A backend reads what these need and acts on the answer inside one atomic step; it decides nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.errors import Fenced, RequirementFailed, StoreClosed, UnknownEpoch, UnknownKey, UnknownVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from holdfast.checkpoint.contract import Requirement


def check_epoch(carried: int, newest: int) -> None:
    """Raise `Fenced` when a newer owner exists and `UnknownEpoch` when nobody was ever given the carried epoch."""
    if carried < 1 or carried > newest:
        raise _unknown_epoch(carried, newest)
    if carried < newest:
        raise _fenced(carried, newest)


def next_epoch(newest: int, at_least: int) -> int:
    """The epoch of a new owner: above every earlier one and not below `at_least`."""
    return max(newest + 1, at_least)


def check_requirements(requirements: Iterable[Requirement], newest: Mapping[str, int]) -> None:
    """Raise `RequirementFailed` unless each holds; `newest` has the newest version of each key that is present."""
    for need in requirements:
        found = newest.get(need.key, 0)
        if found != need.version:
            raise _requirement_failed(need, found)


def prunable(numbers: Sequence[int], keep: int, is_readable: Callable[[int], bool]) -> list[int]:
    """Which of the version numbers (oldest first) may go, so that `keep` and the newest readable one stay."""
    kept, candidates = numbers[-keep:], list(numbers[:-keep])
    if not candidates or any(is_readable(number) for number in reversed(kept)):
        return candidates
    spared = next((number for number in reversed(candidates) if is_readable(number)), None)
    return [number for number in candidates if number != spared]


def unknown_key(key: str) -> UnknownKey:
    """The error for an operation that needs a key which is absent."""
    return UnknownKey(f"The store has no key {key!r}.", remedy="List the keys to see what is there.", key=key)


def unknown_version(key: str, version: int) -> UnknownVersion:
    """The error for an operation that names a version which is not kept."""
    return UnknownVersion(
        f"Version {version} of {key!r} is not kept.",
        remedy="List the versions of the key to see which are.",
        key=key,
        version=version,
    )


def closed(store: str) -> StoreClosed:
    """The error for any use of a store that was closed."""
    return StoreClosed(f"{store} was closed.", remedy="Open the store again.", store=store)


def carried_over_fork(store: str) -> StoreClosed:
    """The error for any use of a store in a child process that inherited it."""
    return StoreClosed(
        f"{store} was opened by another process, and this one inherited it by a fork.",
        remedy="Open a store of its own in the child process.",
        store=store,
    )


def place(key: str, version: int) -> str:
    """How an error names the place of a damaged checkpoint."""
    return f"{key!r} version {version}"


def _unknown_epoch(carried: int, newest: int) -> UnknownEpoch:
    return UnknownEpoch(
        f"The write carries epoch {carried}, which this store never handed out; its newest is {newest}.",
        remedy="Call take_over first. If you did, the store was replaced by an older copy: see what it lacks.",
        carried=carried,
        newest=newest,
    )


def _fenced(carried: int, newest: int) -> Fenced:
    return Fenced(
        f"The write carries epoch {carried}, but epoch {newest} owns the store.",
        remedy="Stop this instance: another one has taken over.",
        carried=carried,
        newest=newest,
    )


def _requirement_failed(need: Requirement, found: int) -> RequirementFailed:
    return RequirementFailed(
        f"The commit needs {need.key!r} to be {_state(need.version)}, but it is {_state(found)}.",
        remedy="Read the key again and decide anew.",
        key=need.key,
        needed=need.version,
        found=found,
    )


def _state(version: int) -> str:
    return f"at version {version}" if version else "absent"
