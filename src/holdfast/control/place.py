"""Which pipeline a command means: its document, or its directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.model.errors import NotRunning


@dataclass(frozen=True, slots=True)
class Place:
    """A pipeline, as it was named."""

    directory: Path
    document: Path | None
    """The document that named it, when one did."""
    name: str


def find(target: Path) -> Place:
    """The place that a path names. A document is read as far as that takes, and nothing of it is opened."""
    if target.is_dir():
        return Place(target, None, target.name)
    if not target.exists():
        raise NotRunning(f"There is no {target}.", remedy="Name the pipeline's document or its directory.")
    from holdfast.config import named_in

    if (found := named_in(target)) is not None:
        name, directory = found
        return Place(directory, target, name)
    from holdfast.config import load

    document = load(target)
    return Place(document.directory, target, document.name)
