"""What lies beside a pipeline's logs: the owner's file, the socket, the kept document, and room on the disk."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from holdfast.control.doctor.findings import Code, Finding, Severity
from holdfast.control.doctor.repairs import Remove, SetAside, SignOwner
from holdfast.control.document import DRAFT, KEPT
from holdfast.control.socket import FILE as SOCKET
from holdfast.model.errors import HoldfastError
from holdfast.runtime.owner import LOCK, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_REST = "Nothing of the pipeline is touched by it."


def beside(root: Path) -> Iterator[Finding]:
    """What is wrong with what lies beside the logs, while no process owns them."""
    yield from _of_the_owner(root / LOCK)
    socket = root / SOCKET
    if socket.is_socket() or socket.exists():
        what = "There is a control socket, and no process that answers on it: one was ended from outside."
        remedy = "Nothing needs to be done; the next start replaces it."
        yield Finding(Code.SOCKET_STALE, Severity.LEFTOVER, what, socket, _REST, remedy, repair=Remove(socket))
    draft = root / DRAFT
    if draft.exists():
        what = "The document was being kept when the process ended."
        remedy = "Nothing needs to be done; the next start writes it again."
        yield Finding(Code.DOCUMENT_DRAFT, Severity.LEFTOVER, what, draft, _REST, remedy, repair=Remove(draft))
    yield from _of_the_kept_document(root / KEPT)
    if shutil.disk_usage(root).free == 0:
        what = "The disk of the pipeline's directory is full."
        remedy = "Make room; nothing else needs to be done."
        yield Finding(Code.DISK_FULL, Severity.BREAKS_START, what, root, "What is there is safe.", remedy)


def _of_the_owner(path: Path) -> Iterator[Finding]:
    if path.exists() and recorded(path) is None:
        what = "The owner's file does not say which process owned the pipeline."
        remedy = "Nothing needs to be done; the next start writes it anew."
        yield Finding(Code.OWNER_UNREADABLE, Severity.LEFTOVER, what, path, _REST, remedy, repair=SignOwner())


def _of_the_kept_document(path: Path) -> Iterator[Finding]:
    from holdfast.config import load

    if not path.exists():
        return
    try:
        load(path)
    except HoldfastError as error:
        yield Finding(
            Code.DOCUMENT_UNREADABLE,
            Severity.LOSES_NOTHING,
            f"The document that the pipeline ran by was kept, and cannot be read any more: {error.what}",
            path,
            _REST,
            "Run it with its document, which is kept again; until then no change can be compared with it.",
            repair=SetAside((path,), "the next start keeps the document anew."),
        )
