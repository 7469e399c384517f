"""A worker goes on with the state that it left behind, if that is the one that Spark has; else it reads Spark's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH

from meridian.fusion import spark
from meridian.fusion.saved import packed, restored, saved
from meridian.fusion.spark import _Correlating, seen_in
from meridian.sensors import events_of

PAIRS = Pairs()


class Value:
    """A value as Spark keeps it, and how often it was read."""

    def __init__(self) -> None:
        self.value: tuple[object, ...] | None = None
        self.reads = 0

    def get(self) -> tuple[object, ...] | None:
        self.reads += 1
        return self.value

    def update(self, value: tuple[object, ...]) -> None:
        self.value = value


class Store:
    """Spark's state of one key; `copy` is what a batch that is run again finds."""

    def __init__(self, values: dict[str, Value] | None = None) -> None:
        self.values = values or {}

    def getValueState(self, name: str, _: str) -> Value:  # noqa: N802 (Spark's name)
        return self.values.setdefault(name, Value())

    def copy(self) -> Store:
        copied = Store()
        for name, value in self.values.items():
            copied.getValueState(name, "").value = value.value
        return copied

    @property
    def content(self) -> bytes:
        value = self.values["correlator"].value
        assert value is not None
        assert isinstance(value[0], bytes)
        return value[0]


@pytest.fixture(autouse=True)
def worker() -> Iterator[None]:
    """A worker that is new."""
    spark._left.clear()
    yield
    spark._left.clear()


def run(store: Store, second: int, assembly: Pairs = PAIRS) -> None:
    """A batch with what was seen in a second."""
    seen = PAIRS.watched.seen(EPOCH + second * 1_000_000_000 + np.arange(6), np.arange(6))
    parcel = packed(seen_in([events_of(seen, "sensors")], PAIRS().contributions))
    processor = _Correlating(assembly)
    processor.init(store)  # type: ignore[arg-type]
    list(processor.handleInputRows(0, iter([pd.DataFrame({"parcel": [parcel]})]), None))


def in_new_workers(*seconds: int) -> bytes:
    """What the state comes to when each batch is run by a worker that remembers nothing."""
    store = Store()
    for second in seconds:
        spark._left.clear()
        run(store, second)
    return store.content


def test_what_it_left_behind_is_not_read_and_comes_to_the_same() -> None:
    store = Store()
    for second in range(3):
        run(store, second)
    assert store.values["correlator"].reads == 1, "by the first, which left nothing yet"
    assert store.content == in_new_workers(0, 1, 2)


@pytest.mark.req("CKP-08")
def test_a_batch_that_is_run_again_goes_on_from_what_spark_has() -> None:
    store = Store()
    run(store, 0)
    before = store.copy()
    run(store, 1)
    run(before, 1)
    assert before.values["correlator"].reads == 1
    assert before.content == store.content == in_new_workers(0, 1)


def test_with_other_parts_it_is_read_anew() -> None:
    store = Store()
    run(store, 0)
    run(store, 1, Pairs(seed=PAIRS.seed + 1))
    assert store.values["correlator"].reads == 2


def test_a_state_that_was_read_is_the_one_that_was_written() -> None:
    store = Store()
    run(store, 0)
    empty = PAIRS().before_anything
    assert saved(restored(store.content, empty)) == store.content
