"""The parts of fusion, made from the home of an operation wherever they are needed: in the driver and in workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.model.errors import InvalidPipeline
from meridian.fusion.contributions import Contributions
from meridian.fusion.correlator import Correlator
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.foreseen import HOUR, Hourly
from meridian.fusion.judging import Astronomer
from meridian.fusion.measurements import Noise, Sites
from meridian.fusion.references import References
from meridian.fusion.resolution import Resolution
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.sky import CatalogSky
from meridian.fusion.spark import LATENESS, Fused
from meridian.fusion.state import Fusion
from meridian.fusion.watermarks import Watermarks
from meridian.fusion.windows import Windows
from meridian.operation.catalog import digest_of, read_elements
from meridian.operation.home import Home
from meridian.orbit import Elements, Propagator


@dataclass(frozen=True)
class FromHome:
    """An assembly: which home, and with which catalog in it.

    :param catalog: the digest of the catalog.
    """

    directory: str
    catalog: str

    @classmethod
    def of(cls, home: Home) -> FromHome:
        """With the catalog that is there now."""
        return cls(str(home.directory.resolve()), digest_of(home.catalog))

    def __call__(self) -> Fused:
        """The parts."""
        home = Home(Path(self.directory))
        if digest_of(home.catalog) != self.catalog:
            raise InvalidPipeline(
                f"{home.catalog} was changed while fusion runs.",
                remedy="Stop fusion, and start it again: it takes the new catalog then.",
            )
        document, windows = home.document(), Windows()
        elements = read_elements(home.catalog)
        names = [each.object_id for each in elements]
        references = References(Propagator(elements), windows)
        sky = CatalogSky(
            references,
            self.foresight(references, elements),
            names,
            windows,
            round(document.fusion.horizon_hours * HOUR),
        )
        correlator: Correlator[ConjunctionRisk] = Correlator(
            windows,
            Watermarks({kind.prefix: LATENESS[kind.prefix] for kind in home.networks()}),
            Evidence.nothing(COLUMNS),
            Astronomer(sky, document.fusion.threshold_km * 1000),
        )
        contributions = Contributions(
            references, names, Sites(document.places()), windows, Noise(), Resolution(references)
        )
        return Fused(contributions, Fusion(correlator, catalog=self.catalog))

    def foresight(self, references: References, elements: list[Elements]) -> Hourly:
        """The passages of its catalog, found when they are needed and kept."""
        home = Home(Path(self.directory))
        settings = home.document().fusion
        kept = home.passages / f"{self.catalog}-{settings.screening_km:g}km"
        radii = np.full(len(elements), settings.radius_m)
        return Hourly(references, elements, radii, settings.screening_km * 1000, kept)
