"""Dead letters wherever they are: of a pipeline that runs through its process, of one that does not on its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.control.client import ask
from holdfast.model.errors import NotRunning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

_PATIENCE = 600.0


def ask_dead_letters(directory: Path, what: str, chosen: Mapping[str, object], given: Mapping[str, object]) -> Any:  # noqa: ANN401 (JSON)
    """The answer to a request as `dead_letters_asked` takes it, as plain values."""
    try:
        return ask(directory, "dead_letters", what=what, chosen=chosen, given=given, patience=_PATIENCE)
    except NotRunning:
        from holdfast.control.belongings import stopped
        from holdfast.control.dlq import dead_letters_asked
        from holdfast.control.values import plain

        with stopped(directory) as belongings:
            return plain(dead_letters_asked(belongings, what, chosen, given))
