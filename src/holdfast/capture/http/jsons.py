"""Finds the JSON values in a pushed body and cuts them out as they were sent. Pure.

A value is checked from its first to its last character and then kept as bytes: nothing is written anew, so a number
has the digits that its sender gave it.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from holdfast.model.errors import InvalidPush, PushTooLarge

MAX_VALUES = 100_000
"""A body of two-byte values would become fifty times as large in memory."""

_SPACE = re.compile(r"[ \t\n\r]*")


def values(body: bytes) -> list[bytes]:
    """The elements of an array; or the one value, if it is none."""
    text = _text(body)
    at = _skip(text, 0)
    if not text.startswith("[", at):
        end = _end_of_value(text, at)
        _expect_end(text, end)
        return [text[at:end].encode()]
    return _elements(text, at + 1)


def lines(body: bytes) -> list[bytes]:
    """One value a line; lines without one are skipped."""
    text = _text(body)
    found: list[bytes] = []
    start = 0
    while (at := _skip(text, start)) < len(text):  # over all blank lines at once: one by one is quadratic
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        end = _end_of_value(text, at)
        if end > stop:
            _refuse("the value does not end on its line", text, stop)
        if (after := _skip(text, end)) < stop:
            _refuse("something follows the value", text, after)
        found.append(text[at:end].encode())
        _check_count(found)
        start = stop + 1
    return found


def place_in(text: str, at: int) -> str:
    """Where a character stands, in words."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return f"line {line}, column {column} (byte {len(text[:at].encode())})"


def _elements(text: str, at: int) -> list[bytes]:
    found: list[bytes] = []
    at = _skip(text, at)
    if text.startswith("]", at):
        _expect_end(text, at + 1)
        return found
    while True:
        end = _end_of_value(text, at)
        found.append(text[at:end].encode())
        _check_count(found)
        at = _skip(text, end)
        if text.startswith("]", at):
            _expect_end(text, at + 1)
            return found
        if not text.startswith(",", at):
            _refuse("a comma or the end of the array is missing", text, at)
        at = _skip(text, at + 1)


def _end_of_value(text: str, at: int) -> int:
    try:
        _, end = _SCANNER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        _refuse(f"it is not JSON: {error.msg}", text, error.pos)
    except _NoNumber as error:
        _refuse(f"{error} is no number of JSON", text, at)
    except RecursionError:
        _refuse("a value is nested too deeply", text, at)
    return end


def _expect_end(text: str, at: int) -> None:
    at = _skip(text, at)
    if at < len(text):
        _refuse("something follows the value", text, at)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidPush(f"The body is not UTF-8, at byte {error.start}.", remedy="Send UTF-8.") from error


def _check_count(found: list[bytes]) -> None:
    if len(found) > MAX_VALUES:
        raise PushTooLarge(f"The body holds more than {MAX_VALUES} values.", remedy="Send them in several requests.")


def _refuse(why: str, text: str, at: int) -> NoReturn:
    raise InvalidPush(
        f"The body cannot be read, because {why}, at {place_in(text, at)}.",
        remedy="Correct the body and send it again.",
    )


class _NoNumber(Exception):
    """NaN or an infinity."""


def _no_number(name: str) -> NoReturn:
    raise _NoNumber(name)


_SCANNER = json.JSONDecoder(parse_float=len, parse_int=len, parse_constant=_no_number)
"""Checks numbers without making them: one of a million digits costs nothing."""
