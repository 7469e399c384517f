"""What operators do, as plain calls: commands, REST and UI are faces of it and have no logic of their own.

The names are loaded when they are first used: a command imports the module it needs, and waits for no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.control.belongings import Belongings, stopped
    from holdfast.control.deadletters import DeadLetters, Shown
    from holdfast.control.export import Exported, PayloadForm
    from holdfast.control.overtaking import Standing
    from holdfast.control.reprocessing import Candidate, Preview, Rate, Refusal, Reprocessed

_HOMES = {
    "belongings": ("Belongings", "stopped"),
    "deadletters": ("DeadLetters", "Shown"),
    "export": ("Exported", "PayloadForm"),
    "overtaking": ("Standing",),
    "reprocessing": ("Candidate", "Preview", "Rate", "Refusal", "Reprocessed"),
}
_HOME_OF = {name: f"holdfast.control.{home}" for home, names in _HOMES.items() for name in names}

__all__ = [
    "Belongings",
    "Candidate",
    "DeadLetters",
    "Exported",
    "PayloadForm",
    "Preview",
    "Rate",
    "Refusal",
    "Reprocessed",
    "Shown",
    "Standing",
    "stopped",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
