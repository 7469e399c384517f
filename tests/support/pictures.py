"""Draws the pictures of the docs from made-up values (`python -m tests.support.pictures`)."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from meridian.plots.encounter import encounter
from meridian.plots.files import save
from meridian.screen import Size, drawn
from meridian.service.values import Snapshot
from tests.support import seen

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
_SIZE = Size(120, 40)
_WITHOUT_FOREIGN_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_THEME = TerminalTheme(
    (22, 24, 29),
    (214, 217, 222),
    [
        (22, 24, 29),
        (235, 99, 86),
        (95, 184, 120),
        (232, 184, 76),
        (92, 156, 230),
        (201, 128, 196),
        (86, 190, 200),
        (214, 217, 222),
    ],
)


def screen(snapshot: Snapshot, size: Size = _SIZE) -> str:
    """The screen as a terminal shows it, as SVG."""
    console = Console(width=size.width, file=StringIO(), record=True, force_terminal=True, highlight=False)
    console.print(drawn(snapshot, size))
    return console.export_svg(
        title="meridian top", theme=_THEME, code_format=_WITHOUT_FOREIGN_FONTS, unique_id="meridian"
    )


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    save(encounter(seen.conjunction()), PICTURES / "encounter.svg")
    (PICTURES / "screen.svg").write_text(screen(seen.FULL))
