"""A made-up operation to begin with: a constellation, debris that crosses its way, and sensors around the Earth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

from meridian.hosting.encounters import By, Encounter, arranged
from meridian.operation.catalog import write_elements
from meridian.operation.home import Home
from meridian.orbit import Elements
from meridian.orbit.sites import Site
from meridian.sensors.simulate import RADARS, TELESCOPES

_MORE_RADARS = (
    Site("poker flat", 64.29, -149.19, 210.0),
    Site("tidbinbilla", -35.34, 148.98, 660.0),
    Site("kourou", 5.25, -52.93, 10.0),
    Site("hartebeesthoek", -25.89, 27.69, 1400.0),
    Site("cyprus", 35.34, 33.23, 150.0),
    Site("bangalore", 13.00, 77.60, 900.0),
    Site("nagano", 36.90, 138.50, 1300.0),
    Site("otago", -45.04, 169.68, 370.0),
    Site("tierra del fuego", -53.80, -67.75, 20.0),
    Site("oahu", 21.57, -158.27, 300.0),
    Site("svalbard", 78.23, 15.40, 450.0),
)
SITES: Mapping[str, Site] = {
    **{f"radar-{number}": site for number, site in enumerate((*RADARS.values(), *_MORE_RADARS), start=1)},
    **{f"optical-{name}": site for name, site in TELESCOPES.items()},
}
"""Who looks at the sky, by the names that the edge gives them."""
OURS = 24
"""So many satellites are ours; they send beacons."""
OTHERS = 276
_FIRST = 90_000
ENCOUNTERS = (
    Encounter(
        above=SITES["radar-9"],
        highest_s=460.0,
        closest_s=3000.0,
        by=By.TRUTH,
        miss_m=12.0,
        fast_rev_day=0.0016,
        inclination_deg=74.0,
        our_inclination_deg=97.6,
        mean_motion_rev_day=14.4,
    ),
    Encounter(
        above=SITES["radar-6"],
        highest_s=500.0,
        closest_s=5400.0,
        by=By.CATALOG,
        miss_m=50.0,
        fast_rev_day=0.0024,
        inclination_deg=82.0,
        our_inclination_deg=97.0,
        mean_motion_rev_day=14.1,
    ),
)
"""Of the first satellites of ours with the first pieces of debris."""


def prepare(home: Home, *, now_ns: int, others: int = OTHERS, seed: int = 1, first_port: int = 7701) -> None:
    """Make the home of the demonstration, unless there is one: what runs once goes on with the same catalog.

    :param others: how many objects are not ours.
    :param first_port: of four, on which the edge and the simulated archive listen.
    """
    home.directory.mkdir(parents=True, exist_ok=True)
    if not home.catalog.exists():
        catalog = list(_objects(Random(seed), now_ns, others))
        truth = list(_elsewhere(catalog, Random(seed + 1)))
        for number, encounter in enumerate(ENCOUNTERS):
            for place, each in zip((number, OURS + number), arranged(encounter, *_pair(catalog, number)), strict=True):
                catalog[place], truth[place] = each.catalog, each.truth
        write_elements(home.truth, truth)
        write_elements(home.catalog, catalog)
    if not home.document_file.exists():
        home.document_file.write_text(_document())
    if not home.edge_file.exists():
        home.edge_file.write_text(_edge(home, first_port))


def _pair(catalog: list[Elements], number: int) -> tuple[Elements, Elements]:
    """A satellite of ours, and the debris that crosses its way."""
    return catalog[number], catalog[OURS + number]


def _objects(random: Random, epoch_ns: int, others: int) -> Iterator[Elements]:
    """Ours first, each of which meets a piece of debris at every other node, and then everything else."""
    ours = [_made_up(_FIRST + number, random, epoch_ns) for number in range(OURS)]
    yield from ours
    for number, satellite in enumerate(ours):
        yield replace(
            satellite,
            norad=_FIRST + OURS + number,
            name=f"DEBRIS {number + 1}",
            inclination_deg=20 + (satellite.inclination_deg + 40) % 90,
            mean_anomaly_deg=(satellite.mean_anomaly_deg + random.uniform(-0.02, 0.02)) % 360,
        )
    for number in range(others - OURS):
        yield replace(_made_up(_FIRST + 2 * OURS + number, random, epoch_ns), name=f"OBJECT {number + 1}")


def _made_up(norad: int, random: Random, epoch_ns: int) -> Elements:
    return Elements(
        norad=norad,
        designator=None,
        name=f"MERIDIAN {norad - _FIRST + 1}",
        epoch_ns=epoch_ns,
        mean_motion_rev_day=random.uniform(13.8, 15.2),
        eccentricity=1e-4,
        inclination_deg=random.uniform(45, 98),
        raan_deg=random.uniform(0, 360),
        argument_of_perigee_deg=0.0,
        mean_anomaly_deg=random.uniform(0, 360),
        bstar=1e-5,
    )


def _elsewhere(catalog: list[Elements], random: Random) -> Iterator[Elements]:
    """Where the objects really are: some hundred metres from where the catalog has them."""
    for each in catalog:
        yield replace(
            each,
            mean_anomaly_deg=(each.mean_anomaly_deg + random.gauss(0, 0.003)) % 360,
            raan_deg=(each.raan_deg + random.gauss(0, 0.0005)) % 360,
        )


def _document() -> str:
    sites = "".join(
        f"\n[sites.{name}]\nlatitude_deg = {site.latitude_deg}\nlongitude_deg = {site.longitude_deg}\n"
        f"height_m = {site.height_m}\n"
        for name, site in SITES.items()
    )
    return f"[fusion]\nthreshold_km = 5.0\nscreening_km = 20.0\nhorizon_hours = 3.0\n{sites}"


def _edge(home: Home, first_port: int) -> str:
    return f"""[sink]
output_dir = "{home.edge.resolve()}"

[radar]
bind_addrs = ["127.0.0.1:{first_port}"]

[optical]
endpoint = "http://127.0.0.1:{first_port + 1}/observations"
poll_interval_ms = 2000

[isl]
listen_addr = "127.0.0.1:{first_port + 2}"

[control_plane]
bind_addr = "127.0.0.1:{first_port + 3}"
"""
