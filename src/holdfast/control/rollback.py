"""The past of a pipeline as commands name it: by its document, or by its directory and the document kept there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.control.document import kept_document
from holdfast.model.errors import NotRunning
from holdfast.runtime.rollback.operator import Rollbacks

if TYPE_CHECKING:
    from holdfast.control.place import Place


def rollbacks_of(place: Place) -> Rollbacks:
    """Where the pipeline can go back to. Its sinks are those of the document that names it, or that it ran by."""
    from holdfast.config import load

    document = load(place.document) if place.document is not None else kept_document(place.directory)
    if document is None:
        raise NotRunning(
            f"{place.directory} holds no document, so its sinks are not known.",
            remedy="Name its document, or go back where it was put together: `Pipeline.rollbacks()`.",
        )
    return Rollbacks(replace(document.plan(), directory=place.directory))
