"""What operators do, as plain calls: commands, REST and UI are faces of it and have no logic of their own.

The names are loaded when they are first used: a command imports the module it needs, and waits for no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from holdfast.control.belongings import Belongings, stopped
    from holdfast.control.deadletters import DeadLetters, Shown
    from holdfast.control.export import Exported, PayloadForm
    from holdfast.control.overtaking import Standing
    from holdfast.control.reprocessing import Candidate, Preview, Rate, Refusal, Reprocessed

_HOMES = {
    "holdfast.control.belongings": ("Belongings", "stopped"),
    "holdfast.control.deadletters": ("DeadLetters", "Shown"),
    "holdfast.control.export": ("Exported", "PayloadForm"),
    "holdfast.control.overtaking": ("Standing",),
    "holdfast.control.reprocessing": ("Candidate", "Preview", "Rate", "Refusal", "Reprocessed"),
}

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

__getattr__ = loaded(__name__, _HOMES)
