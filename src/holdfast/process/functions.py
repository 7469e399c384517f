"""Steps that are functions over rows or Arrow batches: a row that fails is given up alone, and the others go on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.model.errors import InvalidStep
from holdfast.process.guarding import EVENT, BatchFunction, FailedRow, Guard, OverBatches, OverRows, Report, RowFunction
from holdfast.process.steps import Step, name_of, source_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame


def refuse(failed: Sequence[FailedRow]) -> None:
    """What a step does about failed rows when nobody takes them."""
    raise InvalidStep(failed[0].message, remedy="Run the step in a pipeline, where such rows become dead letters.")


@dataclass(frozen=True, slots=True)
class Guarded(Step):
    """A step around a function, with somebody who is told of the rows that fail."""

    over: OverRows | OverBatches
    schema: str | None
    report: Report = refuse

    def reporting(self, report: Report) -> Step:
        """The same step, telling somebody else."""
        return replace(self, report=report)

    def guard(self, schema: pa.Schema) -> Guard:
        """What runs over the batches, giving rows of this schema."""
        return Guard(self.name, self.over, schema, self.report)

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame of what the function gave."""
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        if EVENT not in frame.columns:
            raise InvalidStep(
                f"The step {self.name} is given rows without `{EVENT}`, so nobody could say which of them failed.",
                remedy=f"Keep `{EVENT}` in the steps before it, or use a function on DataFrames.",
            )
        schema = frame.schema if self.schema is None else StructType.fromDDL(self.schema)
        assert isinstance(schema, StructType), "a declaration of columns makes a struct"
        return frame.mapInArrow(self.guard(to_arrow_schema(schema)), schema)

    def describe(self) -> str:
        """The function's name and source, and the schema."""
        return f"{self._kind} {name_of(self.over.function)} {source_of(self.over.function)} {self.schema or ''}"

    @property
    def name(self) -> str:
        """How dead letters call the step."""
        return getattr(self.over.function, "__name__", type(self.over.function).__name__)

    @property
    def _kind(self) -> str:
        return "rows" if isinstance(self.over, OverRows) else "batches"


def rows(function: RowFunction, *, schema: str | None = None) -> Step:
    """A step that is a function from a row, as a dict, to a row, to several or to none.

    :param schema: of the rows that it gives, in Spark's words; without one, that of the rows that it is given.
    """
    return Guarded(OverRows(function), schema)


def batches(function: BatchFunction, *, schema: str | None = None) -> Step:
    """A step that is a function from an Arrow record batch to one; where batches begin and end is Spark's choice.

    :param schema: as for `rows`.
    """
    return Guarded(OverBatches(function), schema)
