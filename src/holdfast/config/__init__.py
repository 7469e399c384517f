"""The pipeline document: read strictly, explained with places, planned and compared. It starts and stops nothing.

The names are loaded when they are first used, so a command that needs no model of a document waits for none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.config.change import Alteration, Change, Effect, compare
    from holdfast.config.document import Document, find_problems, load
    from holdfast.config.naming import named_in
    from holdfast.config.problems import Place, Problem
    from holdfast.config.schema import json_schema

_HOMES = {
    "change": ("Alteration", "Change", "Effect", "compare"),
    "document": ("Document", "find_problems", "load"),
    "naming": ("named_in",),
    "problems": ("Place", "Problem"),
    "schema": ("json_schema",),
}
_HOME_OF = {name: f"holdfast.config.{home}" for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
