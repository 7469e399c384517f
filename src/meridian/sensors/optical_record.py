"""The records of the optical archive: a JSON array of objects, each one measurement of one telescope. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import pi
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from meridian.sensors.columns import Form, ObservationColumns, new_records
from meridian.sensors.identity import observation_ids
from meridian.sensors.observation import ClockKind, SourceKind
from meridian.sensors.screening import Candidates, ErrorKind, Refusal

RADIANS_PER_ARCSECOND = pi / (180 * 3600)
_NOT_A_SCHEMA = frozenset({"finite_number", "greater_than_equal", "less_than", "string_pattern_mismatch"})
"""Complaints about what a field says; all others are about which fields there are and of which type."""
_MOST_DIGITS = 4_000
"""Of an integer: Python refuses to convert longer ones, and one would make the whole answer unreadable."""


class OpticalRecord(BaseModel):
    """One measurement as the archive gives it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    obs_id: Annotated[str, Field(pattern=r"^\S{1,128}$")]
    """Unique at its site."""
    timestamp_ns: Annotated[int, Field(ge=1, lt=2**63)]
    ra_rad: float
    dec_rad: float
    sigma_arcsec: float
    site_id: Annotated[str, Field(pattern=r"^\S{1,64}$")]
    sync_age_s: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seconds since the site's clock was last set by NTP, where it says so."""

    @property
    def identity(self) -> bytes:
        """What identifies the record, whatever it says."""
        return f"{self.site_id}\n{self.obs_id}".encode()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An answer that is no array of records: asking again gives the same."""

    refusal: Refusal


def decode(body: bytes, ingest_ts_ns: int) -> Candidates | Unreadable:
    """The observations of one answer of the archive, in its order."""
    try:
        given = json.loads(body, object_pairs_hook=_object_of, parse_int=_integer_of)
    except (ValueError, RecursionError) as error:
        reason = f"the answer is no JSON: {type(error).__name__}"
        return Unreadable(Refusal(ErrorKind.DESERIALIZATION, reason, body))
    if not isinstance(given, list):
        reason = f"the answer is no array but {type(given).__name__}"
        return Unreadable(Refusal(ErrorKind.SCHEMA_MISMATCH, reason, body))
    records, raw, refused = [], [], []
    for each in given:
        text = json.dumps(each, separators=(",", ":"), default=_content_of).encode()
        if isinstance(each, _Unusable):
            refused.append(Refusal(ErrorKind.SCHEMA_MISMATCH, f"the record: {each.why}", text))
            continue
        try:
            records.append(OpticalRecord.model_validate(each))
            raw.append(text)
        except ValidationError as error:
            refused.append(_refusal(error, text))
    return Candidates(_columns(records, ingest_ts_ns), raw, refused=tuple(refused))


@dataclass(frozen=True, slots=True)
class _Unusable:
    """A value that JSON allows and no field takes: its record alone is refused, and its content is kept."""

    why: str
    content: object


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object] | _Unusable:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Unusable("a key comes twice", pairs)


def _integer_of(digits: str) -> int | _Unusable:
    return int(digits) if len(digits) <= _MOST_DIGITS else _Unusable("the number is too long", digits)


def _content_of(value: _Unusable) -> object:
    return value.content


def no_records() -> ObservationColumns:
    """The columns of an answer without any record."""
    return _columns([], 0)


def _columns(given: list[OpticalRecord], ingest_ts_ns: int) -> ObservationColumns:
    records = new_records(len(given), SourceKind.OPTICAL, Form.ANGULAR, ClockKind.NTP_SYNCED)
    records["observation_id"] = observation_ids(SourceKind.OPTICAL, (each.identity for each in given))
    records["sensor_ts_ns"] = [each.timestamp_ns for each in given]
    records["ingest_ts_ns"] = ingest_ts_ns
    records["values"][:, :2] = np.array([(each.ra_rad, each.dec_rad) for each in given], np.float64).reshape(-1, 2)
    records["sigma"] = [each.sigma_arcsec * RADIANS_PER_ARCSECOND for each in given]
    records["clock_age_s"] = [each.sync_age_s for each in given]
    source_ids = pa.array([f"{SourceKind.OPTICAL.prefix}-{each.site_id}" for each in given], pa.string())
    return ObservationColumns(records, source_ids, pa.nulls(len(given), pa.string()))


def _refusal(error: ValidationError, text: bytes) -> Refusal:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    kind = ErrorKind.DESERIALIZATION if first["type"] in _NOT_A_SCHEMA else ErrorKind.SCHEMA_MISMATCH
    return Refusal(kind, f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}", text)
