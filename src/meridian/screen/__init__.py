"""What people look at while fusion runs: a snapshot drawn with characters, for a terminal or for a file."""

from __future__ import annotations

from meridian.screen.drawing import Size, drawn
from meridian.screen.live import Screen

__all__ = ["Screen", "Size", "drawn"]
