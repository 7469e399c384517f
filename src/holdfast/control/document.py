"""The document that a pipeline runs by, kept in its directory: what a change is compared with.

The text is kept as it is written, so what comes from outside is kept as a reference; the file is the owner's alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.disk.files import replace_file

if TYPE_CHECKING:
    from holdfast.config import Document

KEPT = "document.yaml"
DRAFT = f".{KEPT}.draft"
FOLDER = "document.folder"
"""The file that says where the relative paths of the document begin."""


def keep_document(directory: Path, text: str, folder: Path) -> None:
    """Write the document down, whole or not at all, and the folder where its relative paths begin."""
    directory.mkdir(parents=True, exist_ok=True)
    replace_file(directory / FOLDER, str(folder.absolute()), mode=0o600)
    replace_file(directory / KEPT, text, mode=0o600)


def kept_document(directory: Path) -> Document | None:
    """The document of the present or the last run; None when it ran by none."""
    from holdfast.config import load

    path = directory / KEPT
    return load(path, folder=_folder(directory)) if path.exists() else None


def _folder(directory: Path) -> Path:
    """The working directory when none was written down: that is where earlier versions looked."""
    try:
        return Path((directory / FOLDER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Path()
