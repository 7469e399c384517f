"""What operators do, as plain calls: commands, REST and UI are faces of it and have no logic of their own."""

from __future__ import annotations

from holdfast.control.belongings import Belongings, stopped
from holdfast.control.deadletters import DeadLetters, Shown
from holdfast.control.export import Exported, PayloadForm
from holdfast.control.overtaking import Standing
from holdfast.control.reprocessing import Candidate, Preview, Rate, Refusal, Reprocessed

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
