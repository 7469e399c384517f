"""The life of a conjunction: one passage of one pair, told of in many windows. Pure.

Words are about windows, and a passage that is hours ahead is told of in every window in which both objects are seen.
Who has to act wants to know of it once: that it was raised, how it stands by the newest window that had to say
something of it, that this window found nothing any more, or that its time has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import blake2b
from operator import attrgetter

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

    @property
    def conjunction_id(self) -> str:
        """Names the conjunction: the same in every run and on every machine."""
        text = "\x1f".join((self.a, self.b, str(self.encounter)))
        return blake2b(text.encode(), digest_size=8, person=b"meridian-passage").hexdigest()


@dataclass(frozen=True, slots=True)
class Conjunction:
    """How a conjunction stands.

    :param risk: by the newest window that tells of it; the last that was told when that one found nothing.
    :param told: what each window says that may still change its mind: nothing if it found none.
    :param windows: how many have told of it.
    :param version: how often this has changed.
    """

    passage: Passage
    stage: Stage
    risk: ConjunctionRisk
    told: Mapping[int, ConjunctionRisk | None] = field(default_factory=dict)
    windows: int = 1
    version: int = 0

    @classmethod
    def raised(cls, passage: Passage, window: int, risk: ConjunctionRisk) -> Conjunction:
        """The first word on it."""
        return cls(passage, Stage.RAISED, risk, {window: risk})

    def with_word(self, window: int, finding: ConjunctionRisk | None) -> Conjunction:
        """How it stands when a window says this of it: nothing, when it finds none."""
        is_first = finding is not None and self.told.get(window) is None
        told = {**self.told, window: finding}
        newest = told[max(told)]
        heard = replace(self, told=told, windows=self.windows + is_first)
        if newest is None:
            return replace(heard, stage=Stage.WITHDRAWN)
        changes = self.stage.is_over or newest != self.risk
        return replace(heard, risk=newest, stage=Stage.UPDATED if changes else self.stage)

    def following(self, before: Conjunction | None) -> Conjunction:
        """The next version of it; what nobody has heard of before is raised, however many windows tell of it."""
        if before is not None:
            return replace(self, version=before.version + 1)
        return self if self.stage.is_over else replace(self, stage=Stage.RAISED)

    def without(self, first_kept: int) -> Conjunction:
        """Without the windows that will not change their mind any more, but for the newest."""
        if not self.told:
            return self
        newest = max(self.told)
        told = {window: said for window, said in self.told.items() if window >= first_kept or window == newest}
        return self if len(told) == len(self.told) else replace(self, told=told)


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Everything that was told of and has not been forgotten."""

    known: Mapping[Passage, Conjunction] = field(default_factory=dict)

    def after(
        self, words: Iterable[Word[ConjunctionRisk]], cleared: Iterable[tuple[int, Passage]] = ()
    ) -> tuple[Conjunctions, list[Conjunction]]:
        """How things stand when these were said, too, and the conjunctions that changed, each once.

        :param cleared: windows that had to say something of a passage, and found nothing.
        """
        known, touched = dict(self.known), dict[Passage, Conjunction | None]()
        for word in words:
            passage = Passage(word.meeting.a, word.meeting.b, word.finding.encounter)
            touched.setdefault(passage, known.get(passage))
            if passage in known:
                known[passage] = known[passage].with_word(
                    word.meeting.window, None if word.takes_back else word.finding
                )
            elif not word.takes_back:
                known[passage] = Conjunction.raised(passage, word.meeting.window, word.finding)
        for window, passage in cleared:
            touched.setdefault(passage, known.get(passage))
            known[passage] = known[passage].with_word(window, None)
        news = []
        for passage, before in touched.items():
            if passage in known and _is_news(before, known[passage]):
                known[passage] = known[passage].following(before)
                news.append(known[passage])
        return Conjunctions(known), news

    def expired(self, now: int) -> tuple[Conjunctions, list[Conjunction]]:
        """How things stand at a time, in nanoseconds, and the conjunctions whose time has passed since."""
        passed = sorted((each for each in self.known.values() if each.risk.closest <= now), key=attrgetter("passage"))
        over = [
            replace(each, stage=Stage.EXPIRED, told={}, version=each.version + 1)
            for each in passed
            if not each.stage.is_over
        ]
        return Conjunctions({each.passage: each for each in self.known.values() if each.risk.closest > now}), over

    def without(self, first_kept: int) -> Conjunctions:
        """Without what windows said that are gone, where a newer one has spoken."""
        return Conjunctions({passage: each.without(first_kept) for passage, each in self.known.items()})

    def standing(self) -> list[Conjunction]:
        """Those on which somebody may have to act, the soonest first."""
        alive = [each for each in self.known.values() if not each.stage.is_over]
        return sorted(alive, key=lambda each: (each.risk.closest, each.passage))


def _is_news(before: Conjunction | None, now: Conjunction) -> bool:
    return before is None or (before.stage, before.risk) != (now.stage, now.risk)
