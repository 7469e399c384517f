"""The order of positions: the axioms of a partial order, per kind and across kinds, and `earliest`."""

from __future__ import annotations

import copy
import pickle
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.position_strategies import CROWDED, any_crowded, any_wide, few, int31, int63, of_one_kind

from holdfast.model.errors import IncomparablePositions
from holdfast.model.positions import (
    BinlogPosition,
    ChangeId,
    GtidSet,
    KafkaOffsets,
    Lsn,
    MysqlPosition,
    Order,
    Position,
    Seq,
    earliest,
    parse,
)

CONVERSE = {
    Order.BEFORE: Order.AFTER,
    Order.AFTER: Order.BEFORE,
    Order.EQUAL: Order.EQUAL,
    Order.INCOMPARABLE: Order.INCOMPARABLE,
}
KINDS = pytest.mark.parametrize("kind", sorted(CROWDED))
KINDS_WITHOUT_HINTS = pytest.mark.parametrize(
    "kind", sorted(CROWDED.keys() - {"mysql", "file", "files", "kafka", "sifted"})
)


@given(any_crowded | any_wide)
def test_a_position_is_equal_to_itself(position: Position) -> None:
    assert position.compare(position) is Order.EQUAL


@KINDS
@given(data=st.data())
def test_before_and_after_are_converse(kind: str, data: st.DataObject) -> None:
    a, b = data.draw(CROWDED[kind]), data.draw(CROWDED[kind])
    assert b.compare(a) is CONVERSE[a.compare(b)]


@KINDS
@given(data=st.data())
def test_the_order_is_transitive(kind: str, data: st.DataObject) -> None:
    a, b, c = (data.draw(CROWDED[kind]) for _ in range(3))
    for low, middle, high in permutations((a, b, c)):
        if high.at_or_after(middle) and middle.at_or_after(low):
            assert high.at_or_after(low)


@KINDS
@given(data=st.data())
def test_equal_positions_stand_alike_to_every_other(kind: str, data: st.DataObject) -> None:
    a, b, c = (data.draw(CROWDED[kind]) for _ in range(3))
    if a.compare(b) is Order.EQUAL:
        assert a.compare(c) is b.compare(c)


@given(any_crowded | any_wide)
def test_equal_values_are_at_the_same_place(position: Position) -> None:
    twin = parse(position.kind, str(position))
    assert twin.compare(position) is Order.EQUAL
    assert (twin, hash(twin)) == (position, hash(position))


@KINDS_WITHOUT_HINTS
@given(data=st.data())
def test_the_order_is_antisymmetric(kind: str, data: st.DataObject) -> None:
    a, b = data.draw(CROWDED[kind]), data.draw(CROWDED[kind])
    if a.at_or_after(b) and b.at_or_after(a):
        assert a == b


@pytest.mark.parametrize("kind", [Seq, Lsn, ChangeId])
@given(a=int63, b=int63)
def test_numbers_are_ordered_as_numbers(kind: type[Seq | Lsn | ChangeId], a: int, b: int) -> None:
    assert kind(a).at_or_after(kind(b)) is (a >= b)
    assert kind(b).at_or_after(kind(a)) is (b >= a)


@given(int31, few, int31, few)
def test_binlog_files_are_ordered_as_numbers(file_a: int, a: int, file_b: int, b: int) -> None:
    left, right = BinlogPosition(f"bin.{file_a:06d}", a), BinlogPosition(f"bin.{file_b:06d}", b)
    assert left.at_or_after(right) is ((file_a, a) >= (file_b, b))


@given(any_crowded, any_crowded)
def test_positions_of_different_kinds_are_incomparable(a: Position, b: Position) -> None:
    if a.kind != b.kind:
        assert a.compare(b) is Order.INCOMPARABLE


@given(of_one_kind(2))
def test_at_or_after_says_what_compare_says(pair: tuple[Position, Position]) -> None:
    a, b = pair
    assert a.at_or_after(b) is (a.compare(b) in {Order.AFTER, Order.EQUAL})


@given(any_wide)
def test_no_position_has_a_less_than(position: Position) -> None:
    with pytest.raises(TypeError):
        position < position  # type: ignore[operator]  # noqa: B015


@given(any_wide)
def test_a_position_survives_pickle_and_copy(position: Position) -> None:
    assert pickle.loads(pickle.dumps(position)) == position
    assert copy.deepcopy(position) == position


@given(any_wide)
def test_a_position_is_frozen_and_has_no_room_for_more(position: Position) -> None:
    assert not hasattr(position, "__dict__")
    with pytest.raises((AttributeError, TypeError)):
        position.note = "x"  # type: ignore[attr-defined]


@given(st.integers(1, 5).flatmap(of_one_kind))
def test_earliest_is_at_or_before_all_or_refuses(positions: tuple[Position, ...]) -> None:
    least = [p for p in positions if all(q.at_or_after(p) for q in positions)]
    if least:
        assert earliest(positions) is least[0]
    else:
        with pytest.raises(IncomparablePositions):
            earliest(positions)


def test_earliest_of_nothing_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="no earliest"):
        earliest([])


def test_earliest_of_two_kinds_names_both_and_what_to_do() -> None:
    with pytest.raises(IncomparablePositions) as caught:
        earliest([Seq(1), Lsn(1)])
    assert "seq 1" in str(caught.value)
    assert "lsn 0/1" in str(caught.value)
    assert caught.value.remedy.endswith(".")


U = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
V = "24da167a-0c0c-11e8-8442-00059a3c7b00"
EXAMPLES = [
    ("seq", "9", Order.BEFORE, "10"),
    ("seq", "0", Order.BEFORE, "9223372036854775807"),
    ("change_id", "99", Order.BEFORE, "100"),
    ("lsn", "9/0", Order.BEFORE, "10/0"),
    ("lsn", "0/FFFFFFFF", Order.BEFORE, "1/0"),
    ("lsn", "1/9", Order.BEFORE, "1/10"),
    ("lsn", "0/0", Order.BEFORE, "FFFFFFFF/FFFFFFFF"),
    ("lsn", "16/b374d848", Order.EQUAL, "16/B374D848"),
    ("lsn", "16/0000000A", Order.EQUAL, "16/A"),
    ("binlog", "mysql-bin.999999:900", Order.BEFORE, "mysql-bin.1000000:4"),
    ("binlog", "mysql-bin.000009:900", Order.BEFORE, "mysql-bin.000010:4"),
    ("binlog", "mysql-bin.000009:9", Order.BEFORE, "mysql-bin.000009:10"),
    ("binlog", "mysql-bin.000001:4", Order.INCOMPARABLE, "binlog.000001:4"),
    ("binlog", "a.b.000001:4", Order.BEFORE, "a.b.000002:4"),
    ("gtid_set", "", Order.BEFORE, f"{U}:1"),
    ("gtid_set", f"{U}:1-3", Order.BEFORE, f"{U}:1-3:5-7"),
    ("gtid_set", f"{U}:1-3:5-7", Order.BEFORE, f"{U}:1-7"),
    ("gtid_set", f"{U}:1-3:4-7", Order.EQUAL, f"{U}:1-7"),
    ("gtid_set", f"{U}:5-7", Order.INCOMPARABLE, f"{U}:1-3"),
    ("gtid_set", f"{U}:1-3", Order.INCOMPARABLE, f"{V}:1-3"),
    ("gtid_set", f"{U}:1-3", Order.INCOMPARABLE, f"{U}:tag:1-3"),
    ("mysql", "b.000002:4", Order.BEFORE, "b.000010:4"),
    ("mysql", f"b.000010:4 gtids={U}:1-3", Order.BEFORE, f"b.000002:4 gtids={U}:1-4"),
    ("mysql", f"b.000010:4 gtids={U}:1-3", Order.EQUAL, f"b.000002:9 gtids={U}:1-3"),
    ("mysql", f"b.000001:4 gtids={U}:1-3", Order.INCOMPARABLE, f"b.000002:4 gtids={V}:1-3"),
    ("mysql", f"b.000001:4 gtids={U}:1-3", Order.INCOMPARABLE, "b.000002:4"),
    ("mysql", "b.000001:4 gtids=", Order.INCOMPARABLE, "b.000001:4"),
    ("file", "aa/1024@7:10", Order.BEFORE, "aa/1024@7:20"),
    ("file", "aa/1024@7:10", Order.EQUAL, "aa/1024@8:10"),
    ("file", "aa/1024@7:10", Order.INCOMPARABLE, "bb/1024@7:20"),
    ("file", "aa/100@7:10", Order.INCOMPARABLE, "aa/1024@7:20"),
    ("file", "/0@7:0", Order.INCOMPARABLE, "/0@8:0"),
    ("file", "/0@7:0", Order.EQUAL, "/0@7:0"),
    ("kafka", "0:5", Order.BEFORE, "0:5,1:1"),
    ("kafka", "0:9,1:1", Order.INCOMPARABLE, "0:5,1:2"),
    ("kafka", "0:5", Order.INCOMPARABLE, "1:5"),
    ("kafka", "", Order.EQUAL, "0:0"),
]


@pytest.mark.parametrize(("kind", "left", "expected", "right"), EXAMPLES)
def test_example_of_the_order(kind: str, left: str, expected: Order, right: str) -> None:
    assert parse(kind, left).compare(parse(kind, right)) is expected


def test_earliest_takes_a_set_that_all_others_contain_although_those_have_no_order() -> None:
    low, *others = (GtidSet.from_text(f"{U}:{numbers}") for numbers in ("1-5", "1-7", "1-5:9"))
    assert earliest([*others, low]) == low


def test_kafka_partitions_may_be_given_in_any_order() -> None:
    assert KafkaOffsets(((1, 5), (0, 7))) == KafkaOffsets(((0, 7), (1, 5)))


def test_a_kafka_zero_that_was_given_is_not_forgotten() -> None:
    assert KafkaOffsets(((0, 0),)) != KafkaOffsets()


def test_ordering_mixed_mysql_positions_by_file_would_go_in_a_circle() -> None:
    old_server = MysqlPosition(BinlogPosition("b.000010", 4), GtidSet.from_text(f"{U}:1-100"))
    without = MysqlPosition(BinlogPosition("b.000005", 4))
    new_server = MysqlPosition(BinlogPosition("b.000002", 4), GtidSet.from_text(f"{U}:1-150"))
    assert old_server.compare(new_server) is Order.BEFORE
    assert without.compare(old_server) is without.compare(new_server) is Order.INCOMPARABLE
