"""The checks that positions make of their parts, and the error when one fails. No kind of position is known here."""

from __future__ import annotations

import re

from holdfast.model.errors import InvalidPosition

INT31_MAX = 2**31 - 1
INT63_MAX = 2**63 - 1
INT64_MAX = 2**64 - 1

_SHOWN_CHARACTERS = 60
_DECIMAL = re.compile(r"[0-9]{1,20}")


def whole_number(kind: str, name: str, value: object, *, least: int = 0, most: int = INT63_MAX) -> int:
    """`value`, if it is an integer (and not a bool) within the bounds."""
    if type(value) is int and least <= value <= most:
        return value
    raise invalid(kind, f"its {name} must be an integer from {least} to {most}, not {shown(value)}")


def number_in(kind: str, text: str) -> int:
    """The number that decimal digits, and nothing but they, stand for."""
    if not _DECIMAL.fullmatch(text):
        raise invalid(kind, f"{shown(text)} is not a number of at most 20 digits")
    return int(text)


def string(kind: str, name: str, value: object) -> str:
    """`value`, if it is a string."""
    if isinstance(value, str):
        return value
    raise invalid(kind, f"its {name} must be a string, not {shown(value)}")


def invalid(kind: str, why: str, *, remedy: str | None = None) -> InvalidPosition:
    """The error that says why parts, text or JSON are not a position of `kind`."""
    return InvalidPosition(
        f"This is no {kind} position: {why}.",
        remedy=remedy or "Correct the value, or go back to an older version of the checkpoint it was read from.",
        kind=kind,
    )


def shown(value: object) -> str:
    """A short description of any value at all, also of one that is too large or too deep to print."""
    if isinstance(value, str):
        return repr(value[:_SHOWN_CHARACTERS]) + ("…" if len(value) > _SHOWN_CHARACTERS else "")
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, int | float):
        return repr(value)
    return f"a {type(value).__name__}"
