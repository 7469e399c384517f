"""Differences between versions."""

from __future__ import annotations

from holdfast.checkpoint.difference import Change, Missing, difference
from holdfast.checkpoint.memory import MemoryStore
from holdfast.ledger.cursors import Cursors, CursorsCodec
from holdfast.model.positions import Lsn


def test_the_members_of_a_json_value_that_changed_are_named() -> None:
    encode = CursorsCodec().encode
    before = encode(Cursors({"a": 1, "gone": 4}, committed=1, positions={"pg": Lsn(16)}))
    after = encode(Cursors({"a": 3}, committed=3, positions={"pg": Lsn(32)}))
    assert difference(before, after) == (
        Change("committed", 1, 3),
        Change("delivered.a", 1, 3),
        Change("delivered.gone", 4, Missing.ABSENT),
        Change("positions.pg.lsn", "0/10", "0/20"),
    )


def test_other_payloads_are_told_apart_by_size_alone() -> None:
    assert difference(b"\x00\x01", b"\xff") == (Change("", "2 bytes", "1 bytes"),)
    assert difference(b"same", b"same") == ()


def test_a_change_reads_like_a_sentence() -> None:
    assert str(Change("delivered.a", 1, Missing.ABSENT)) == "delivered.a: 1 -> absent"


def test_a_store_compares_its_versions() -> None:
    with MemoryStore() as store:
        epoch = store.take_over()
        first = store.put_raw("k", b'{"n": 1}', epoch=epoch)
        second = store.put_raw("k", b'{"n": 2}', epoch=epoch)
        assert store.diff("k", first, second) == (Change("n", 1, 2),)


def test_a_payload_nested_too_deeply_is_compared_by_its_size() -> None:
    (change,) = difference(b"[" * 100_000, b"{}")
    assert (change.before, change.after) == ("100000 bytes", "2 bytes")
