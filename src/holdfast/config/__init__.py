"""The pipeline document: read strictly, explained with places, planned and compared. It starts and stops nothing.

The names are loaded when they are first used, so a command that needs no model of a document waits for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from holdfast.config.change import Alteration, Change, Effect, compare
    from holdfast.config.document import Document, find_problems, load
    from holdfast.config.naming import named_in
    from holdfast.config.problems import Place, Problem
    from holdfast.config.schema import json_schema

_HOMES = {
    "holdfast.config.change": ("Alteration", "Change", "Effect", "compare"),
    "holdfast.config.document": ("Document", "find_problems", "load"),
    "holdfast.config.naming": ("named_in",),
    "holdfast.config.problems": ("Place", "Problem"),
    "holdfast.config.schema": ("json_schema",),
}

__all__ = [
    "Alteration",
    "Change",
    "Document",
    "Effect",
    "Place",
    "Problem",
    "compare",
    "find_problems",
    "json_schema",
    "load",
    "named_in",
]

__getattr__ = loaded(__name__, _HOMES)
