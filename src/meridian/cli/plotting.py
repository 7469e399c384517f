"""Commands that draw what fusion knows, each into a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from meridian.cli.options import directory_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from holdfast.cli.output import Output
    from meridian.orbit import Elements
    from meridian.service.service import Service
    from meridian.service.values import ConjunctionSeen

_FORMS = (".png", ".svg")
_MOST_TRACKS = 6
"""Drawn when nobody says which; more lines than that nobody can tell apart."""


def _of_a_form(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    if value.suffix.lower() not in _FORMS:
        raise click.BadParameter(f"{value} ends neither in .png nor in .svg.", ctx, param)
    return value


to_option = click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    callback=_of_a_form,
    help="The file, which ends in .png or .svg. It is written whole, or not at all.",
)


@click.group()
def plot() -> None:
    """Draw ground tracks, distances, encounters and watermarks."""


@command(
    "ground-tracks",
    examples=(
        "meridian plot ground-tracks --to tracks.png",
        "meridian plot ground-tracks --objects 90001,90025 --to t.svg",
    ),
)
@click.option("--objects", help="Which, with commas; those of the conjunctions that stand when none are named.")
@to_option
@directory_option
def ground_tracks(out: Output, objects: str | None, to: Path, directory: Path) -> None:
    """Draw over which places objects pass during their next revolution, and where the sensors stand."""
    from meridian.operation.catalog import read_elements
    from meridian.operation.home import Home
    from meridian.service.service import Service

    home, now = Home(directory), time.time_ns()
    catalog = {each.object_id: each for each in read_elements(home.catalog)}
    chosen = _chosen(catalog, objects) if objects is not None else usual(catalog, Service(directory).conjunctions())
    _require_matplotlib()
    from meridian.plots.tracks import ground_tracks as figure
    from meridian.plots.tracks import tracks_of

    _written(out, figure(tracks_of(chosen, now), list(home.document().places().values()), now), to)


@command("miss", examples=("meridian plot miss 5f0c… --to miss.png", "meridian plot miss 5f0c… --to miss.svg"))
@click.argument("conjunction")
@to_option
@directory_option
def miss(out: Output, conjunction: str, to: Path, directory: Path) -> None:
    """Draw how near the objects of a conjunction were said to pass, over time, and how probably they touch."""
    from meridian.operation.home import Home
    from meridian.service.service import Service

    service = Service(directory)
    found = _conjunction(service, conjunction)
    threshold_m = Home(directory).document().fusion.threshold_km * 1000
    _require_matplotlib()
    from meridian.plots.miss import miss as figure

    _written(out, figure(found, service.misses(conjunction), threshold_m), to)


@command(
    "encounter", examples=("meridian plot encounter 5f0c… --to plane.png", "meridian plot encounter 5f0c… --to e.svg")
)
@click.argument("conjunction")
@to_option
@directory_option
def encounter(out: Output, conjunction: str, to: Path, directory: Path) -> None:
    """Draw where one object passes the other in the plane across their relative velocity, and how well it is known."""
    from meridian.service.service import Service

    found = _conjunction(Service(directory), conjunction)
    _require_matplotlib()
    from meridian.plots.encounter import encounter as figure

    _written(out, figure(found), to)


@command("watermarks", examples=("meridian plot watermarks --to lag.png", "meridian plot watermarks --to lag.svg"))
@to_option
@directory_option
def watermarks(out: Output, to: Path, directory: Path) -> None:
    """Draw how far behind each source was over the last batches, and which part of the way took the time."""
    from meridian.service.service import Service

    history = Service(directory).history()
    _require_matplotlib()
    from meridian.plots.watermarks import watermarks as figure

    _written(out, figure(history), to)


def _chosen(catalog: dict[str, Elements], objects: str) -> list[Elements]:
    from holdfast.model.errors import InvalidRequest

    names = [name for each in objects.split(",") if (name := each.strip())]
    unknown = [name for name in names if name not in catalog]
    if unknown or not names:
        raise InvalidRequest(
            f"The catalog has no object {', '.join(unknown) or repr(objects)}.",
            remedy="Name objects that `meridian catalog list` shows.",
        )
    return [catalog[name] for name in names]


def usual(catalog: dict[str, Elements], standing: Sequence[ConjunctionSeen]) -> list[Elements]:
    """The objects of the conjunctions that stand, the soonest first; any, when none does."""
    meeting = dict.fromkeys(name for each in standing for name in (each.object_a, each.object_b))
    names = [name for name in meeting if name in catalog] or list(catalog)
    return [catalog[name] for name in names[:_MOST_TRACKS]]


def _conjunction(service: Service, conjunction_id: str) -> ConjunctionSeen:
    from holdfast.model.errors import InvalidRequest

    found = service.conjunction(conjunction_id)
    if found is None:
        raise InvalidRequest(
            f"There is no conjunction {conjunction_id}.",
            remedy="Name one that `meridian alerts` lists, or `meridian alerts --over`.",
        )
    return found


def _require_matplotlib() -> None:
    from holdfast.model.errors import MissingExtra

    try:
        import matplotlib as mpl  # noqa: F401 (whether it is there)
    except ImportError as error:
        raise MissingExtra(
            "Pictures need matplotlib, which is not installed.",
            remedy="Install it: pip install holdfast[meridian]",
            extra="meridian",
        ) from error


def _written(out: Output, figure: Figure, to: Path) -> None:
    from meridian.plots.files import save

    count = save(figure, to)
    out.result({"file": str(to), "bytes": count}, f"{to} is written, {count / 1000:,.0f} kB.")


for _each in (ground_tracks, miss, encounter, watermarks):
    plot.add_command(_each)
