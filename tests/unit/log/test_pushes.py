"""Many pushes become one append, and each is told what became of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.support.log_events import SOURCE, events

from holdfast.log.pushes import Push, answers, joined, placed
from holdfast.log.values import Appended
from holdfast.model.envelope import event_id
from holdfast.model.errors import InvalidAppend
from holdfast.model.positions import Seq


def test_each_push_has_the_numbers_of_its_own_events() -> None:
    pushes = [Push.of(events(2), None), Push.of(events(1), None), Push.of(events(3), None)]
    assert answers(pushes, np.zeros(6, dtype=bool), 11) == [Appended(11, 12), Appended(13, 13), Appended(14, 16)]


def test_events_left_out_take_no_number() -> None:
    pushes = [Push.of(events(2), ["a", "b"]), Push.of(events(1), ["a"]), Push.of(events(2), ["a", "c"])]
    left_out = np.array([False, False, True, True, False])
    assert answers(pushes, left_out, 1) == [Appended(1, 2), Appended(3, 2, left_out=1), Appended(3, 3, left_out=1)]


def test_pushes_with_and_without_keys_go_together() -> None:
    _, keys = joined([Push.of(events(2), None), Push.of(events(1), ["k"])])
    assert keys == [None, None, "k"]


def test_a_pushed_event_has_the_place_and_the_id_of_its_number() -> None:
    batch = placed(events(2, start=70), 5, SOURCE)
    assert batch["position"].to_pylist() == ["5", "6"]
    assert batch["event_id"].to_pylist() == [event_id(SOURCE, Seq(5), 0), event_id(SOURCE, Seq(6), 0)]


def test_a_transaction_without_an_id_is_named_by_the_number_of_its_last_event() -> None:
    batch = placed(events(5, ends={2, 3, 5}), 11, SOURCE)
    assert batch["tx_id"].to_pylist() == ["12", "12", "13", "15", "15"]


def test_an_id_that_a_transaction_has_is_left_as_it_is() -> None:
    named = events(2, ends={2})
    place = named.schema.get_field_index("tx_id")
    batch = placed(named.set_column(place, named.schema.field("tx_id"), pa.array(["tx", "tx"])), 1, SOURCE)
    assert batch["tx_id"].to_pylist() == ["tx", "tx"]


def test_a_push_that_leaves_its_transaction_open_is_refused() -> None:
    with pytest.raises(InvalidAppend, match="end a transaction"):
        joined([Push.of(events(1), None), Push.of(events(2, ends={1}), None)])


def test_a_push_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidAppend, match="no events"):
        Push.of(events(0), None)
