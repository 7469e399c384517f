"""The rows of a batch as one lane sees them: routed, without what was rejected, in units refused together. Pure.

A row keeps its ordinal, its place in the batch as published, whatever is left out before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.log.redelivery import addressee, unaddressed
from holdfast.model.errors import Fatal

ROUTE = "route"
"""The column that the `route` step of a pipeline adds."""
KEY = "key"
TX_ID = "tx_id"
TX_END = "tx_end"


class PoisonUnit(Enum):
    """What goes to the dead letters when a row is refused."""

    ROW = "row"
    TRANSACTION = "transaction"
    """The row and all others of its source transaction."""


Unit = range
"""Places of a parcel that are refused together."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows of one batch, in order, with their ordinals."""

    rows: pa.Table
    ordinals: pa.Int64Array

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def at(self, units: Iterable[Unit]) -> Parcel:
        """Only the rows at these places."""
        places = np.fromiter((place for unit in units for place in unit), dtype=np.int64)
        return Parcel(self.rows.take(places), self.ordinals.take(pa.array(places)))

    def between(self, places: range) -> Parcel:
        """Only the rows from one place to another."""
        return Parcel(self.rows.slice(places.start, len(places)), self.ordinals.slice(places.start, len(places)))

    def without(self, rejected: Collection[int]) -> Parcel:
        """Without the rows of these ordinals."""
        return self.where(pc.invert(self._among(rejected))) if rejected else self

    def only(self, ordinals: Collection[int]) -> Parcel:
        """Just the rows of these ordinals."""
        return self.where(self._among(ordinals))

    def where(self, mask: pa.BooleanArray) -> Parcel:
        """Only the rows for which the mask says so."""
        return Parcel(self.rows.filter(mask), self.ordinals.filter(mask))

    def _among(self, ordinals: Collection[int]) -> pa.BooleanArray:
        return pc.is_in(self.ordinals, value_set=pa.array(sorted(ordinals), pa.int64()))


def parcel_of(table: pa.Table, *, only: str | None) -> Parcel:
    """The rows of a published batch that belong to a lane.

    :param only: the route that the lane takes; None takes every row.
    """
    whole = Parcel(table, pa.array(np.arange(table.num_rows, dtype=np.int64)))
    if only is None or not table.num_rows:
        return whole
    if ROUTE not in table.column_names:
        raise Fatal(
            f"The sink takes only the route {only!r}, but the rows have no column {ROUTE!r}.",
            remedy="Add a `route` step to the pipeline, or take the route away from the sink.",
            kept="No row was left out.",
            route=only,
        )
    routes = table.column(ROUTE).combine_chunks()
    return whole.where(pc.fill_null(pc.equal(routes, only), False))


def parcel_for(lane: str, table: pa.Table, *, only: str | None) -> Parcel:
    """The rows of a published batch that belong to the lane of this name.

    A batch that is addressed to one lane is wholly for that one, whatever the routes of its rows, and has nothing for
    the others.
    """
    to = addressee(table)
    if to is None:
        return parcel_of(table, only=only)
    rows = unaddressed(table)
    return parcel_of(rows if to == lane else rows.slice(0, 0), only=None)


def chosen(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """The rows as a sink is given them: with these columns, in this order; None for all."""
    if columns is None:
        return table
    missing = [name for name in columns if name not in table.column_names]
    if missing and table.num_rows:
        raise Fatal(
            f"The sink is to be given columns that the rows do not have: {', '.join(missing)}.",
            remedy=f"Name some of {', '.join(table.column_names)}, or add the columns in a step.",
            kept="No row was delivered, and none was left out.",
            columns=missing,
        )
    return table.select([name for name in columns if name not in missing])


def units_of(parcel: Parcel, unit: PoisonUnit) -> Sequence[Unit]:
    """The parcel cut into what is refused together, in order."""
    count = len(parcel)
    if unit is PoisonUnit.ROW or TX_ID not in parcel.rows.column_names:
        return [range(place, place + 1) for place in range(count)]
    borders = [0, *(np.flatnonzero(_last_of_transaction(parcel.rows)) + 1).tolist()]
    return [range(first, end) for first, end in pairwise(borders)]


def whole_units(parcel: Parcel, unit: PoisonUnit, rejected: frozenset[int]) -> frozenset[int]:
    """The ordinals of every unit of which at least one row was rejected."""
    if not rejected or unit is PoisonUnit.ROW:
        return rejected
    ordinals = parcel.ordinals.to_pylist()
    touched = [units for units in units_of(parcel, unit) if any(ordinals[place] in rejected for place in units)]
    return rejected | {ordinals[place] for units in touched for place in units}


def keys_of(parcel: Parcel) -> frozenset[object] | None:
    """The keys that the rows are about; None when they have no key, and so may be about anything."""
    if KEY not in parcel.rows.column_names:
        return None
    return frozenset(parcel.rows.column(KEY).unique().to_pylist())


def _last_of_transaction(rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    ids = rows.column(TX_ID).combine_chunks()
    last = np.ones(len(ids), dtype=np.bool_)
    if len(ids) > 1:
        continues = pc.fill_null(pc.equal(ids[:-1], ids[1:]), False)
        last[:-1] = ~continues.to_numpy(zero_copy_only=False)
    if TX_END in rows.column_names:
        last |= pc.fill_null(rows.column(TX_END), False).to_numpy()
    return last
