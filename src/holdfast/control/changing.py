"""Which change of its sinks a running pipeline is asked for: one, declared by a document that changes nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.config import compare
from holdfast.model.errors import InvalidRequest

if TYPE_CHECKING:
    from holdfast.config import Document
    from holdfast.deliver import SinkSpec


def sink_to_add(old: Document | None, new: Document, name: str) -> SinkSpec:
    """The sink that the new document has and the old one has not."""
    _refuse_other_changes(old, new, name, is_added=True)
    return next(spec for spec in new.plan().sinks if spec.name == name)


def sink_to_remove(old: Document | None, new: Document, name: str) -> None:
    """See that the new document is the old one without the sink."""
    _refuse_other_changes(old, new, name, is_added=False)


def _refuse_other_changes(old: Document | None, new: Document, name: str, *, is_added: bool) -> None:
    if old is None:
        raise InvalidRequest(
            "The pipeline does not run by a document, so a sink cannot be changed by one.",
            remedy="Change its sinks where it was started.",
        )
    verb = "added" if is_added else "removed"
    changes = compare(old, new).alterations
    wanted = [c for c in changes if c.what == f"sinks.{name}" and (c.before is None) is is_added]
    if not wanted:
        raise InvalidRequest(
            f"The document does not have {name!r} {verb}.", remedy="Edit the document first, then ask again."
        )
    others = [change.what for change in changes if change not in wanted]
    if others:
        raise InvalidRequest(
            f"The document also changes {', '.join(others)}.",
            remedy="Change the sink alone, or see `holdfast plan` and start the pipeline again.",
        )
