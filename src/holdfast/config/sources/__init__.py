"""The sources a document may name. A new kind is a module here, and a line in `AnySource`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.config.sources.base import SourceBlock
from holdfast.config.sources.files import LogFilesBlock
from holdfast.config.sources.generator import GeneratorBlock
from holdfast.config.sources.http import HttpPushBlock
from holdfast.config.sources.relay import RelayBlock
from holdfast.config.sources.stdin import StdinBlock

AnySource = Annotated[
    GeneratorBlock | HttpPushBlock | LogFilesBlock | RelayBlock | StdinBlock, Field(discriminator="type")
]

__all__ = ["AnySource", "SourceBlock"]
