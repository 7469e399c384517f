"""The plane of an encounter: what is drawn where, to scale."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse
from tests.support.plots import texts_of
from tests.support.seen import conjunction

from meridian.plots.encounter import Frame, Spread, encounter
from meridian.plots.files import Form, rendered

DEVIATIONS = st.floats(0.01, 1e5)


@given(DEVIATIONS, DEVIATIONS, st.floats(-1.5, 1.5))
def test_the_axes_of_a_spread_are_found_again(one: float, other: float, turned: float) -> None:
    long, short = max(one, other), min(one, other)
    cos, sin = math.cos(turned), math.sin(turned)
    spread = Spread.of(
        (
            (long * cos) ** 2 + (short * sin) ** 2,
            (long * sin) ** 2 + (short * cos) ** 2,
            (long**2 - short**2) * cos * sin,
        )
    )
    assert spread.long_m == pytest.approx(long)
    assert spread.short_m == pytest.approx(short, rel=1e-6, abs=1e-6 * long)
    if long > 1.1 * short:
        assert spread.turned_rad == pytest.approx(turned, abs=1e-6)


def test_the_three_ellipses_and_the_hard_body_are_to_scale() -> None:
    axes = encounter(conjunction()).axes[0]
    ellipses = {round(patch.width / 2, 6) for patch in axes.patches if type(patch) is Ellipse}
    long = Spread.of(conjunction().spread_m2).long_m
    assert ellipses == {round(sigma * long, 6) for sigma in (1, 2, 3)}
    assert {patch.radius for patch in axes.patches if isinstance(patch, Circle)} == {conjunction().radius_m}


def test_a_metre_is_as_long_up_as_it_is_across() -> None:
    figure = encounter(conjunction(miss_m=4_000))
    rendered(figure, Form.PNG)
    axes = figure.axes[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    box = axes.get_window_extent()
    assert box.width / (right - left) == pytest.approx(box.height / (high - low), rel=1e-3)


@pytest.mark.parametrize(("miss_m", "is_magnified"), [(13.0, False), (4_000.0, True)])
def test_a_hard_body_too_small_to_see_is_magnified(miss_m: float, is_magnified: bool) -> None:
    seen = replace(conjunction(), plane_m=(miss_m, 0.0), spread_m2=(30.0**2, 9.0**2, 0.0))
    titles = [inset.get_title() for inset in encounter(seen).axes[0].child_axes]
    assert titles == (["hard body, magnified"] if is_magnified else [])


def test_the_title_tells_who_and_how_probably() -> None:
    texts = texts_of(encounter(replace(conjunction(), probability=3.14e-4)))
    assert any("90001 and 90025 collide" in text and r"3.1\times10^{-4}" in text for text in texts)


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0, 1e6), st.floats(0, 1e12), st.floats(0, 1e12), st.floats(-1, 1), st.floats(0, 1), st.floats(0.1, 1e3)
)
def test_no_conjunction_is_beyond_drawing(
    miss_m: float, along: float, across: float, together: float, probability: float, radius_m: float
) -> None:
    spread = (along, across, together * math.sqrt(along * across))
    seen = replace(
        conjunction(),
        plane_m=(miss_m, 0.0),
        miss_m=miss_m,
        spread_m2=spread,
        probability=probability,
        radius_m=radius_m,
    )
    figure = encounter(seen)
    frame = Frame.of(seen)
    assert frame.left < -radius_m
    assert frame.right > miss_m
    assert isinstance(figure, Figure)
    assert rendered(figure, Form.SVG)


def test_objects_are_called_by_name_and_a_dollar_in_one_begins_no_formula() -> None:
    figure = encounter(replace(conjunction(), name_a="SAT $1$", name_b="COSMOS 1408 DEB"))
    rendered(figure, Form.PNG)
    assert any(text.startswith(r"SAT \$1\$ and COSMOS 1408 DEB collide") for text in texts_of(figure))


def test_a_probability_that_is_not_known_is_said_to_be_unknown() -> None:
    figure = encounter(replace(conjunction(), probability=math.nan))
    assert any(text.endswith("the probability of a collision is unknown") for text in texts_of(figure))
