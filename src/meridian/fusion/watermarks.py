"""How far the time of events has come: for each source, and for all of them together. Pure.

A source has come as far as its newest observation, less what its observations may be late. All together have come as
far as the one that is furthest behind, and nowhere before each of them has been heard. Neither ever goes back.

A clock from the future is not believed: an observation that was made after it was received, by the clock of whoever
received it, moves its source no further than the time it was received. A source that is silent but alive says in
heartbeats until when there is nothing to come from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from meridian.fusion.windows import Integers


@dataclass(frozen=True, slots=True)
class Heard:
    """What came from one source in one batch, in nanoseconds since 1970.

    :param newest: the newest time of an observation, none from after it was received; nothing if none came.
    :param quiet: until when a heartbeat says that nothing more is to come; nothing if none came.
    """

    newest: int | None = None
    quiet: int | None = None

    @classmethod
    def of(cls, observed: Integers, received: Integers, beats: Integers) -> Heard:
        """What columns say: when each observation was made and received, and the heartbeats."""
        seen = np.minimum(observed, received)
        return cls(int(seen.max()) if len(seen) else None, int(beats.max()) if len(beats) else None)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """How far the declared sources have come.

    :param lateness: what observations of each source may be late, in nanoseconds; only these sources are waited for.
    """

    lateness: Mapping[str, int]
    sources: Mapping[str, int] = field(default_factory=dict)
    """How far each source that was heard has come."""
    all: int | None = None
    """How far all have come together; nothing until each was heard."""

    def after(self, heard: Mapping[str, Heard]) -> Watermarks:
        """How far they have come when this was heard, too. It holds from the next batch on."""
        sources = dict(self.sources)
        for source, news in heard.items():
            reached = [*self._said(source, news), *([sources[source]] if source in sources else [])]
            if reached:
                sources[source] = max(reached)
        moved = replace(self, sources=sources)
        return replace(moved, all=moved.slowest_time())

    def slowest_time(self) -> int | None:
        """The time of the source that is furthest behind, or where all were before if that was further."""
        if not self.silent() and self.lateness:
            reached = min(self.sources[source] for source in self.lateness)
            return reached if self.all is None else max(self.all, reached)
        return self.all

    def slowest(self) -> str | None:
        """Who holds the others up; nobody until each was heard."""
        if self.silent() or not self.lateness:
            return None
        return min(self.lateness, key=lambda source: (self.sources[source], source))

    def silent(self) -> list[str]:
        """Those that were never heard: nothing moves before they are."""
        return sorted(source for source in self.lateness if source not in self.sources)

    def _said(self, source: str, news: Heard) -> list[int]:
        if source not in self.lateness:
            raise KeyError(f"{source!r} is not a declared source")
        observed = [] if news.newest is None else [news.newest - self.lateness[source]]
        return observed if news.quiet is None else [*observed, news.quiet]
