"""Where everything of one operation lies, and the document that says how it is to be run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from holdfast.model.errors import DocumentUnreadable
from meridian import documents
from meridian.documents import Section
from meridian.orbit.sites import Site
from meridian.sensors.config import load as load_edge
from meridian.sensors.observation import SourceKind

if TYPE_CHECKING:
    from holdfast import SinkSpec

Positive = Annotated[float, Field(gt=0)]


class SiteSection(Section):
    """A table `[sites.NAME]`: where the sensor of that name stands."""

    latitude_deg: Annotated[float, Field(ge=-90, le=90)]
    longitude_deg: Annotated[float, Field(ge=-180, le=360)]
    height_m: float = 0.0


class FusionSection(Section):
    """The table `[fusion]`."""

    threshold_km: Positive = 5.0
    """Pairs that stay further apart than this are not told of."""
    screening_km: Positive = 20.0
    """So near the catalog alone must have two objects for their passage to be watched; they may be elsewhere."""
    horizon_hours: Positive = 6.0
    """For so long ahead passages are judged."""
    radius_m: Positive = 5.0
    """Of each object."""


class TablesSection(Section):
    """The table `[tables]`."""

    keep_days: Positive | None = None
    """For so long words, alerts, conjunctions, contacts and summaries stay; for ever when it is not said."""


class SubscriberSection(Section):
    """The table `[subscriber]`: who is told of every alert at once."""

    url: str
    """Where it takes words on alerts: `http://ops.example/alerts`."""
    timeout_ms: Annotated[int, Field(gt=0)] = 200
    """By then it has to answer; what is late is counted, waited for longer, and sent again if no answer came."""
    token_file: str | None = None
    """A file with the token that it knows us by, beside this document unless its path is absolute."""


class MeridianDocument(Section):
    """The whole document, `meridian.toml`."""

    sites: dict[str, SiteSection]
    """Where each radar and telescope stands, by the name in its observations: `radar-1`, `optical-maui`."""
    fusion: FusionSection = Field(default_factory=FusionSection)
    tables: TablesSection = Field(default_factory=TablesSection)
    subscriber: SubscriberSection | None = None

    def places(self) -> dict[str, Site]:
        """The sites as the models take them."""
        return {
            name: Site(name, site.latitude_deg, site.longitude_deg, site.height_m) for name, site in self.sites.items()
        }


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one operation."""

    directory: Path

    @property
    def document_file(self) -> Path:
        """How it is to be run."""
        return self.directory / "meridian.toml"

    @property
    def edge_file(self) -> Path:
        """How the edge is to be run."""
        return self.directory / "edge.toml"

    @property
    def edge(self) -> Path:
        """The logs of the edge."""
        return self.directory / "edge"

    @property
    def catalog(self) -> Path:
        """The elements of all objects, as OMM in JSON."""
        return self.directory / "catalog.json"

    @property
    def truth(self) -> Path:
        """Where simulated objects really are, in the same form."""
        return self.directory / "truth.json"

    @property
    def pipeline(self) -> Path:
        """What the pipeline keeps."""
        return self.directory / "pipeline"

    @property
    def metrics(self) -> Path:
        """All figures in Prometheus' text form, written anew every second while it runs."""
        return self.directory / "metrics.prom"

    @property
    def recent(self) -> Path:
        """What the ways into fusion remember of the objects seen lately."""
        return self.directory / "recent"

    @property
    def passages(self) -> Path:
        """Passages that were foreseen."""
        return self.directory / "passages"

    def subscribers(self) -> list[SinkSpec]:
        """The lane to the subscriber that the document names, if any."""
        from meridian.fusion.subscriber.lane import alerts_to

        named = self.document().subscriber
        if named is None:
            return []
        token = None if named.token_file is None else _token(self.directory / named.token_file)
        return [alerts_to(named.url, deadline=named.timeout_ms / 1000, token=token)]

    def networks(self) -> list[SourceKind]:
        """The sensor networks that the edge takes from; all of them where no edge is declared."""
        return load_edge(self.edge_file).networks if self.edge_file.exists() else list(SourceKind)

    def document(self) -> MeridianDocument:
        """The document, checked."""
        return documents.load(MeridianDocument, self.document_file)


def _token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(
            f"{path} cannot be read: {error}.", remedy="Write the token there, as text."
        ) from error
