"""The stored form and the text form: what goes out comes back, and nothing hostile comes in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.position_strategies import CROWDED, UUIDS, WIDE, any_crowded, any_wide

import holdfast.model.positions as package
from holdfast.model.errors import HoldfastError, InvalidPosition, UnknownFormat
from holdfast.model.positions import Json, Position, from_json, parse, to_json
from holdfast.model.positions.codec import KINDS

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
hostile_values = json_values | st.sampled_from(
    [
        -1,
        True,
        2**63,
        2**64,
        1 << 300,
        1.0,
        float("nan"),
        "",
        "\ud800",
        "\x00",
        "1" * 5000,
        "0/0\n",
        {"0": True},
        {"00": 1},
    ]
)
json_keys = st.text(max_size=5) | st.sampled_from(["kind", "v", "extra", "pos", "gtids", "offsets"])

STORED: list[tuple[str, dict[str, Json]]] = [
    ("9", {"kind": "seq", "v": 1, "seq": 9}),
    (f"{UUIDS[0]}:9", {"kind": "log", "v": 1, "log": UUIDS[0], "seq": 9}),
    (f"{UUIDS[0]}:9-4", {"kind": "sifted", "v": 1, "log": UUIDS[0], "seq": 9, "left_out": 4}),
    ("16/B374D848", {"kind": "lsn", "v": 1, "lsn": "16/B374D848"}),
    ("b.000042:154", {"kind": "binlog", "v": 1, "file": "b.000042", "pos": 154}),
    (f"{UUIDS[0]}:1-3:5", {"kind": "gtid_set", "v": 1, "gtids": f"{UUIDS[0]}:1-3:5"}),
    ("b.000042:154", {"kind": "mysql", "v": 1, "file": "b.000042", "pos": 154, "gtids": None}),
    (
        f"b.000042:154 gtids={UUIDS[0]}:1",
        {"kind": "mysql", "v": 1, "file": "b.000042", "pos": 154, "gtids": f"{UUIDS[0]}:1"},
    ),
    ("7", {"kind": "change_id", "v": 1, "change_id": 7}),
    (
        "9f86/2@131:4096",
        {"kind": "file", "v": 1, "fingerprint": "9f86", "fingerprint_length": 2, "inode": 131, "offset": 4096},
    ),
    (
        "12;3=9f86/2@131:4096,10=/0@7:0",
        {"kind": "files", "v": 1, "begun": 12, "files": {"3": "9f86/2@131:4096", "10": "/0@7:0"}},
    ),
    ("0:15,10:7", {"kind": "kafka", "v": 1, "offsets": {"0": 15, "10": 7}}),
]
INTEGER_FIELDS = [
    (stored, name) for _, stored in STORED for name, value in stored.items() if type(value) is int and name != "v"
]
FIELDS = [(stored, name) for _, stored in STORED for name in stored]


def read_or_refuse(obj: object) -> Position | None:
    """What `from_json` gives; any error but ours escapes and fails the test."""
    try:
        return from_json(obj)
    except HoldfastError as error:
        refusal = error
    assert refusal.what.endswith(".")
    assert refusal.remedy.endswith(".")
    assert len(str(refusal)) < 1000
    return None


@given(any_wide | any_crowded)
def test_json_round_trip(position: Position) -> None:
    text = json.dumps(to_json(position), allow_nan=False)
    assert text.encode().decode() == text
    assert from_json(json.loads(text)) == position


@given(any_wide | any_crowded)
def test_text_round_trip(position: Position) -> None:
    assert parse(position.kind, str(position)) == position


@pytest.mark.parametrize(("text", "stored"), STORED)
def test_the_stored_form_never_changes(text: str, stored: dict[str, Json]) -> None:
    position = from_json(stored)
    assert to_json(position) == stored
    assert str(position) == text


def concrete_kinds(cls: type[Position]) -> list[type[Position]]:
    below = [kind for sub in cls.__subclasses__() for kind in concrete_kinds(sub)]
    return [cls, *below] if hasattr(cls, "kind") else below


def test_every_kind_is_in_the_table_and_in_these_tests() -> None:
    kinds = {kind.kind for kind in concrete_kinds(Position)}
    assert kinds == set(KINDS) == set(CROWDED) == set(WIDE) == {stored["kind"] for _, stored in STORED}


@given(hostile_values)
def test_no_value_makes_from_json_fail_otherwise_than_with_our_errors(obj: object) -> None:
    read_or_refuse(obj)


@given(any_crowded | any_wide, st.data())
def test_no_changed_field_makes_from_json_fail_otherwise(position: Position, data: st.DataObject) -> None:
    stored: dict[str, object] = dict(to_json(position))
    stored[data.draw(st.sampled_from(sorted(stored)) | json_keys)] = data.draw(hostile_values)
    read = read_or_refuse(stored)
    assert read is None or from_json(json.loads(json.dumps(to_json(read)))) == read


@given(
    st.sampled_from(sorted(KINDS)), st.text(max_size=30) | any_wide.map(str), st.text(max_size=3), st.integers(0, 40)
)
def test_no_text_makes_parse_fail_otherwise(kind: str, text: str, inserted: str, at: int) -> None:
    try:
        position = parse(kind, text[:at] + inserted + text[at:])
    except HoldfastError:
        return
    assert parse(kind, str(position)) == position


@pytest.mark.parametrize(("stored", "name"), INTEGER_FIELDS)
@pytest.mark.parametrize(
    "bad", [-1, True, False, 2**64, pytest.param(10**5000, id="too-long-to-print"), 1.0, "1", None, [1]]
)
def test_a_field_that_is_no_number_in_range_is_refused(stored: dict[str, Json], name: str, bad: Json) -> None:
    with pytest.raises(InvalidPosition, match=name):
        from_json({**stored, name: bad})


@pytest.mark.parametrize(("stored", "name"), FIELDS)
def test_a_missing_field_is_refused(stored: dict[str, Json], name: str) -> None:
    with pytest.raises(InvalidPosition, match=name):
        from_json({key: value for key, value in stored.items() if key != name})


@pytest.mark.parametrize(("text", "stored"), STORED)
def test_a_field_too_many_is_refused(text: str, stored: dict[str, Json]) -> None:
    with pytest.raises(InvalidPosition, match="extra"):
        from_json({**stored, "extra": text})


@pytest.mark.parametrize(("text", "stored"), STORED)
def test_a_newer_version_is_told_from_a_broken_one(text: str, stored: dict[str, Json]) -> None:
    with pytest.raises(UnknownFormat, match="version 2"):
        from_json({**stored, "v": 2, "a field of the future": text})


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_a_version_that_is_none_is_refused(version: Json) -> None:
    with pytest.raises(InvalidPosition, match="its v must be"):
        from_json({"kind": "seq", "v": version, "seq": 1})


def test_an_unknown_kind_is_told_from_a_broken_one() -> None:
    with pytest.raises(UnknownFormat, match="oracle_scn"):
        from_json({"kind": "oracle_scn", "v": 1, "scn": 5})
    with pytest.raises(UnknownFormat, match="oracle_scn"):
        parse("oracle_scn", "5")


BROKEN_TEXTS = [
    ("seq", ""),
    ("seq", "-1"),
    ("seq", " 1"),
    ("seq", "\u0661"),
    ("seq", "9223372036854775808"),
    ("lsn", "16"),
    ("lsn", "16/"),
    ("lsn", "100000000/0"),
    ("lsn", "0/100000000"),
    ("lsn", "0x16/0"),
    ("lsn", "16/B374D848\n"),
    ("binlog", "mysql-bin.000001"),
    ("binlog", "mysql-bin.1:4"),
    ("binlog", "mysql-bin.0000001:4"),
    ("binlog", "mysql-bin.2147483648:4"),
    ("binlog", "mysql-bin:4"),
    ("binlog", ".000001:4"),
    ("binlog", "/var/mysql-bin.000001:4"),
    ("binlog", "mysql-bin.000001:18446744073709551616"),
    ("binlog", "a b.000001:4"),
    ("binlog", "\ud800.000001:4"),
    ("mysql", "b.000001:4 "),
    ("mysql", "b.000001:4 gtids=x"),
    ("file", "AA/1@1:1"),
    ("file", "a/1@1:1"),
    ("file", "/1@1:1"),
    ("file", "aa/1@18446744073709551616:1"),
    ("files", ""),
    ("files", "1"),
    ("files", "1;1"),
    ("files", "1;0=aa/1@1:1"),
    ("files", "1;2=aa/1@1:1"),
    ("files", "2;1=aa/1@1:1,1=aa/1@1:1"),
    ("files", "2;1=aa/1@1:1,"),
    ("kafka", "0:1,"),
    ("kafka", "0:1,0:2"),
    ("kafka", "2147483648:1"),
    ("kafka", "0:9223372036854775808"),
]


@pytest.mark.parametrize(("kind", "text"), BROKEN_TEXTS)
def test_text_that_is_not_of_the_kind_is_refused(kind: str, text: str) -> None:
    with pytest.raises(InvalidPosition):
        parse(kind, text)


def test_the_public_names_are_these() -> None:
    positions = "BinlogPosition ChangeId FilePosition FilesPosition GtidSet KafkaOffsets LogPosition Lsn"
    rest = "MysqlPosition Position Seq SiftedPosition Fingerprint Interval Intervals Json Order Tsid earliest"
    assert sorted(package.__all__) == sorted(f"{positions} {rest} from_json parse to_json".split())
    assert all(hasattr(package, name) for name in package.__all__)
