"""A body of JSON is cut into its values, as they were sent; what is wrong is named with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.bounds import bounded

from holdfast.capture.http import jsons
from holdfast.capture.http.jsons import lines, values
from holdfast.model.errors import InvalidPush, PushTooLarge

SPACE = st.text(" \t\r\n", max_size=3)
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.req("A2")
@given(st.lists(ANY_VALUE), st.booleans(), SPACE, SPACE)
def test_an_array_and_lines_hold_the_same_events(
    found: list[object], ascii_only: bool, before: str, after: str
) -> None:
    texts = [json.dumps(value, ensure_ascii=ascii_only) for value in found]
    array = f"{before}[{','.join(before + text + after for text in texts)}]{after}"
    ndjson = "".join(f"{text}\r\n" for text in texts)
    expected = [text.encode() for text in texts]
    assert values(array.encode("utf-8", "surrogatepass")) == expected
    assert lines(ndjson.encode("utf-8", "surrogatepass")) == expected


@pytest.mark.parametrize("body", [b'{"a": [1, 2]}', b'"text"', b"17", b"null", b" true\n"])
def test_anything_but_an_array_is_one_event(body: bytes) -> None:
    assert values(body) == [body.strip()]


def test_a_value_keeps_the_digits_and_the_spaces_of_its_sender() -> None:
    assert values(b'[1.10, 1e2, {"a" : 12345678901234567890123}]') == [
        b"1.10",
        b"1e2",
        b'{"a" : 12345678901234567890123}',
    ]


def test_a_number_of_a_million_digits_costs_nothing() -> None:
    assert values(b"9" * 1_000_000) == [b"9" * 1_000_000]


@pytest.mark.req("A3")
@pytest.mark.parametrize("body", [b"", b"\n", b" \r\n\t\n"])
def test_lines_without_a_value_are_no_events(body: bytes) -> None:
    assert lines(body) == []


@pytest.mark.req("A3")
def test_an_empty_array_holds_no_event() -> None:
    assert values(b" [ ] ") == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", "line 1, column 1 (byte 0)"),
        (b"[1,\n 2,\n x]", "line 3, column 2 (byte 9)"),
        ('["ü", "ä" 1]'.encode(), "line 1, column 11 (byte 12)"),
        (b"[1, 2", "line 1, column 6 (byte 5)"),
        (b"[1,]", "line 1, column 4 (byte 3)"),
        (b"[1] 2", "line 1, column 5 (byte 4)"),
        (b'{"a": 1} {"b": 2}', "line 1, column 10 (byte 9)"),
        (b"[1, NaN]", "line 1, column 5 (byte 4)"),
        (b"\xef\xbb\xbf1", "line 1, column 1 (byte 0)"),
        (b'"line\nbreak"', "line 1, column 6 (byte 5)"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(body: bytes, place: str) -> None:
    with pytest.raises(InvalidPush) as refusal:
        values(body)
    assert place in str(refusal.value)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"1\n\nx\n", "line 3, column 1 (byte 3)"),
        (b'{"a": 1}\n{"a":', "line 2, column 6 (byte 14)"),
        (b"1 2\n", "line 1, column 3 (byte 2)"),
        (b"[1,\n2]\n", "line 1, column 4 (byte 3)"),
        (b"-Infinity", "line 1, column 1 (byte 0)"),
    ],
)
def test_a_line_that_is_no_json_is_refused_with_its_place(body: bytes, place: str) -> None:
    with pytest.raises(InvalidPush) as refusal:
        lines(body)
    assert place in str(refusal.value)


@pytest.mark.parametrize("decode", [values, lines])
def test_bytes_that_are_no_text_are_refused(decode: object) -> None:
    with pytest.raises(InvalidPush, match="not UTF-8, at byte 2"):
        decode(b'"a\xff"')  # type: ignore[operator]


def test_a_value_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidPush, match="too deeply"):
        values(b"[" * 100_000)


@pytest.mark.parametrize("body", [b"[" + b"1," * 10 + b"1]", b"1\n" * 11])
def test_more_values_than_memory_can_take_are_refused(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsons, "MAX_VALUES", 10)
    with pytest.raises(PushTooLarge, match="more than 10 values"):
        (values if body.startswith(b"[") else lines)(body)


def test_a_million_blank_lines_take_time_in_proportion() -> None:
    """Each was looked for to the end of all that follow: hours of processor time for a body of a megabyte."""
    with bounded():
        assert lines(b"\n" * 1_000_000 + b"1\n") == [b"1"]
