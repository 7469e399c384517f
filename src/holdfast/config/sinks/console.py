"""`type: console`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from holdfast.config.fields import Count
from holdfast.config.sinks.base import SinkBlock
from holdfast.sinks.console import Console, ConsoleForm

if TYPE_CHECKING:
    from holdfast.deliver import Sink


class ConsoleBlock(SinkBlock):
    """Rows on standard output, for trying things out."""

    type: Literal["console"]
    """Standard output."""
    form: Annotated[ConsoleForm, Field(strict=False)] = ConsoleForm.LINES
    """How rows are shown."""
    max_rows: Count = 20
    """How many rows of a batch are shown."""

    def sink(self) -> Sink:
        """Standard output."""
        return Console(form=self.form, max_rows=self.max_rows)
