"""The life of a conjunction: one passage of one pair, told of in many windows. Pure.

Words are about windows, and a passage that is hours ahead is told of in every window in which both objects are seen.
Who has to act wants to know of it once: that it was raised, how it stands by the newest window that tells of it, that
no window does any more, or that its time has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from meridian.fusion.emissions import Word
from meridian.fusion.risk import ConjunctionRisk


class Stage(Enum):
    """Where a conjunction stands in its life."""

    RAISED = "raised"
    UPDATED = "updated"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to act on it any more."""
        return self in (Stage.WITHDRAWN, Stage.EXPIRED)


@dataclass(frozen=True, slots=True, order=True)
class Passage:
    """Which conjunction is meant: the pair, and the time of the passage by the catalog alone."""

    a: str
    b: str
    encounter: int


@dataclass(frozen=True, slots=True)
class Conjunction:
    """How a conjunction stands.

    :param risk: by the newest window that tells of it; the last that was told when none does any more.
    :param told: what each window says that tells of it now.
    """

    passage: Passage
    stage: Stage
    risk: ConjunctionRisk
    told: Mapping[int, ConjunctionRisk] = field(default_factory=dict)

    def after(self, word: Word[ConjunctionRisk]) -> Conjunction:
        """How it stands when this was said, too."""
        told = dict(self.told)
        if word.takes_back:
            told.pop(word.meeting.window, None)
        else:
            told[word.meeting.window] = word.finding
        if not told:
            return replace(self, told=told, stage=Stage.WITHDRAWN)
        newest = told[max(told)]
        changes = self.stage.is_over or newest != self.risk
        return replace(self, told=told, risk=newest, stage=Stage.UPDATED if changes else self.stage)


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Everything that was told of and has not been forgotten."""

    known: Mapping[Passage, Conjunction] = field(default_factory=dict)

    def after(self, words: Iterable[Word[ConjunctionRisk]]) -> tuple[Conjunctions, list[Conjunction]]:
        """How things stand when these were said, too, and the conjunctions that changed, each once."""
        known, touched = dict(self.known), dict[Passage, Conjunction | None]()
        for word in words:
            passage = Passage(word.meeting.a, word.meeting.b, word.finding.encounter)
            touched.setdefault(passage, known.get(passage))
            if passage in known:
                known[passage] = known[passage].after(word)
            elif not word.takes_back:
                known[passage] = Conjunction(passage, Stage.RAISED, word.finding, {word.meeting.window: word.finding})
        changed = [known[passage] for passage in touched if passage in known]
        news = [now for now in changed if _is_news(touched[now.passage], now)]
        return Conjunctions(known), news

    def expired(self, now: int) -> tuple[Conjunctions, list[Conjunction]]:
        """How things stand at a time, in nanoseconds, and the conjunctions whose time has passed since."""
        passed = [each for each in self.known.values() if each.risk.closest <= now]
        over = [replace(each, stage=Stage.EXPIRED, told={}) for each in passed if not each.stage.is_over]
        return Conjunctions({each.passage: each for each in self.known.values() if each.risk.closest > now}), over

    def standing(self) -> list[Conjunction]:
        """Those on which somebody may have to act, the soonest first."""
        alive = [each for each in self.known.values() if not each.stage.is_over]
        return sorted(alive, key=lambda each: (each.risk.closest, each.passage))


def _is_news(before: Conjunction | None, now: Conjunction) -> bool:
    return before is None or (before.stage, before.risk) != (now.stage, now.risk)
