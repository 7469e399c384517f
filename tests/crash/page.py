"""The page `docs/crash-matrix.md`, of which each campaign writes its part and leaves the others as they are."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-matrix.md"
RANDOM = "\n\n## Random faults\n\n"
FUSION = "\n\n## Random kills of fusion\n\n"


def section(heading: str) -> str:
    """What the page says under a heading."""
    return PAGE.read_text().partition(heading)[2].partition("\n\n## ")[0].strip()


def write(matrices: str, random: str, fusion: str) -> None:
    """Write the page anew, from its parts."""
    PAGE.write_text(matrices + RANDOM + random + FUSION + fusion + "\n")


def matrices() -> str:
    """Everything before the random kills."""
    return PAGE.read_text().partition(RANDOM)[0]
