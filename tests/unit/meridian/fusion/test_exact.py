"""Sums that are the same in every order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meridian.fusion.exact import LARGEST, Sums, joined

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False, allow_infinity=False, width=64)


def summed(numbers: np.ndarray) -> Sums:
    return Sums.of(numbers[:, None]).grouped(np.array([0]))


@given(arrays(np.float64, st.integers(1, 60), elements=NUMBERS), st.randoms())
def test_the_order_does_not_show(numbers: np.ndarray, random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = summed(numbers), summed(np.array(shuffled))
    assert one.whole.tobytes() + one.part.tobytes() == other.whole.tobytes() + other.part.tobytes()


@given(arrays(np.float64, st.integers(2, 60), elements=NUMBERS), st.data())
def test_how_they_were_grouped_on_the_way_does_not_show(numbers: np.ndarray, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(numbers) - 1))
    parts = summed(numbers[:cut]) + summed(numbers[cut:])
    whole = summed(numbers)
    assert (parts.whole, parts.part) == (whole.whole, whole.part)


@given(arrays(np.float64, st.integers(1, 60), elements=NUMBERS))
def test_the_sum_is_right_to_the_last_digit_that_is_kept(numbers: np.ndarray) -> None:
    rounded = sum((Fraction(round(Fraction(number) * 2**40), 2**40) for number in numbers.tolist()), Fraction(0))
    found = summed(numbers)
    assert Fraction(int(found.whole[0, 0])) + Fraction(int(found.part[0, 0]), 2**40) == rounded
    assert 0 <= found.part[0, 0] < 2**40


def test_groups_are_summed_for_themselves() -> None:
    sums = Sums.of(np.array([[0.5, 1.0], [0.75, 2.0], [-3.25, 4.0]])).grouped(np.array([0, 2]))
    assert sums.numbers().tolist() == [[1.25, 3.0], [-3.25, 4.0]]


def test_rows_can_be_chosen_and_joined() -> None:
    sums = Sums.of(np.array([[1.5], [-2.5]]))
    assert joined(sums[1:], sums[np.array([True, False])]).numbers().tolist() == [[-2.5], [1.5]]


def test_nothing_sums_to_nothing() -> None:
    assert Sums.of(np.empty((0, 3))).grouped(np.array([], np.int64)).numbers().shape == (0, 3)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 2 * LARGEST])
def test_what_cannot_be_summed_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not a number"):
        Sums.of(np.array([[number]]))
