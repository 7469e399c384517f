"""Everything that fusion remembers between two batches, and what a batch makes of it. Pure.

The correlator says what holds of pairs in windows. From its words follow the lives of conjunctions, from what it keeps
follow the catalog's rows, contacts and the summaries of slices, and how it went is counted. One batch in, all news out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from meridian.fusion.causes import Cause, causes_of
from meridian.fusion.contacts import Contacts, Ended, Limits
from meridian.fusion.correlator import Correlator, Counts
from meridian.fusion.emissions import Meeting, Word
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Integers
from meridian.fusion.figures import BySource, added
from meridian.fusion.judging import Astronomer
from meridian.fusion.life import Conjunction, Conjunctions, Passage
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.summaries import Summaries, Summary
from meridian.fusion.tracks import Tracks
from meridian.fusion.watermarks import Heard
from meridian.fusion.windows import SECOND

Risks = Correlator[ConjunctionRisk]
LOST_AFTER = 24 * 3600 * SECOND
"""An object that was not seen for so long is lost."""
CONTACTS = Limits()


@dataclass(frozen=True, slots=True)
class Seen:
    """What tasks have seen in a batch."""

    evidence: Evidence = field(default_factory=lambda: Evidence.nothing(COLUMNS))
    heard: Mapping[str, Heard] = field(default_factory=dict)
    figures: BySource = field(default_factory=dict)

    def __add__(self, other: Seen) -> Seen:
        """What two tasks have seen."""
        return Seen(
            self.evidence + other.evidence,
            together(self.heard, other.heard),
            added(self.figures, other.figures),
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """What became of things since the beginning."""

    batches: int = 0
    taken: int = 0
    late: int = 0
    dropped: int = 0
    closed: int = 0
    told: int = 0
    retracted: int = 0

    def after(self, counts: Counts, words: int) -> Totals:
        """When a batch came to this, too."""
        return Totals(
            self.batches + 1,
            self.taken + counts.taken,
            self.late + counts.late,
            self.dropped + counts.dropped,
            self.closed + len(counts.closed),
            self.told + words - counts.retracted,
            self.retracted + counts.retracted,
        )


@dataclass(frozen=True, slots=True)
class News:
    """What a batch has made known.

    :param tracks: of the objects that were seen in it, by all that is known.
    :param lost: objects that have not been seen for so long that they are lost.
    :param contacts: that are over.
    :param causes: of the words; what is said because a window was closed has none.
    """

    words: Sequence[Word[ConjunctionRisk]]
    causes: Mapping[Meeting, Cause]
    conjunctions: Sequence[Conjunction]
    tracks: Tracks
    lost: Tracks
    summaries: Sequence[Summary]
    contacts: Ended
    counts: Counts


@dataclass(frozen=True)
class Fusion:
    """Where things stand between two batches."""

    correlator: Risks
    conjunctions: Conjunctions = field(default_factory=Conjunctions)
    summaries: Summaries = field(default_factory=Summaries)
    contacts: Contacts = field(default_factory=Contacts.none)
    totals: Totals = field(default_factory=Totals)
    figures: BySource = field(default_factory=dict)
    catalog: str = ""
    """Which catalog everything is a deviation from."""

    def after(self, seen: Seen) -> tuple[Fusion, News]:
        """Where things stand after a batch, and what is new."""
        before = self.correlator
        taught, words, counts = before.taught(seen.evidence, seen.heard)
        heard, _ = self.conjunctions.after(words)
        conjunctions, changed = self.conjunctions.after(words, cleared(heard.standing(), taught, counts.judged))
        conjunctions, over = conjunctions.expired(_reached(taught))
        summaries, told = self.summaries.after(taught.evidence, were_open=before.first_open, are_open=taught.first_open)
        settled, border = taught.evidence.before(taught.first_needed), taught.first_needed
        contacts, ended = self.contacts.after(settled, before=border, limits=CONTACTS)
        fresh = seen.evidence.since(before.first_needed)
        after = Fusion(
            taught.let_go(),
            conjunctions.without(taught.first_kept),
            summaries,
            contacts,
            self.totals.after(counts, len(words)),
            added(self.figures, seen.figures),
            self.catalog,
        )
        tracks, lost = known_of(taught, np.unique(fresh.objects)), lost_between(before, after.correlator)
        causes = causes_of((word.meeting for word in words), fresh, _astronomer(taught).sky)
        return after, News(words, causes, [*changed, *over], tracks, lost, told, ended, counts)

    @property
    def tracked(self) -> int:
        """How many objects have been observed."""
        return len(np.union1d(_astronomer(self.correlator).tracks.objects, self.correlator.evidence.objects))


def cleared(standing: Sequence[Conjunction], taught: Risks, judged: Sequence[int]) -> list[tuple[int, Passage]]:
    """Conjunctions both of whose objects were seen in a window that is closed, and of which it has nothing to say."""
    found = []
    for window in judged if standing else ():
        objects = np.unique(taught.evidence.since(window - 1).before(window + 1).objects)
        names, end = set(_astronomer(taught).sky.names(objects)), taught.windows.end(window)
        for passage in (each.passage for each in standing):
            is_judged = passage.a in names and passage.b in names and passage.encounter > end
            said = taught.telling.said.get(Meeting(window, passage.a, passage.b))
            if is_judged and (said is None or said.finding is None):
                found.append((window, passage))
    return found


def together(one: Mapping[str, Heard], other: Mapping[str, Heard]) -> dict[str, Heard]:
    """What was heard by two tasks."""
    both = dict(one)
    for source, news in other.items():
        known = both.get(source, Heard())
        both[source] = Heard(_later(known.newest, news.newest), _later(known.quiet, news.quiet))
    return both


def known_of(correlator: Risks, objects: Integers) -> Tracks:
    """What is known of these objects by all observations, those in open windows included."""
    judge = _astronomer(correlator)
    return judge.tracks.about(objects).after(correlator.evidence.about(objects), judge.sky)


def lost_between(before: Risks, after: Risks) -> Tracks:
    """The objects whose last observation became too old while the watermark moved on."""
    tracks, border = _astronomer(after).tracks, _reached(after) - LOST_AFTER
    is_old = (tracks.newest <= border) & (tracks.newest > _reached(before) - LOST_AFTER)
    return tracks.about(np.setdiff1d(tracks.objects[is_old], after.evidence.objects))


def _reached(correlator: Risks) -> int:
    """The watermark of all sources; long ago when there is none yet."""
    return -(1 << 62) if correlator.watermarks.all is None else correlator.watermarks.all


def _astronomer(correlator: Risks) -> Astronomer:
    assert isinstance(correlator.judge, Astronomer), "fusion asks an astronomer"
    return correlator.judge


def _later(one: int | None, other: int | None) -> int | None:
    return max((time for time in (one, other) if time is not None), default=None)
