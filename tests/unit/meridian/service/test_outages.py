"""Between which batches fusion was down, by when it was started."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.seen import PROGRESS

from meridian.service.outages import Outage, outages
from meridian.service.values import Progress


def published(*times: int | None, first: int = 5) -> list[Progress]:
    """Batches that were published at these times."""
    return [replace(PROGRESS, batch=first + number, judged_ns=time) for number, time in enumerate(times)]


@pytest.mark.parametrize(
    ("began", "found"),
    [
        ([], []),
        ([5], []),
        ([35], []),
        ([15], [Outage(10, 20)]),
        ([12, 18], [Outage(10, 20)]),
        ([25, 15], [Outage(10, 20), Outage(20, 30)]),
    ],
)
def test_an_outage_lasts_from_the_last_batch_before_a_start_to_the_first_one_after(
    began: list[int], found: list[Outage]
) -> None:
    assert outages(published(10, 20, 30), began) == found


def test_the_first_start_of_all_lasts_until_the_first_batch() -> None:
    assert outages(published(10, 20, first=1), [5]) == [Outage(5, 10, is_first_start=True)]


def test_batches_of_which_nobody_knows_when_they_were_published_begin_and_end_no_outage() -> None:
    assert outages(published(10, None, 20), [15]) == [Outage(10, 20)]
    assert outages(published(None, 20, first=1), [5]) == []
    assert outages([], [5]) == []


@pytest.mark.parametrize(("start", "end", "within"), [(0, 10, 0), (0, 12, 2), (12, 15, 3), (0, 99, 10), (18, 99, 2)])
def test_how_much_of_a_time_lies_in_an_outage(start: int, end: int, within: int) -> None:
    assert Outage(10, 20).within_ns(start, end) == within
