"""The steps between the events of a pipeline and its output, as values that can be applied and compared.

A step turns a DataFrame into a DataFrame. Its fingerprint tells whether it is still the step that published earlier
batches; it does not tell whether a function it calls was changed elsewhere.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.errors import InvalidStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.process.guarding import Report

EVENTS = "events"
"""The view that a SQL step reads: what the step before it gave."""


class Step(ABC):
    """One step of the way from events to output."""

    @abstractmethod
    def apply(self, frame: DataFrame) -> DataFrame:
        """What comes out when `frame` goes in."""

    @abstractmethod
    def describe(self) -> str:
        """Everything that decides what the step does, as text."""

    def reporting(self, report: Report) -> Step:
        """The step, telling somebody of the rows that it gives up; most steps never do."""
        return self


@dataclass(frozen=True, slots=True)
class Sql(Step):
    """A query over the view `events`."""

    text: str

    def apply(self, frame: DataFrame) -> DataFrame:
        """Run the query with `events` standing for the frame."""
        frame.createOrReplaceTempView(EVENTS)
        return frame.sparkSession.sql(self.text)

    def describe(self) -> str:
        """The query, white space evened out."""
        return f"sql {' '.join(self.text.split())}"


@dataclass(frozen=True, slots=True)
class Python(Step):
    """A function from DataFrame to DataFrame, stateless or stateful."""

    function: Callable[[DataFrame], DataFrame]

    def apply(self, frame: DataFrame) -> DataFrame:
        """Call the function."""
        from pyspark.sql import DataFrame

        result = self.function(frame)
        if not isinstance(result, DataFrame):
            raise InvalidStep(
                f"The function {name_of(self.function)} returned {type(result).__name__}, not a DataFrame.",
                remedy="Let it return the DataFrame it made.",
            )
        return result

    def describe(self) -> str:
        """The function's name and source, or only its name when there is no source."""
        return f"python {name_of(self.function)} {source_of(self.function)}"


@dataclass(frozen=True, slots=True)
class Filter(Step):
    """Keeps the rows for which a SQL condition holds."""

    condition: str

    def apply(self, frame: DataFrame) -> DataFrame:
        """The rows that remain."""
        return frame.where(self.condition)

    def describe(self) -> str:
        """The condition."""
        return f"filter {self.condition}"


@dataclass(frozen=True, slots=True)
class Flatten(Step):
    """Puts the fields of a struct column in its place, each under `prefix` and its own name."""

    column: str
    prefix: str = ""

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame with the fields as columns."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import StructType

        kind = frame.schema[self.column].dataType if self.column in frame.columns else None
        if not isinstance(kind, StructType):
            raise InvalidStep(
                f"Column {self.column!r} cannot be flattened: it is {kind or 'not there'}.",
                remedy=f"Name a struct column; there are {', '.join(frame.columns)}.",
            )
        kept = [f.col(f"`{name}`") for name in frame.columns if name != self.column]
        fields = [f.col(f"`{self.column}`.`{name}`").alias(f"{self.prefix}{name}") for name in kind.names]
        return frame.select(*kept, *fields)

    def describe(self) -> str:
        """Column and prefix."""
        return f"flatten {self.column} {self.prefix}"


@dataclass(frozen=True, slots=True)
class Route(Step):
    """Adds a column `route` with the name of the first condition that holds; a sink may take only one route."""

    routes: tuple[tuple[str, str], ...]
    otherwise: str | None = None

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame with its `route`."""
        from pyspark.sql import functions as f

        chosen = f.lit(self.otherwise)
        for name, condition in reversed(self.routes):
            chosen = f.when(f.expr(condition), f.lit(name)).otherwise(chosen)
        return frame.withColumn("route", chosen)

    def describe(self) -> str:
        """The routes in order."""
        return f"route {self.routes} {self.otherwise}"


def name_of(function: Callable[..., object]) -> str:
    """The name of a function with its module."""
    module = getattr(function, "__module__", "")
    return f"{module}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def source_of(function: Callable[..., object]) -> str:
    """The source of a function; nothing when there is none."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def sql(text: str) -> Step:
    """A step that is a query over the view `events`."""
    return Sql(text)


def python(function: Callable[[DataFrame], DataFrame]) -> Step:
    """A step that is a function from DataFrame to DataFrame."""
    return Python(function)


def filter_rows(condition: str) -> Step:
    """A step that keeps the rows for which a SQL condition holds."""
    return Filter(condition)


def flatten(column: str, *, prefix: str = "") -> Step:
    """A step that puts the fields of a struct column in its place."""
    return Flatten(column, prefix)


def route(*, otherwise: str | None = None, **conditions: str) -> Step:
    """A step that names a route for each row: the first condition that holds."""
    return Route(tuple(conditions.items()), otherwise)


def applied(steps: Sequence[Step], frame: DataFrame) -> DataFrame:
    """The frame after all steps."""
    for step in steps:
        frame = step.apply(frame)
    return frame


def fingerprint(steps: Sequence[Step]) -> str:
    """Tells one chain of steps from another."""
    text = "\n".join(step.describe() for step in steps)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
