"""A conjunction data message that is whole, made of its parts, for tests to spoil."""

from __future__ import annotations

from meridian.orbit.cdm.keywords import COVARIANCE

HEADER = """\
CCSDS_CDM_VERS = 1.0
CREATION_DATE = 2026-08-20T12:00:00.000
ORIGINATOR = MERIDIAN
MESSAGE_ID = made-up-1
TCA = 2026-08-21T03:04:05.678
COMMENT HBR = 12.5 [m]
MISS_DISTANCE = 150.0 [m]
RELATIVE_SPEED = 10000.0 [m/s]
COLLISION_PROBABILITY = 1.5E-04
"""
OBJECT = """\
OBJECT = OBJECT1
OBJECT_DESIGNATOR = 12345
CATALOG_NAME = SATCAT
OBJECT_NAME = ONE
INTERNATIONAL_DESIGNATOR = 1998-067A
EPHEMERIS_NAME = NONE
COVARIANCE_METHOD = CALCULATED
MANEUVERABLE = N/A
REF_FRAME = EME2000
OBS_USED = 31
WEIGHTED_RMS = NaN
X = 7000.0 [km]
Y = 10.0 [km]
Z = -20.0 [km]
X_DOT = 0.1 [km/s]
Y_DOT = 7.5 [km/s]
Z_DOT = 0.2 [km/s]
"""
TRIANGLE = "".join(
    f"{keyword.name} = {100.0 * (at + 1) if keyword is row[-1] else 1.0} [{keyword.unit}]\n"
    for at, row in enumerate(COVARIANCE[:6])
    for keyword in row
)
SECOND = OBJECT.replace("OBJECT1", "OBJECT2").replace("ONE", "TWO").replace("Y_DOT = 7.5", "Y_DOT = -7.4")
MESSAGE = HEADER + OBJECT + TRIANGLE + SECOND + TRIANGLE


def as_xml(kvn: str) -> str:
    """The same message as XML, one element a line."""
    lines = []
    for line in kvn.splitlines()[1:]:
        keyword, _, rest = line.partition(" " if line.startswith("COMMENT") else " = ")
        value, _, unit = rest.partition(" [")
        if keyword == "COMMENT":
            lines.append(f"<COMMENT>{rest}</COMMENT>")
        else:
            attribute = f' units="{unit[:-1]}"' if unit else ""
            lines.append(f"<{keyword}{attribute}>{value}</{keyword}>")
    return '<cdm id="CCSDS_CDM_VERS" version="1.0"><body>\n' + "\n".join(lines) + "\n</body></cdm>\n"
