"""What the doctor can propose, as values. What carries them out is in `treatment`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FallBack:
    """Makes older versions the newest ones, together, as a recorded rollback."""

    versions: Mapping[str, int]
    """The version each key goes back to."""
    newest: Mapping[str, int]
    """The newest version of each at the examination; the repair is refused when it is another one by then."""

    def __str__(self) -> str:
        targets = ", ".join(f"{key!r} to version {number}" for key, number in sorted(self.versions.items()))
        return f"Fall back in one commit: {targets}."


@dataclass(frozen=True, slots=True)
class Forget:
    """Forgets the oldest versions of a key, up to a damaged one."""

    key: str
    keep: int

    def __str__(self) -> str:
        return f"Forget the damaged version of {self.key!r} and those before it; the newest {self.keep} are kept."


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes a file or object that nothing refers to."""

    name: str

    def __str__(self) -> str:
        return f"Remove {self.name}."


@dataclass(frozen=True, slots=True)
class AcceptLoss:
    """Ends the doubt about keys that stood in nothing but unreadable commits."""

    commits: tuple[int, ...]

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.commits))
        return f"Accept as lost the keys that were first written by the unreadable commit {numbers}, if there were any."


Repair = FallBack | Forget | Remove | AcceptLoss
