"""What the blocks of a document are made of: strict values that know how people write them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from holdfast.config.paths import located
from holdfast.config.references import Expanded
from holdfast.config.syntax import plain
from holdfast.config.units import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    parse_duration,
    parse_size,
)
from holdfast.model.errors import HoldfastError
from holdfast.model.names import NAME


class Nothing:
    """Stands for a key without a value, where it needs one."""


class Block(BaseModel):
    """Keys and values. An unknown key is an error, and a block without keys is as if it were not there."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )

    local_paths: ClassVar[tuple[str, ...]] = ()
    """The keys whose values are paths on this machine: relative ones begin at the folder of the document."""

    def located(self, folder: Path) -> Self:
        """The same block, its paths and those of the blocks in it taken from this folder."""
        own = {key: _located(getattr(self, key), folder) for key in self.local_paths}
        inner = {key: value.located(folder) for key, value in self if isinstance(value, Block)}
        return self.model_copy(update=own | inner)

    def check(self) -> None:
        """Refuse, with a typed error, values that make no sense together."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty_blocks(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        return {
            key: Nothing() if value is None else value
            for key, value in values.items()
            if value is not None or not cls._is_optional_block(key)
        }

    @classmethod
    def _is_optional_block(cls, key: str) -> bool:
        return key in cls.model_fields and cls.model_fields[key].default_factory is not None

    @model_validator(mode="after")
    def _make_sense(self) -> Self:
        try:
            self.check()
        except HoldfastError as error:
            raise PydanticCustomError("refused", "{what}", {"what": error.what, "remedy": error.remedy}) from None
        return self


def _located(value: object, folder: Path) -> object:
    if isinstance(value, list):
        return [located(path, folder) for path in value]
    return located(value, folder) if isinstance(value, str) else value


def _read_as_plain(value: object) -> object:
    """What came from outside is text; where a number or a flag is asked for, it is read as one."""
    return plain(value) if isinstance(value, Expanded) else value


def _size(value: object) -> int:
    value = _read_as_plain(value)
    if isinstance(value, str):
        value = parse_size(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ValueError("no size")


def _duration(value: object) -> timedelta:
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError("no duration")


_FROM_OUTSIDE = BeforeValidator(_read_as_plain)

Flag = Annotated[bool, _FROM_OUTSIDE]
Whole = Annotated[int, Field(ge=0), _FROM_OUTSIDE]
Count = Annotated[int, Field(ge=1), _FROM_OUTSIDE]
Positive = Annotated[float, Field(gt=0), _FROM_OUTSIDE]
Share = Annotated[float, Field(gt=0, le=1), _FROM_OUTSIDE]

Text = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$"), Field(title="name", examples=["orders"])]

Size = Annotated[
    int,
    PlainValidator(_size),
    WithJsonSchema(
        {
            "title": "size",
            "anyOf": [{"type": "string", "pattern": SIZE_PATTERN}, {"type": "integer", "minimum": 1}],
            "examples": ["16MiB"],
        }
    ),
]
Duration = Annotated[
    timedelta,
    PlainValidator(_duration),
    WithJsonSchema({"title": "duration", "type": "string", "pattern": DURATION_PATTERN, "examples": ["30s"]}),
]
