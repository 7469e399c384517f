"""A catalog of objects that are not there, on orbits such as real ones are on."""

from __future__ import annotations

from random import Random

from meridian.orbit.elements import Elements

EPOCH = 1_786_000_000_000_000_000
"""In August 2026; a multiple of a second."""


def made_up_objects(count: int, seed: int = 1) -> list[Elements]:
    """Low orbits, some a little oval, numbered from 90,000 on."""
    random = Random(seed)
    return [made_up(90_000 + number, random) for number in range(count)]


def made_up(norad: int, random: Random, *, epoch_ns: int = EPOCH) -> Elements:
    """One object."""
    return Elements(
        norad=norad,
        designator=None,
        name=f"MADE UP {norad}",
        epoch_ns=epoch_ns,
        inclination_deg=random.uniform(20, 110),
        raan_deg=random.uniform(0, 360),
        eccentricity=random.uniform(0.0001, 0.02),
        argument_of_perigee_deg=random.uniform(0, 360),
        mean_anomaly_deg=random.uniform(0, 360),
        mean_motion_rev_day=random.uniform(13.5, 15.3),
        bstar=random.uniform(0, 1e-4),
    )
