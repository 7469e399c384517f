"""Which pipeline a document is about: its name and its directory, without the rest of it.

Whoever asks a running pipeline how it is needs no valid document, and waits for no model of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from holdfast.config.paths import located
from holdfast.config.problems import Place, Problem, invalid
from holdfast.config.syntax import parse, place_of
from holdfast.model.errors import DocumentUnreadable
from holdfast.model.names import NAME

_MOST_BYTES = 1 << 20
_OWNER = "owner.lock"
"""In every directory that a pipeline was started in."""


def named_in(file: Path, *, environment: Mapping[str, str] = os.environ) -> tuple[str, Path] | None:
    """The name and the directory of the pipeline; None when the document does not say them plainly."""
    match parse(text_of(file), str(file), environment).root:
        case {"metadata": {"name": str(name)}, "spec": {"directory": str(given)}} if given:
            found = name, directory_of(name, given, file.parent)
        case {"metadata": {"name": str(name)}, "spec": dict(spec)} if "directory" not in spec:
            found = name, directory_of(name, None, file.parent)
        case _:
            return None
    return found if re.fullmatch(NAME, name) else None


def directory_of(name: str, given: str | None, folder: Path) -> Path:
    """Where everything that a pipeline remembers lies, when a document in this folder declares it."""
    return Path(located(given or f"holdfast-data/{name}", folder, sign=_OWNER))


def text_of(path: Path) -> str:
    """The text of a document."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DocumentUnreadable(
            f"{path} cannot be read: {error.strerror}.", remedy="Name a file that this user may read."
        ) from error
    if len(content) > _MOST_BYTES:
        raise invalid(str(path), [Problem(Place(str(path)), "It is larger than 1 MiB.", "Write a smaller document.")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = place_of(content[: error.start].decode(), error.start, str(path))
        raise invalid(str(path), [Problem(place, "It is not UTF-8 here.", "Save the file as UTF-8.")]) from None
