"""Sizes and durations: what is written is read back as the same, and what means nothing is refused."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.units import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)

DURATIONS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=365_000))


@given(st.integers(min_value=0, max_value=2**49))
def test_a_size_is_read_back_as_it_was_written(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(DURATIONS)
def test_a_duration_is_read_back_as_it_was_written(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@given(st.integers(1, 999), st.sampled_from(["B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]))
def test_a_size_grows_with_its_number(count: int, unit: str) -> None:
    assert parse_size(f"{count}{unit}") == count * parse_size(f"1{unit}") == parse_size(f"{count} {unit}")


@given(st.one_of(st.text(max_size=12), st.from_regex(r"[0-9.]{1,4} ?[a-zA-Z]{0,3}", fullmatch=True)))
def test_any_text_is_a_size_or_refused(text: str) -> None:
    try:
        size = parse_size(text)
    except ValueError:
        return
    assert size >= 0
    assert re.search(SIZE_PATTERN, text)


@given(st.one_of(st.text(max_size=12), st.from_regex(r"([0-9.]{1,4}[usmhdw]{1,2}){1,3}", fullmatch=True)))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        duration = parse_duration(text)
    except ValueError:
        return
    assert duration >= timedelta(0)
    assert re.search(DURATION_PATTERN, text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("16MiB", 16 << 20), ("64MB", 64_000_000), ("1.5GiB", 3 << 29), ("1 kB", 1000), ("0B", 0), ("1KB", 1000)],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("200ms", timedelta(milliseconds=200)),
        ("30d", timedelta(days=30)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5s", timedelta(milliseconds=1500)),
        ("2w", timedelta(days=14)),
        ("0s", timedelta(0)),
    ],
)
def test_durations_as_people_write_them(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "MiB", "16", "16 mib", "-1B", "16MiB ", "1e3B", "0.5B", "٣B", "1B\n"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="no "):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "s", "30", "30 s", "-1s", "30m1h", "1s1s", "0.5us", "999999999999d", "1s\n"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"no |too long"):
        parse_duration(text)
