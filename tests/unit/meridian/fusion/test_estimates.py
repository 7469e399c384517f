"""How observations change what is known of objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from meridian.fusion.estimates import COLUMNS, Estimates, drift, information
from meridian.fusion.exact import Floats

RANDOM = np.random.default_rng(11)
PRIOR = np.diag([1e6, 4e6, 1e6, 1.0, 4.0, 1.0])


def prior(count: int) -> Estimates:
    return Estimates(np.zeros((count, 6)), np.broadcast_to(PRIOR, (count, 6, 6)).copy())


def observed(count: int, truth: Floats, numbers: int = 3) -> tuple[Floats, Floats, Floats]:
    """Observations of these deviations: design, residual, weight."""
    design = RANDOM.normal(size=(count, numbers, 6)) * np.array([1, 1, 1, 30, 30, 30])
    sigma = RANDOM.uniform(5, 50, size=(count, numbers))
    noise = RANDOM.normal(size=(count, numbers)) * sigma
    return design, (design @ truth[:, :, None])[:, :, 0] + noise, sigma**-2.0


def kalman(
    deviation: Floats, covariance: Floats, design: Floats, residual: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """One observation in the form of the textbook: gain, then state, then covariance."""
    innovation = design @ covariance @ design.T + np.diag(1 / weight)
    gain = covariance @ design.T @ np.linalg.inv(innovation)
    return deviation + gain @ (residual - design @ deviation), (np.eye(6) - gain @ design) @ covariance


def test_what_observations_say_together_is_what_a_kalman_filter_makes_of_one_after_the_other() -> None:
    truth = np.broadcast_to(RANDOM.multivariate_normal(np.zeros(6), PRIOR), (5, 6))
    design, residual, weight = observed(5, truth)
    together = prior(1).told(information(design, residual, weight).sum(axis=0, keepdims=True))
    deviation, covariance = np.zeros(6), PRIOR
    for number in range(5):
        deviation, covariance = kalman(deviation, covariance, design[number], residual[number], weight[number])
    size = np.sqrt(np.diagonal(covariance))
    assert np.allclose(together.deviation[0] / size, deviation / size, atol=1e-6)
    assert np.allclose(together.covariance[0] / np.outer(size, size), covariance / np.outer(size, size), atol=1e-6)


def test_each_object_is_estimated_for_itself_to_the_last_bit() -> None:
    design, residual, weight = observed(40, RANDOM.multivariate_normal(np.zeros(6), PRIOR, size=40))
    said = information(design, residual, weight)
    many = prior(40).told(said)
    for number in range(40):
        alone = prior(1).told(said[number : number + 1])
        assert alone.deviation[0].tobytes() == many.deviation[number].tobytes()
        assert alone.covariance[0].tobytes() == many.covariance[number].tobytes()


def test_nothing_said_changes_nothing() -> None:
    before = prior(3)
    after = before.told(np.zeros((3, COLUMNS)))
    assert np.allclose(after.covariance, before.covariance, rtol=1e-12)
    assert not after.deviation.any()


def test_a_number_that_was_not_observed_has_no_weight() -> None:
    design, residual, weight = observed(1, np.zeros((1, 6)))
    weight[0, 2] = 0.0
    less = information(design[:, :2], residual[:, :2], weight[:, :2])
    assert np.array_equal(information(design, residual, weight), less)


@pytest.mark.parametrize("steps", [1, 6])
def test_errors_are_as_large_as_the_covariance_says(steps: int) -> None:
    count, seconds = 4000, np.full(4000, 30.0)
    transition = np.broadcast_to(np.eye(6) + 30.0 * np.eye(6, k=3), (count, 6, 6))
    noise = drift(seconds, 1e-4)
    truth, known = RANDOM.multivariate_normal(np.zeros(6), PRIOR, size=count), prior(count)
    for _ in range(steps):
        shaken = RANDOM.multivariate_normal(np.zeros(6), noise[0], size=count)
        truth = (transition @ truth[:, :, None])[:, :, 0] + shaken
        known = known.moved(transition, noise).told(information(*observed(count, truth, numbers=2)))
    error = (known.deviation - truth)[:, :, None]
    squared = (error.swapaxes(1, 2) @ np.linalg.inv(known.covariance) @ error)[:, 0, 0]
    assert stats.kstest(squared, stats.chi2(6).cdf).pvalue > 1e-3


def test_drift_is_a_covariance_in_both_directions_of_time() -> None:
    for seconds in (-60.0, 0.0, 1.0, 300.0):
        noise = drift(np.array([seconds]), 1e-4)[0]
        assert np.array_equal(noise, noise.T)
        assert np.linalg.eigvalsh(noise).min() >= -1e-12
