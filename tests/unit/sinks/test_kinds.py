"""Arrow's types sorted into kinds, and groups of rows that do not depend on how a table is cut."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sinks.columns.kinds import Kind, groups, kind_of, plain

SAME: list[tuple[Kind, list[pa.Array]]] = [
    (Kind.TEXT, [pa.array(["a", None], t) for t in (pa.string(), pa.large_string(), pa.string_view())]),
    (Kind.TEXT, [pa.array(["a", None]).dictionary_encode(), pa.RunEndEncodedArray.from_arrays([1, 2], ["a", None])]),
    (
        Kind.BINARY,
        [pa.array([b"ab", None], t) for t in (pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view())],
    ),
    (Kind.LIST, [pa.array([[1, 2], None], t(pa.int8())) for t in (pa.list_, pa.large_list, pa.list_view)]),
    (Kind.LIST, [pa.array([[1, 2], None], pa.list_(pa.int8(), 2))]),
    (Kind.SINGLE, [pa.array([0.5, None], t) for t in (pa.float16(), pa.float32())]),
    (Kind.INSTANT, [pa.array([0, None], pa.timestamp("s", tz)) for tz in ("UTC", "Europe/Berlin", "+02:00")]),
    (Kind.BINARY, [pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16)))]),
]


@pytest.mark.parametrize(("kind", "arrays"), SAME, ids=lambda value: str(value) if isinstance(value, Kind) else "")
def test_the_layouts_of_one_kind_become_one(kind: Kind, arrays: list[pa.Array]) -> None:
    assert {kind_of(array.type, "c") for array in arrays} == {kind}
    assert len({plain(array).type for array in arrays}) == 1
    assert len({str(plain(array)) for array in arrays}) == 1


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 7))
def test_groups_are_the_same_however_the_table_is_cut(sizes: list[int], size: int) -> None:
    numbers = iter(range(sum(sizes)))
    chunks = [pa.array([next(numbers) for _ in range(count)], pa.int64()) for count in sizes]
    cut = pa.table({"n": pa.chunked_array(chunks, pa.int64())})
    whole = pa.table({"n": pa.array(range(sum(sizes)), pa.int64())})
    assert list(groups(cut, size)) == list(groups(whole, size))
    assert [n for group in groups(cut, size) for n in group.column("n").to_pylist()] == list(range(sum(sizes)))
