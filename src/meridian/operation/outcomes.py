"""What became of dead letters that were to be reprocessed. A value that can be added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

BEFORE = "reprocessed or seen to before"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many letters are on their way again, and how many are not, by the reason."""

    again: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def skipping(cls, why: str, count: int) -> Outcome:
        """So many are skipped for one reason."""
        return cls(0, +Counter({why: count}))

    def __add__(self, other: Outcome) -> Outcome:
        """Of both."""
        return Outcome(self.again + other.again, self.skipped + other.skipped)
