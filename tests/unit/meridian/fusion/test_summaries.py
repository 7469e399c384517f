"""What is told of slices of time when their windows close, and when something comes late."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from meridian.fusion.evidence import Evidence
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, CONTACTS, OBJECTS, OUTPUTS, PROGRESS, SUMMARIES, Late
from meridian.fusion.summaries import Summaries, Summary


def kept(*seen: tuple[int, int, int]) -> Evidence:
    """Slice, object and how often."""
    rows = [(slice_, object_) for slice_, object_, often in seen for _ in range(often)]
    slices, objects = np.array(rows, np.int64).reshape(-1, 2).T
    return Evidence.of(slices, objects, np.zeros((len(rows), 1)), np.zeros(len(rows), np.uint64), slices)


def through(*steps: tuple[Evidence, int, int]) -> list[Sequence[Summary]]:
    summaries, told = Summaries(), []
    for evidence, were_open, are_open in steps:
        summaries, news = summaries.after(evidence, were_open=were_open, are_open=are_open)
        told.append(news)
    return told


def test_a_slice_is_summed_up_once_when_its_window_closes() -> None:
    seen = kept((4, 1, 3), (4, 2, 2), (5, 1, 7))
    assert through((seen, 4, 4), (seen, 4, 5), (seen, 5, 5)) == [[], [Summary(4, 5, 5, 2)], []]


@pytest.mark.req("LAT-01")
def test_what_is_late_accumulates_in_one_figure_and_is_dropped_from_the_other() -> None:
    before, after = kept((4, 1, 3)), kept((4, 1, 3), (4, 2, 1))
    told = through((before, 4, 5), (after, 5, 5))
    assert told == [[Summary(4, on_time=3, observations=3, objects=1)], [Summary(4, 3, 4, 2, version=1)]]


def test_a_slice_of_which_all_is_late_had_nothing_on_time() -> None:
    assert through((kept((9, 1, 1)), 5, 6), (kept((4, 1, 2), (9, 1, 1)), 6, 6)) == [[], [Summary(4, 0, 2, 1)]]


def test_summaries_of_what_is_not_kept_any_more_are_forgotten() -> None:
    summaries, _ = Summaries().after(kept((4, 1, 1)), were_open=4, are_open=5)
    later, news = summaries.after(kept((6, 1, 1)), were_open=5, are_open=6)
    assert (dict(later.known), news) == ({}, [])


@pytest.mark.req("LAT-01")
def test_every_output_says_what_it_does_about_late_observations() -> None:
    assert {output.route: output.late for output in OUTPUTS} == {
        ALERTS.route: Late.RETRACT,
        CONJUNCTIONS.route: Late.RETRACT,
        OBJECTS.route: Late.ACCUMULATE,
        SUMMARIES.route: Late.ACCUMULATE,
        CONTACTS.route: Late.ACCUMULATE,
        PROGRESS.route: Late.DROP,
    }
