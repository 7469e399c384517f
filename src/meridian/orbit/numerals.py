"""Numbers as messages and element sets write them: ASCII digits, a point, an exponent with E. Nothing else is one.

Python's own `float` and `int` also take `1_5.5`, full-width digits, blanks around, `inf` and `nan`, and a whole number
of 5,000 digits makes them raise. Here all of that is no number. Pure.
"""

from __future__ import annotations

import math
import re

LONGEST_NUMBER = 64
"""Characters. A double has 17 significant digits; the rest is zeros and the exponent."""
MOST_DIGITS = 9
"""Of a whole number: a catalog number has the most, nine."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}")


def parse_number(text: str) -> float | None:
    """The finite number that a text writes; none when it writes none, or one that a double cannot hold."""
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value) or (value == 0.0 and _has_digit_above_zero(text)):
        return None
    return value


def parse_whole(text: str) -> int | None:
    """The whole number from 0 that a text writes; none when it writes none, or one of too many digits."""
    return int(text) if _WHOLE.fullmatch(text) else None


def _has_digit_above_zero(text: str) -> bool:
    """Whether a text whose value is zero says something else, as `1e-999` does."""
    return any(digit in "123456789" for digit in re.split("[eE]", text)[0])
