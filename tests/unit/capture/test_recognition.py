"""Which file a file is, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.tailing.recognition import Absent, Heads, Sighting, Verdict, fingerprint_of, judge

WINDOW = 16
OLD = b"first line of all\nsecond\n"
HEAD = OLD[:WINDOW]


def absent(content: bytes, offset: int, *, is_settled: bool = False) -> Absent:
    return Absent(fingerprint_of(content[: min(WINDOW, offset)]), offset, is_settled)


def seen(content: bytes, size: int | None = -1) -> Sighting:
    return Sighting(content[:WINDOW], len(content) if size == -1 else size)


def verdict(sighting: Sighting, *gone: Absent, present: tuple[bytes, ...] = ()) -> Verdict:
    return judge(sighting, gone, Heads(present), window=WINDOW).verdict


def test_a_file_that_nothing_begins_like_is_new() -> None:
    assert verdict(seen(b"quite different\n"), absent(OLD, 18), present=(b"other",)) is Verdict.NEW


def test_a_file_that_begins_like_an_absent_one_is_that_one() -> None:
    assert verdict(seen(OLD), absent(OLD, 18)) is Verdict.MOVED
    assert verdict(seen(OLD, size=None), absent(OLD, 18)) is Verdict.MOVED, "a compressed one"


def test_an_absent_file_that_was_read_further_has_left_a_copy_behind() -> None:
    assert verdict(seen(OLD), absent(OLD + b"third\n", 31)) is Verdict.COPY


def test_a_file_of_which_little_is_known_is_believed_to_be_gone_only_after_a_while() -> None:
    assert verdict(seen(b"a\nb\n"), absent(b"a\n", 2)) is Verdict.LATER
    assert verdict(seen(b"a\nb\n"), absent(b"a\n", 2, is_settled=True)) is Verdict.MOVED


def test_the_longest_fingerprint_decides() -> None:
    short, long = absent(b"a\n", 2, is_settled=True), absent(b"a\nb\n", 4, is_settled=True)
    assert judge(seen(b"a\nb\nc\n"), [short, long], Heads([]), window=WINDOW).absent == long


def test_what_is_no_longer_than_the_beginning_of_a_present_file_is_a_copy_of_it() -> None:
    assert verdict(seen(OLD), present=(HEAD,)) is Verdict.COPY
    assert verdict(seen(OLD[:5]), present=(HEAD,)) is Verdict.COPY
    assert verdict(seen(OLD), present=(OLD[:5],)) is Verdict.NEW, "an original is never shorter than its copy"


def test_a_file_of_which_nothing_was_captured_is_nobody() -> None:
    assert verdict(seen(OLD), absent(OLD, 0)) is Verdict.NEW


@given(st.lists(st.binary(max_size=4), max_size=12), st.binary(max_size=3))
def test_heads_that_begin_alike_are_found(heads: list[bytes], head: bytes) -> None:
    found = Heads(heads).starting_with(head)
    assert (found is not None) == any(one.startswith(head) for one in heads)
    assert found is None or found.startswith(head)


@pytest.mark.parametrize("length", [0, 1, WINDOW])
def test_a_fingerprint_is_of_its_own_length_only(length: int) -> None:
    sighting = seen(OLD)
    assert sighting.begins_with(fingerprint_of(OLD[:length]))
    assert not sighting.begins_with(fingerprint_of(OLD[:length] + b"!"))
