"""Where the relative paths of a document lead: into the folder that holds the document, wherever a command is started.

Earlier versions took them from the working directory. What they left there is never passed over in silence: a path that
leads to something there, and to nothing beside the document, is refused.
"""

from __future__ import annotations

from glob import has_magic, iglob
from pathlib import Path

from holdfast.model.errors import PathInWorkingDirectory


def located(written: str, folder: Path, *, sign: str = "") -> str:
    """The path that a document in this folder means; `PathInWorkingDirectory` when only an earlier version's is there.

    :param written: a path, which may hold wildcards.
    :param sign: a file that a directory holds if it is what the document means; without one, whatever is there counts.
    """
    meant, former = folder / written, Path(written)
    if former.is_absolute() or meant.absolute() == former.absolute() or _exists(meant) or not _exists(former / sign):
        return str(meant)
    raise PathInWorkingDirectory(
        f"The document means {meant.absolute()}, which does not exist; {former.absolute()} does. Relative paths begin "
        "at the folder of the document. Earlier versions took them from the working directory.",
        remedy="Move it beside the document, or write the full path. If it belongs to something else, make the former.",
        kept="Nothing was started and nothing was changed.",
    )


def _exists(path: Path) -> bool:
    pattern = str(path)
    try:
        return any(True for _ in iglob(pattern, recursive=True)) if has_magic(pattern) else path.exists()  # noqa: PTH207
    except (OSError, ValueError):  # no name of a file: whoever opens it says why
        return False
