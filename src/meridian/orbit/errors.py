"""Every error that the orbit tools raise, as one tree.

HoldfastError
└── OrbitError
    ├── InvalidElements          MD-101
    ├── InvalidMessage           MD-102
    ├── PropagationFailed        MD-103
    ├── InvalidEncounter         MD-104
    └── InvalidScreening         MD-105

Reading never changes anything, so what was kept is always everything. An error about a text carries the line and
the column (from 1, or none when the value was not read from a text) and the field in its context.
"""

from __future__ import annotations

from holdfast.model.errors import HoldfastError


class OrbitError(HoldfastError):
    """An orbit, a message or an encounter does not mean anything, or cannot be computed."""


class InvalidElements(OrbitError):
    """Raised when a TLE or an OMM is not what its format says, or an element is out of its range."""

    code = "MD-101"


class InvalidMessage(OrbitError):
    """Raised when a conjunction data message is not what CCSDS 508.0 says; it names the line and the keyword."""

    code = "MD-102"


class PropagationFailed(OrbitError):
    """Raised when SGP4 has no state for an object at a time, as after its decay."""

    code = "MD-103"


class InvalidEncounter(OrbitError):
    """Raised when a probability is asked for an encounter that has none: no size, no relative speed, no covariance."""

    code = "MD-104"


class InvalidScreening(OrbitError):
    """Raised when a screening cannot be carried out: a horizon, a threshold or a step that is not positive."""

    code = "MD-105"
