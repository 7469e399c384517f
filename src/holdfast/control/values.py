"""Values as JSON can carry them: what a service answers goes through a socket, and is shown by commands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.model.errors import ControlUnavailable, HoldfastError, error_types

if TYPE_CHECKING:
    from typing import TypeAlias

Answer: TypeAlias = dict[str, Any]
"""What a service answered, as plain values."""


def plain(value: object) -> Any:  # noqa: ANN401 (JSON is anything)
    """The value as JSON can carry it: dataclasses become objects, names of enums words, times ISO 8601.

    JSON has no number for what is not a number or infinite: that is null.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, Mapping):
        return {_word(key): plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else repr(value)


def _word(key: object) -> str:
    return str(plain(key)) if isinstance(key, Enum) else str(key)


def told(error: HoldfastError) -> dict[str, str]:
    """An error as plain values."""
    return {
        "code": error.code,
        "kind": type(error).__name__,
        "what": error.what,
        "kept": error.kept,
        "remedy": error.remedy,
    }


def raised(error: Mapping[str, str]) -> HoldfastError:
    """The error again, of its own kind when this version knows it."""
    kinds = {kind.code: kind for kind in error_types()}
    kind = kinds.get(error["code"], ControlUnavailable)
    return kind(error["what"], remedy=error["remedy"], kept=error["kept"])
