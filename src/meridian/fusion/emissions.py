"""What is told of windows: a first word, corrections of it, and that there is nothing any more. Pure.

What is told of a pair of objects in a window has a number, from 0 on. A correction takes the last word back and says
the new one under the next number, in this order; a pair that no longer comes close is taken back with nothing in its
place. A receiver that keeps, for each pair and window, only the word with the highest number ends with the truth,
however often and in which order words reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import blake2b
from operator import eq
from typing import Generic, TypeVar

Finding = TypeVar("Finding")
"""What is known of a pair in a window; two that are equal say the same."""


class Kind(Enum):
    """What a word does."""

    INSERT = "insert"
    RETRACT = "retract"


def version_of(sequence: int, kind: Kind) -> int:
    """How far an alert is with a word: what is said under a number comes before its being taken back."""
    return 2 * sequence + (kind is Kind.RETRACT)


@dataclass(frozen=True, slots=True, order=True)
class Meeting:
    """A pair of objects in a window, the smaller name first."""

    window: int
    a: str
    b: str

    def __post_init__(self) -> None:
        if not self.a < self.b:
            raise ValueError(f"{self.a!r} and {self.b!r} are not two objects in order")

    @classmethod
    def of(cls, window: int, one: str, other: str) -> Meeting:
        """The pair, in whichever order it is named."""
        return cls(window, min(one, other), max(one, other))

    @property
    def alert_id(self) -> str:
        """Names the alert: the same in every run, on every machine, and for every correction."""
        text = "\x1f".join((self.a, self.b, str(self.window)))
        return blake2b(text.encode(), digest_size=16, person=b"meridian-alert").hexdigest()


@dataclass(frozen=True)
class Word(Generic[Finding]):
    """One thing that is told."""

    kind: Kind
    meeting: Meeting
    sequence: int
    finding: Finding
    """What holds now, or what does no longer."""

    @property
    def takes_back(self) -> bool:
        """Whether it only undoes an earlier word."""
        return self.kind is Kind.RETRACT


@dataclass(frozen=True)
class Said(Generic[Finding]):
    """The last word on a meeting."""

    sequence: int
    finding: Finding | None
    """Nothing when the last word took it back."""


@dataclass(frozen=True)
class Telling(Generic[Finding]):
    """Everything said of windows that are not gone."""

    said: Mapping[Meeting, Said[Finding]] = field(default_factory=dict)

    def told(
        self,
        windows: Iterable[int],
        found: Mapping[Meeting, Finding],
        still: Callable[[Finding, Finding], bool] = eq,
    ) -> tuple[Telling[Finding], Sequence[Word[Finding]]]:
        """Say what holds now in these windows. What was said and still holds is not said again.

        :param found: everything that is close in these windows; a meeting that is not there is not close any more.
        :param still: whether what was said may stand when this is found now.
        """
        looked_at = set(windows)
        meetings = {meeting for meeting in self.said if meeting.window in looked_at} | set(found)
        said, words = dict(self.said), list[Word[Finding]]()
        for meeting in sorted(meetings):
            last, now = said.get(meeting, Said(-1, None)), found.get(meeting)
            if last.finding is None and now is None:
                continue
            if last.finding is not None and now is not None and still(last.finding, now):
                continue
            if last.finding is not None:
                words.append(Word(Kind.RETRACT, meeting, last.sequence, last.finding))
                last = replace(last, finding=None)
            if now is not None:
                last = Said(last.sequence + 1, now)
                words.append(Word(Kind.INSERT, meeting, last.sequence, now))
            said[meeting] = last
        return Telling(said), words

    def without(self, before: int) -> Telling[Finding]:
        """Forget the windows before this one: they are gone, so nothing more will be said of them."""
        return Telling({meeting: last for meeting, last in self.said.items() if meeting.window >= before})
