"""What a subscriber makes of a word on an alert, given what it was told before. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from meridian.fusion.emissions import Kind, version_of


class Verdict(Enum):
    """What is to be done about a word."""

    RAISED = "raised"
    """The alert is new."""
    UPDATED = "updated"
    """The alert holds with other figures, or again."""
    WITHDRAWN = "withdrawn"
    """The alert does not hold any more; whoever acted on it is to be told."""
    REPEATED = "repeated"
    """The word came before and was acted on."""
    OVERTAKEN = "overtaken"
    """A later word came first: the alert stands further than this."""


ACTED = frozenset({Verdict.RAISED, Verdict.UPDATED, Verdict.WITHDRAWN})
"""The verdicts on which somebody acts."""


@dataclass(frozen=True, slots=True)
class Told:
    """A word as it came.

    :param content: the whole word, as text.
    """

    alert_id: str
    sequence: int
    kind: Kind
    content: str

    @property
    def version(self) -> int:
        """How far the alert is with this word."""
        return version_of(self.sequence, self.kind)


def verdict(word: Told, standing: int | None) -> Verdict:
    """What to make of a word.

    :param standing: the version of the last word that was acted on; nothing if there was none.
    """
    if standing is not None and word.version <= standing:
        return Verdict.REPEATED if word.version == standing else Verdict.OVERTAKEN
    if word.kind is Kind.RETRACT:
        return Verdict.WITHDRAWN
    return Verdict.RAISED if standing is None else Verdict.UPDATED
