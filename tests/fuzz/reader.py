"""A reader of outside bytes under test: what it reads, by which errors it refuses, and whose code that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.model.errors import HoldfastError


@dataclass(frozen=True)
class Reader:
    """A reader, inputs that it takes, and the errors by which it refuses others.

    :param of: the modules that take the bytes apart. That they do is checked with the samples.
    """

    read: Callable[[bytes], object]
    samples: tuple[bytes, ...]
    of: tuple[str, ...]
    refusals: tuple[type[Exception], ...] = (HoldfastError,)


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A reader of text as one of bytes."""
    return lambda data: read(data.decode("utf-8", "replace"))
