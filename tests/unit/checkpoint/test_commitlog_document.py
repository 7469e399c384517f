"""A commit document as bytes: what was written is read, and what was damaged is never taken for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.commitlog.document import (
    check_marker,
    commit_name,
    commit_number,
    decode,
    encode,
    encode_marker,
)
from holdfast.checkpoint.commitlog.legacy import read_legacy
from holdfast.checkpoint.commitlog.model import Chain, Document, Doubt, Record, Reign
from holdfast.checkpoint.contract import Origin, Version
from holdfast.checkpoint.envelope import Encoding
from holdfast.model.errors import CheckpointDamaged, ForeignFile, UnknownFormat

counts = st.integers(min_value=0, max_value=2**40)
times = st.datetimes(timezones=st.just(UTC))
names = st.text(alphabet="abc/:-_.09", min_size=1, max_size=8)


@st.composite
def records(draw: st.DrawFn, key: str) -> Record:
    version = Version(
        key, draw(counts), draw(times), draw(counts), draw(counts), draw(counts), draw(st.sampled_from(Origin)),
        draw(st.none() | counts),
    )  # fmt: skip
    return Record(version, draw(counts), draw(names), draw(st.sampled_from(Encoding)), draw(st.none() | names))


@st.composite
def chains(draw: st.DrawFn, key: str) -> Chain:
    trail = tuple(draw(st.lists(records(key), max_size=3)))
    return Chain(draw(counts), draw(counts), draw(st.none() | records(key)), trail)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    keys = draw(st.sets(names, max_size=3))
    doubt = st.builds(Doubt, st.lists(counts, min_size=1).map(tuple), st.frozensets(names))
    return Document(
        number=draw(counts),
        epoch=draw(counts),
        created_at=draw(times),
        nonce=draw(names),
        chains={key: draw(chains(key)) for key in keys},
        doubt=draw(st.none() | doubt),
        reigns=draw(st.lists(st.builds(Reign, counts, counts), max_size=3).map(tuple)),
        payloads=draw(st.dictionaries(names, st.binary(max_size=20), max_size=3)),
    )


def small_document() -> Document:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    record = Record(Version("k", 3, at, 7, 12345, 2), 9, "abcd", Encoding.PLAIN, None)
    return Document(9, 2, at, "abcd", {"k": Chain(3, 1, None, (record,))}, payloads={"k": b"payload"})


@given(documents())
def test_a_document_is_read_as_it_was_written(document: Document) -> None:
    assert decode(encode(document), number=document.number, where="here") == document


@pytest.mark.req("K2")
def test_no_changed_byte_of_the_description_goes_unnoticed() -> None:
    data = encode(small_document())
    for position in range(data.index(b"\n")):
        for bit in range(8):
            damaged = data[:position] + bytes([data[position] ^ (1 << bit)]) + data[position + 1 :]
            with pytest.raises(CheckpointDamaged, match="here"):
                decode(damaged, number=9, where="here")


@pytest.mark.req("K2")
def test_no_cut_in_the_description_goes_unnoticed() -> None:
    data = encode(small_document())
    for length in range(data.index(b"\n")):
        with pytest.raises(CheckpointDamaged):
            decode(data[:length], number=9, where="here")


def test_damage_in_a_payload_leaves_the_description_whole() -> None:
    data = encode(small_document())
    read = decode(data[: data.index(b"\n") + 5], number=9, where="here")
    assert (read.chains, read.payloads) == (small_document().chains, {})


def test_a_payload_line_nested_too_deeply_is_damage_like_any_other() -> None:
    data = encode(small_document())
    read = decode(data[: data.index(b"\n") + 1] + b"[" * 100_000, number=9, where="here")
    assert (read.chains, read.payloads) == (small_document().chains, {})


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'{"a": ' + b"9" * 5_000 + b"}"])
def test_checkpoints_of_format_0_that_cannot_be_read_are_damaged(content: bytes) -> None:
    with pytest.raises(CheckpointDamaged, match="format 0 in here"):
        read_legacy(content, where="here")


def test_a_document_under_another_name_is_damaged() -> None:
    with pytest.raises(CheckpointDamaged, match="commit 9"):
        decode(encode(small_document()), number=8, where="here")


def test_a_newer_format_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr("holdfast.checkpoint.commitlog.document.FORMAT", 2)
        data, marker = encode(small_document()), encode_marker()
    with pytest.raises(UnknownFormat, match="format 2"):
        decode(data, number=9, where="here")
    with pytest.raises(UnknownFormat, match="format 2"):
        check_marker(marker, where="here")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b'{"kind":"something else","format":1}'])
def test_a_marker_that_is_not_ours_is_foreign(content: bytes) -> None:
    with pytest.raises(ForeignFile, match="here"):
        check_marker(content, where="here")


@given(counts)
def test_names_sort_as_their_numbers(number: int) -> None:
    assert commit_number(commit_name(number).removeprefix("commits/")) == number
    assert commit_name(number) < commit_name(number + 1)


@pytest.mark.parametrize("name", ["1.json", "00000000000000000001.json.tmp", "00000000000000000001", "notes.txt"])
def test_other_file_names_are_not_commits(name: str) -> None:
    assert commit_number(name) is None
