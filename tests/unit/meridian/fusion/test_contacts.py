"""From when to when objects are seen in one go."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.contacts import Contacts, End, Limits
from meridian.fusion.evidence import Evidence

LIMITS = Limits(gap=3, longest=8)
FAR = 1000
Slices = dict[int, set[int]]
"""For each object the slices in which it is seen, twice in each."""
Told = list[tuple[int, int, int, int, End]]
"""Object, first slice, last slice, observations, and why it ended."""


def evidence(slices: Iterable[int], seen: Slices) -> Evidence:
    rows = [(slice_, object_) for slice_ in slices for object_, of in seen.items() if slice_ in of for _ in range(2)]
    columns = np.array(rows, np.int64).reshape(-1, 2)
    times = columns[:, 0] * 30 + 7
    return Evidence.of(
        columns[:, 0], columns[:, 1], np.zeros((len(rows), 1)), np.ones(len(rows), np.uint64), times, columns[:, 1] + 1
    )


def told(seen: Slices, borders: Iterable[int] = ()) -> Told:
    """All contacts in the end, when slices are settled up to these borders, one after the other."""
    contacts, found, start = Contacts.none(), Told(), 0
    for border in [*sorted(borders), FAR]:
        contacts, ended = contacts.after(evidence(range(start, border), seen), before=border, limits=LIMITS)
        start = border
        for end, over in ended:
            rows = zip(
                over.objects.tolist(), over.first.tolist(), over.last.tolist(), over.counts.tolist(), strict=True
            )
            found += [(*row, end) for row in rows]
            assert over.newest.tolist() == (over.last * 30 + 7).tolist()
            assert over.sources.tolist() == (over.objects + 1).tolist()
    assert len(contacts) == 0
    return sorted(found, key=lambda row: row[:2])


@pytest.mark.req("WIN-04")
def test_a_gap_ends_a_contact_and_a_shorter_one_does_not() -> None:
    assert told({4: {10, 13, 14, 18, 19}}) == [(4, 10, 14, 6, End.GAP), (4, 18, 19, 4, End.GAP)]


@pytest.mark.req("WIN-04")
def test_a_beacon_that_never_falls_silent_keeps_no_contact_open_for_ever() -> None:
    seen = {1: set(range(100)), 2: {3}}
    contacts = Contacts.none()
    for border in range(1, 101):
        settled = evidence([border - 1], seen)
        contacts, _ = contacts.after(settled, before=border, limits=LIMITS)
        assert (border - contacts.first).max() <= LIMITS.longest
    ended = told(seen)
    assert [row[1:3] for row in ended if row[0] == 1] == [(first, min(first + 7, 99)) for first in range(0, 100, 8)]
    assert {row[4] for row in ended if row[0] == 1 and row[2] < 99} == {End.MAXIMUM}


def one_by_one(object_: int, slices: set[int]) -> Told:
    """The same by the rule, for one object."""
    found: list[list[int]] = []
    ends: list[End] = []
    for slice_ in sorted(slices):
        if found and slice_ - found[-1][-1] <= LIMITS.gap and slice_ - found[-1][0] < LIMITS.longest:
            found[-1].append(slice_)
            continue
        if found:
            ends.append(End.GAP if slice_ - found[-1][-1] > LIMITS.gap else End.MAXIMUM)
        found.append([slice_])
    ends += [End.GAP] * (len(found) - len(ends))
    return [(object_, of[0], of[-1], 2 * len(of), end) for of, end in zip(found, ends, strict=True)]


@pytest.mark.req("WIN-04", "LAT-06")
@given(
    st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 60), min_size=1), max_size=4),
    st.lists(st.integers(0, 70), max_size=8),
)
def test_contacts_are_what_the_rule_says_however_slices_are_settled(seen: Slices, borders: list[int]) -> None:
    assert told(seen, borders) == [row for object_, of in sorted(seen.items()) for row in one_by_one(object_, of)]


def test_there_is_no_contact_before_anything_is_settled() -> None:
    contacts, ended = Contacts.none().after(evidence([], {}), before=-FAR, limits=LIMITS)
    assert (len(contacts), ended) == (0, [])
