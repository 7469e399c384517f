"""How a block is cut into records: whatever the encoding, and wherever the reads happen to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.tailing.records import Framing, is_pattern
from holdfast.model.encoding import Encoding

ALL = pytest.mark.parametrize("encoding", Encoding)
lines = st.lists(st.text(st.characters(max_codepoint=0xFF, exclude_characters="\n"), max_size=8), max_size=12)


def block(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


def read_in_pieces(framing: Framing, data: bytes, cuts: list[int]) -> list[bytes]:
    """The records that come when the file has grown to each of these sizes in turn, and is at rest at the end."""
    found, offset = [], 0
    for size in [*sorted(cuts), len(data)]:
        for end in _ends(framing, data[offset:size], is_all=size == len(data)):
            found.append(end)
        offset += sum(map(len, found)) - offset
    return found


def _ends(framing: Framing, data: bytes, *, is_all: bool) -> list[bytes]:
    ends = framing.ends(block(data), is_all=is_all).tolist()
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@ALL
@given(lines=lines, tail=st.text(max_size=3), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_lines_are_the_same_wherever_the_reads_end(
    encoding: Encoding, lines: list[str], tail: str, cuts: list[int]
) -> None:
    tail = tail.replace("\n", "").encode("latin-1", "ignore").decode("latin-1")
    data = "".join([*(f"{line}\n" for line in lines), tail]).encode(encoding)
    found = read_in_pieces(Framing(encoding), data, [min(cut, len(data)) for cut in cuts])
    expected = [f"{line}\n" for line in lines] + ([tail] if tail else [])
    if len(data) in cuts:
        return  # at rest before the end: another record
    assert [record.decode(encoding) for record in found] == expected


@ALL
def test_a_newline_is_one_only_in_its_own_encoding(encoding: Encoding) -> None:
    text = "Ċ਀ one\nĊ਀ two\n"  # in UTF-16 their halves look like newlines
    data = text.encode(encoding, "replace")
    assert len(Framing(encoding).ends(block(data), is_all=False)) == 2


@ALL
@given(records=st.lists(st.lists(st.sampled_from(["a", "", " b", "2x"]), max_size=3), min_size=1, max_size=6))
def test_a_record_of_several_lines_ends_where_the_next_one_begins(encoding: Encoding, records: list[list[str]]) -> None:
    texts = ["\n".join([f"2026-01-{day:02d} start", *rest]) + "\n" for day, rest in enumerate(records, 1)]
    framing = Framing(encoding, first_line=r"\d{4}-")
    data = "".join(texts).encode(encoding)
    whole = [record.decode(encoding) for record in _ends(framing, data, is_all=False)]
    assert whole == texts[:-1], "of the last one more may come"
    assert [record.decode(encoding) for record in _ends(framing, data, is_all=True)] == texts


def test_what_begins_a_record_is_told_from_its_rest() -> None:
    framing = Framing(first_line=r"\d{4}-")
    assert framing.is_first(block(b"2026-01-01 boom\n  at line 3\n"))
    assert framing.is_first(block(b"2026-01-01 boom"))
    assert not framing.is_first(block(b"  at line 3\n2026-01-01 boom\n"))
    assert Framing().is_first(block(b"anything"))


def test_a_pattern_is_one_that_both_python_and_the_matcher_take() -> None:
    assert is_pattern(r"\d{4}-")
    assert not is_pattern("(")
    assert not is_pattern(r"(?=look ahead)")
