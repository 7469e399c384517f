"""Every error that fusion raises, as one tree.

HoldfastError
└── DeliveryError
    └── Poison
        └── NotCatalogued        MD-201

It is poison because it is about one observation: that one becomes a dead letter, and the others go on.
"""

from __future__ import annotations

from holdfast.model.errors import Poison


class NotCatalogued(Poison):
    """Raised for an observation of an object without an orbit in the catalog, or by a sensor without a place."""

    code = "MD-201"
