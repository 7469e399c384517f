"""The screen on a terminal and without one."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.support import seen

from meridian.screen import Screen

_TAKEN, _GIVEN_BACK, _CURSOR_SHOWN = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


def _terminal() -> tuple[Console, StringIO]:
    file = StringIO()
    return Console(
        file=file, width=80, height=24, force_terminal=True, color_system="standard", legacy_windows=False
    ), file


def _show_and_fail(screen: Screen) -> None:
    screen.show(seen.FULL)
    raise AttributeError


def test_without_a_terminal_there_are_no_colours_and_no_steering() -> None:
    file = StringIO()
    with Screen(Console(file=file, width=80)) as screen:
        screen.show(seen.FULL)
    assert "\x1b" not in file.getvalue()
    assert "Conjunctions that stand: 12" in file.getvalue()


def test_the_terminal_is_given_back_with_the_last_picture_on_it() -> None:
    console, file = _terminal()
    with Screen(console) as screen:
        screen.show(seen.EMPTY)
        screen.show(seen.FULL)
    before, after = file.getvalue().split(_GIVEN_BACK)
    assert _TAKEN in before
    assert "Conjunctions that stand: 12" in after.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert _CURSOR_SHOWN in file.getvalue()


def test_the_terminal_is_given_back_when_something_fails() -> None:
    console, file = _terminal()
    with pytest.raises(AttributeError), Screen(console) as screen:
        _show_and_fail(screen)
    assert _GIVEN_BACK in file.getvalue()


def test_a_screen_that_showed_nothing_leaves_the_terminal_alone() -> None:
    console, file = _terminal()
    with Screen(console):
        pass
    assert file.getvalue() == ""


def test_ending_twice_is_ending_once() -> None:
    console, file = _terminal()
    screen = Screen(console)
    screen.show(seen.FULL)
    screen.end()
    once = file.getvalue()
    screen.end()
    assert file.getvalue() == once
