"""What changes over time: miss distances, watermarks and lags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from tests.support import seen
from tests.support.plots import texts_of

from holdfast.model.errors import InvalidRequest
from meridian.orbit.time import NS_PER_DAY
from meridian.plots.files import Form, rendered
from meridian.plots.miss import miss, sigma_m
from meridian.plots.watermarks import watermarks


def _line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (line,) = (each for each in axes.lines if each.get_label() == label)
    return [float(x) for x in np.asarray(line.get_xdata())], [float(y) for y in np.asarray(line.get_ydata())]


def _levels(axes: Axes) -> set[float]:
    lines = (np.asarray(each.get_ydata()) for each in axes.lines if not np.ptp(np.asarray(each.get_ydata(), float)))
    return {float(each[0]) for each in lines if len(each) == 2}


def test_words_that_stand_and_words_that_were_taken_back_are_told_apart() -> None:
    said = seen.misses()
    axes = miss(seen.conjunction(), said, 5_000.0).axes[0]
    for label, is_standing in (("stands", True), ("was taken back", False)):
        times, distances = _line(axes, label)
        chosen = [each for each in said if each.is_standing is is_standing]
        assert times == [each.said_ns / NS_PER_DAY for each in chosen]
        assert distances == [each.miss_m for each in chosen]


def test_the_threshold_and_the_hard_body_are_in_the_picture() -> None:
    axes = miss(seen.conjunction(), seen.misses(), 5_000.0).axes[0]
    low, high = axes.get_ylim()
    assert {5_000.0, 10.0} <= _levels(axes)
    assert low < 10.0 < 5_000.0 < high


def test_the_spread_is_drawn_around_the_newest_distance() -> None:
    conjunction = replace(seen.conjunction(), spread_m2=(40.0**2, 90.0**2, 0.0))
    axes = miss(conjunction, seen.misses(), 5_000.0).axes[0]
    bars = [np.asarray(each.get_ydata(), float).tolist() for each in axes.lines if each.get_linewidth() in (1.4, 4.0)]
    assert bars == [[312 - 80, 312 + 80], [312 - 40, 312 + 40]]


@pytest.mark.parametrize(
    ("plane_m", "sigma"), [((5.0, 0.0), 3.0), ((0.0, -5.0), 4.0), ((0.0, 0.0), 3.0), ((5.0, 5.0), 12.5**0.5)]
)
def test_the_spread_is_along_the_miss(plane_m: tuple[float, float], sigma: float) -> None:
    assert sigma_m(replace(seen.conjunction(), plane_m=plane_m, spread_m2=(9.0, 16.0, 0.0))) == pytest.approx(sigma)


def test_one_word_without_any_distance_or_probability_is_drawn() -> None:
    said = [replace(seen.misses()[0], miss_m=0.0, probability=0.0)]
    conjunction = replace(seen.conjunction(), miss_m=0.0, plane_m=(0.0, 0.0), spread_m2=(0.0, 0.0, 0.0))
    assert rendered(miss(conjunction, said, 5_000.0), Form.SVG)


def test_no_word_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InvalidRequest, match="meridian alerts"):
        miss(seen.conjunction(), [], 5_000.0)


def test_each_source_and_all_together_are_as_far_behind_as_they_were() -> None:
    history = [replace(each, judged_ns=each.at_ns + seen.SECOND) for each in seen.history(20)]
    axes = watermarks(history).axes[0]
    for number, source in enumerate(("radar", "optical", "isl")):
        _, behind = _line(axes, source)
        expected = [
            (each.at_ns + seen.SECOND - at) / 1e9 if (at := each.sources[number].watermark_ns) else np.nan
            for each in history
        ]
        np.testing.assert_allclose(behind, expected)
    _, together = _line(axes, "all together")
    np.testing.assert_allclose(together, _line(axes, "optical")[1])


def test_the_lag_of_the_source_is_not_the_lag_of_the_pipeline() -> None:
    _, of_source, of_pipeline = watermarks(seen.history(9)).axes
    assert (of_source.get_ylabel(), of_pipeline.get_ylabel()) == ("source lag (s)", "pipeline lag (s)")
    newest = [float(np.asarray(axes.lines[1].get_ydata())[-1]) for axes in (of_source, of_pipeline)]
    optical = seen.history(9)[-1].sources[1]
    assert newest == [optical.source_lag_s, optical.pipeline_lag_s]


def test_the_title_tells_how_far_behind_it_is() -> None:
    assert "There is no watermark yet" in texts_of(watermarks(seen.history(2)[:1]))
    newest = replace(seen.PROGRESS, at_ns=seen.NOW)
    assert "The watermark is 36 s behind" in texts_of(watermarks([newest]))


def test_sources_that_nobody_knew_of_are_drawn() -> None:
    strange = replace(seen.PROGRESS, sources=[replace(seen.SOURCES[0], source="sonar", source_lag_s=0.0)])
    assert rendered(watermarks([strange, seen.PROGRESS]), Form.SVG)


def test_no_progress_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InvalidRequest, match="meridian top"):
        watermarks([])
