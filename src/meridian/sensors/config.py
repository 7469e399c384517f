"""The document of the edge: TOML, read strictly. A key that is not known is refused with the one that was meant."""

from __future__ import annotations

import re
from math import radians
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from holdfast.config.problems import Place, Problem, invalid
from meridian import documents
from meridian.documents import Section
from meridian.sensors.area import Area
from meridian.sensors.observation import SourceKind
from meridian.sensors.sources.archive_client import Mode, Polling
from meridian.sensors.validation import Bounds, Catalog, UnknownObjects

_ADDRESS = re.compile(r"\[?(?P<host>[^\[\]]+)\]?:(?P<port>\d{1,5})")


def _address(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    if not found or int(found["port"]) > 65535:
        raise ValueError("write an address and a port, as 127.0.0.1:7001")
    return text


Address = Annotated[str, AfterValidator(_address)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
ObjectNumber = Annotated[int, Field(ge=1, lt=2**32)]


class RadarSection(Section):
    """The table `[radar]`."""

    bind_addrs: Annotated[list[Address], Field(min_length=1)]
    """One for each array, or for several arrays that share a port."""
    capacity: Count = 60_000
    """Observations under way to disk: (5,000 - 4,500 a second) for 60 s, twice."""
    linger_ms: Positive = 10
    """So long datagrams gather before they are taken in together."""
    repeats_within_ms: Annotated[int, Field(ge=0)] = 5000
    """So long an observation that comes again, since the network doubled its datagram, is left out; none is with 0."""


class OpticalSection(Section):
    """The table `[optical]`."""

    endpoint: Annotated[str, Field(pattern=r"^https?://\S+$")]
    poll_interval_ms: Count = 5000
    mode: Literal["poll", "long_poll"] = "poll"
    wait_ms: Count = 500
    overlap_ms: Annotated[int, Field(ge=0)] = 30_000
    """How far before the mark is asked for again, as far as records may come late; what was taken is left out."""

    @property
    def polling(self) -> Polling:
        """The same as the source takes it."""
        return Polling(
            mode=Mode(self.mode),
            interval=self.poll_interval_ms / 1000,
            wait_ms=self.wait_ms,
            overlap_ns=self.overlap_ms * 1_000_000,
        )


class IslSection(Section):
    """The table `[isl]`."""

    listen_addr: Address
    capacity: Count = 1024
    most_connections: Count = 1024


class SinkSection(Section):
    """The table `[sink]`."""

    output_dir: Annotated[str, Field(min_length=1)]
    """Where the logs lie."""
    quota_bytes: Count | None = None
    """So large the log of a source may grow before the source is slowed down; no bound when it is not given."""
    flush_ms: Positive = 20
    """After about so long what was taken in is durable."""
    keep_hours: Positive = 1.0
    """So long observations that all consumers have done are kept, to trace alerts back to them; less when the log is
    half as large as its quota."""
    keep_raw: bool = True
    """Whether the bytes of the wire are kept too, in logs of their own."""
    raw_keep_hours: Positive = 24.0
    """For so long."""
    lag_alarm_s: Positive = 300.0
    """A consumer that has not processed what its log held so many seconds ago is an alarm."""


class ControlSection(Section):
    """The table `[control_plane]`."""

    bind_addr: Address = "127.0.0.1:9100"


class CatalogSection(Section):
    """The table `[catalog]`."""

    known: list[ObjectNumber] | None = None
    """The numbers of all objects; any number may be one when it is not given."""
    decommissioned: list[ObjectNumber] = Field(default_factory=list)
    unknown: Literal["refuse", "accept"] = "refuse"
    max_range_rate_m_s: Positive = 15_000.0

    @property
    def catalog(self) -> Catalog:
        """The same as the rules take it."""
        known = None if self.known is None else frozenset(self.known)
        return Catalog(known, frozenset(self.decommissioned), UnknownObjects(self.unknown))

    @property
    def bounds(self) -> Bounds:
        """Between which numbers a measurement can be true."""
        return Bounds(max_range_rate_m_s=self.max_range_rate_m_s)


class AreaSection(Section):
    """The table `[area]`."""

    max_range_km: Positive = float("inf")
    min_elevation_deg: float = -90.0
    min_declination_deg: float = -90.0
    max_declination_deg: float = 90.0
    max_radius_km: Positive = float("inf")

    @property
    def area(self) -> Area:
        """The same as the screen takes it."""
        return Area(
            max_range_m=self.max_range_km * 1000,
            min_elevation_rad=radians(self.min_elevation_deg),
            min_declination_rad=radians(self.min_declination_deg),
            max_declination_rad=radians(self.max_declination_deg),
            max_radius_m=self.max_radius_km * 1000,
        )


class SightingsSection(Section):
    """The table `[sightings]`."""

    window_ms: Count = 500
    """So long repeats of one object by one sensor count as one sighting."""


class EdgeDocument(Section):
    """The whole document. A source without a table does not run."""

    sink: SinkSection
    radar: RadarSection | None = None
    optical: OpticalSection | None = None
    isl: IslSection | None = None
    control_plane: ControlSection = Field(default_factory=ControlSection)
    catalog: CatalogSection = Field(default_factory=CatalogSection)
    area: AreaSection | None = None
    sightings: SightingsSection | None = None
    """Sightings are counted when it is there."""

    @property
    def networks(self) -> list[SourceKind]:
        """The sensor networks that it takes from."""
        tables = {
            SourceKind.RADAR: self.radar,
            SourceKind.OPTICAL: self.optical,
            SourceKind.INTER_SATELLITE_LINK: self.isl,
        }
        return [kind for kind, table in tables.items() if table is not None]


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address of a document."""
    found = _ADDRESS.fullmatch(address)
    assert found is not None, "the document was validated"
    return found["host"], int(found["port"])


def load(path: Path) -> EdgeDocument:
    """The document in a file; `InvalidDocument` with everything that is wrong with it."""
    return _with_a_source(documents.load(EdgeDocument, path), str(path))


def parse(text: str, file: str = "edge.toml") -> EdgeDocument:
    """The document in a text."""
    return _with_a_source(documents.parse(EdgeDocument, text, file), file)


def _with_a_source(document: EdgeDocument, file: str) -> EdgeDocument:
    if document.radar is None and document.optical is None and document.isl is None:
        problem = Problem(Place(file), "It names no source.", "Add a table [radar], [optical] or [isl].")
        raise invalid(file, [problem])
    return document
