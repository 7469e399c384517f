"""Where alerts leave us: a subscriber that acts on each word once, however often it is told."""

from __future__ import annotations

from meridian.fusion.subscriber.book import Book
from meridian.fusion.subscriber.verdicts import Told, Verdict

__all__ = ["Book", "Told", "Verdict"]
