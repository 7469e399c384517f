"""What is written on a figure."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text


def texts_of(figure: Figure) -> list[str]:
    """Everything that is written on it."""
    return [text for each in figure.findobj(Text) if isinstance(each, Text) for text in [each.get_text()] if text]
