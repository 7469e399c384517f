"""The screen shows what a terminal shows: otherwise the tests in this room prove nothing."""

from __future__ import annotations

import pytest

from tests.support.screen import Screen


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"one\r\ntwo", ["one", "two"]),
        (b"one\rO", ["One"]),
        (b"busy 10%\r\x1b[2Kdone", ["done"]),
        (b"0123456789ab", ["0123456789", "ab"]),
        (b"0123456789\r\nab", ["0123456789", "ab"]),
        (b"0123456789\rX", ["X123456789"]),
        (b"a\tb", ["a       b"]),
        (b"old\r\nold\x1b[H\x1b[2Jnew", ["new"]),
        (b"one\r\ntwo\x1b[1A\rONE", ["ONE", "two"]),
        (b"abcdef\x1b[3D\x1b[K", ["abc"]),
        (b"abcdef\x1b[1;3HX", ["abXdef"]),
        (b"\x1b[31mred\x1b[0m", ["red"]),
        (b"sh\x1b[?1049hfull\x1b[?1049lell", ["shell"]),
        ("雪 x".encode(), ["雪 x"]),
        (b"one\r\ntwo\r\nthree\x1b[2;1H\x1b[M", ["one", "three"]),
    ],
)
def test_bytes_become_the_lines_of_a_terminal_ten_columns_wide(sent: bytes, shown: list[str]) -> None:
    whole, piecemeal = Screen(10, 4), Screen(10, 4)
    whole.feed(sent)
    for byte in sent:
        piecemeal.feed(bytes([byte]))
    assert whole.lines == piecemeal.lines == shown
    assert not whole.unknown


def test_what_scrolls_out_at_the_top_can_still_be_read() -> None:
    screen = Screen(10, 2)
    screen.feed(b"1\r\n2\r\n3\r\n4")
    assert screen.lines == ["3", "4"]
    assert screen.text == "1\n2\n3\n4"


def test_colour_is_noticed_and_a_reset_is_none() -> None:
    screen = Screen()
    screen.feed(b"\x1b[0mplain\x1b[m")
    assert not screen.has_color
    screen.feed(b"\x1b[33mcolour")
    assert screen.has_color


def test_a_sequence_that_is_not_known_is_listed() -> None:
    screen = Screen()
    screen.feed(b"\x1b[5y")
    assert screen.unknown == ["\x1b[5y"]


def test_a_smaller_window_cuts_lines_and_keeps_the_line_with_the_cursor() -> None:
    screen = Screen(10, 4)
    screen.feed(b"1\r\n2\r\n3\r\n0123456789")
    screen.resize(5, 2)
    assert screen.lines == ["3", "01234"]
    assert screen.text.splitlines() == ["1", "2", "3", "01234"]
