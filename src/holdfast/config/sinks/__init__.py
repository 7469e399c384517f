"""The sinks a document may name. A new kind is a module here, and a line in `AnySink`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.config.sinks.base import SinkBlock
from holdfast.config.sinks.console import ConsoleBlock
from holdfast.config.sinks.files import FilesBlock
from holdfast.config.sinks.http import HttpBlock
from holdfast.config.sinks.postgres import PostgresBlock
from holdfast.config.sinks.sqlite import SqliteBlock

AnySink = Annotated[ConsoleBlock | FilesBlock | HttpBlock | PostgresBlock | SqliteBlock, Field(discriminator="type")]

__all__ = ["AnySink", "SinkBlock"]
