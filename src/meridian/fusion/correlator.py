"""From batches of evidence to what is said of close pairs: the machine at the heart of fusion. Pure.

It keeps what was seen in windows that are open or kept for late comers, and what was said of them. With each batch it
looks again at the windows the batch tells something new about, and at those that the watermark closes. Of an open
window it says what crosses the threshold at once and corrects it when it changes by much; of a closed one it says
exactly what holds, and again whenever a late observation changes it. A window that is gone is not looked at any more.

How the evidence of a window becomes findings is somebody else's business, a `Judge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self

from meridian.fusion.emissions import Finding, Meeting, Telling, Word
from meridian.fusion.evidence import Evidence
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import Windows


class Judge(Protocol[Finding]):
    """Knows what evidence means."""

    def findings(self, window: int, evidence: Evidence) -> Mapping[Meeting, Finding]:
        """Everything that is close in a window.

        :param evidence: all that is still kept up to the end of the window; its own slices are the last two.
        """
        ...

    def still(self, before: Finding, now: Finding) -> bool:
        """Whether what was said of an open window may stand although this is found now."""
        ...

    def settled(self, evidence: Evidence) -> Self:
        """What is known of the objects when nothing more will come for these slices."""
        ...


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of observations and windows in one batch."""

    taken: int = 0
    late: int = 0
    """Came for a window that was closed and is kept: what was said of it is corrected."""
    dropped: int = 0
    """Came for windows that are gone."""
    closed: tuple[int, ...] = ()
    """The windows that were closed."""
    judged: tuple[int, ...] = ()
    """The closed windows that were looked at: those, and the kept ones that something came late for."""
    retracted: int = 0


@dataclass(frozen=True)
class Correlator(Generic[Finding]):
    """Where things stand between two batches."""

    windows: Windows
    watermarks: Watermarks
    evidence: Evidence
    judge: Judge[Finding]
    telling: Telling[Finding] = field(default_factory=Telling)

    def after(
        self, evidence: Evidence, heard: Mapping[str, Heard]
    ) -> tuple[Correlator[Finding], Sequence[Word[Finding]], Counts]:
        """Where things stand after a batch, what is to be said, and what became of its observations."""
        moved, words, counts = self.taught(evidence, heard)
        return moved.let_go(), words, counts

    def taught(
        self, evidence: Evidence, heard: Mapping[str, Heard]
    ) -> tuple[Correlator[Finding], Sequence[Word[Finding]], Counts]:
        """The same, and nothing is forgotten yet: `let_go` has to follow."""
        fresh = evidence.since(self.first_needed)
        kept, watermarks = self.evidence + fresh, self.watermarks.after(heard)
        moved = replace(self, watermarks=watermarks, evidence=kept)
        closing = moved.closed_since(self)
        looked_at = {window for slice_ in set(fresh.slices.tolist()) for window in (slice_, slice_ + 1)}
        looked_at = {window for window in looked_at if window >= self.first_kept} | set(closing)
        moved, words = moved.looked(sorted(looked_at))
        counts = Counts(
            taken=int(fresh.counts.sum()),
            late=int(fresh.before(self.first_open).counts.sum()),
            dropped=int(evidence.counts.sum() - fresh.counts.sum()),
            closed=tuple(closing),
            judged=tuple(sorted(window for window in looked_at if window < moved.first_open)),
            retracted=sum(word.takes_back for word in words),
        )
        return moved, words, counts

    def looked(self, windows: Sequence[int]) -> tuple[Correlator[Finding], list[Word[Finding]]]:
        """Look at these windows and say what is new: what matters of open ones, everything of the others."""
        found = {window: self.judge.findings(window, self.evidence.before(window + 1)) for window in windows}
        open_ = [window for window in windows if window >= self.first_open]
        closed = [window for window in windows if window < self.first_open]
        telling, corrections = self.telling.told(closed, _together(found[window] for window in closed))
        telling, news = telling.told(open_, _together(found[window] for window in open_), self.judge.still)
        return replace(self, telling=telling), [*corrections, *news]

    def let_go(self) -> Correlator[Finding]:
        """Forget the windows that are gone; slices that no window needs any more become part of what is known."""
        return replace(
            self,
            evidence=self.evidence.since(self.first_needed),
            judge=self.judge.settled(self.evidence.before(self.first_needed)),
            telling=self.telling.without(self.first_kept),
        )

    def closed_since(self, earlier: Correlator[Finding]) -> list[int]:
        """The windows with something in them that the watermark has closed since then."""
        borders = range(earlier.first_open, self.first_open)
        filled = {window for slice_ in set(self.evidence.slices.tolist()) for window in (slice_, slice_ + 1)}
        return sorted(window for window in filled if window in borders)

    @property
    def first_open(self) -> int:
        """The earliest window that the watermark has not closed."""
        return _EVER if self.watermarks.all is None else self.windows.first_active(self.watermarks.all)

    @property
    def first_kept(self) -> int:
        """The earliest window that is open, or kept for late comers."""
        return _EVER if self.watermarks.all is None else self.windows.first_kept(self.watermarks.all)

    @property
    def first_needed(self) -> int:
        """The earliest slice that a kept window looks at."""
        return self.first_kept - 1


_EVER = -(1 << 40)
"""Earlier than any window."""


def _together(found: Iterable[Mapping[Meeting, Finding]]) -> dict[Meeting, Finding]:
    return {meeting: finding for of_window in found for meeting, finding in of_window.items()}
