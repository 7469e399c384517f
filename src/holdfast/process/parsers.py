"""What lines are made of: JSON, pairs, the groups of a pattern, or just text, in expressions of Spark."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.errors import InvalidStep

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

_CORRUPT = "__corrupt"

_PAIR = r'[^\s="]++=(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s"]*+)'
"""A key and its value, which may be quoted. It never goes back, so no line is long enough to exhaust the stack."""


class Parser(ABC):
    """What a line is made of."""

    @abstractmethod
    def parsed(self, text: Column) -> Column:
        """What is computed once for each line, and used for all that follows."""

    @abstractmethod
    def record(self, parsed: Column) -> Column:
        """The struct of a line that could be parsed."""

    @abstractmethod
    def error(self, text: Column, parsed: Column) -> Column:
        """Why the line cannot be parsed; nothing when it can."""


@dataclass(frozen=True, slots=True)
class Json(Parser):
    """One JSON object a line."""

    schema: str

    def parsed(self, text: Column) -> Column:
        """The object, with the line itself in one more field when it is no such object."""
        from pyspark.sql import functions as f

        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        return f.from_json(text, f"{self.schema}, {_CORRUPT} STRING", options)

    def record(self, parsed: Column) -> Column:
        """The object."""
        return parsed.dropFields(_CORRUPT)

    def error(self, text: Column, parsed: Column) -> Column:
        """A field of another type counts, a missing one does not."""
        from pyspark.sql import functions as f

        is_bad = parsed.isNull() | parsed[_CORRUPT].isNotNull()
        return f.when(is_bad, f.lit(f"it is no JSON object of {self.schema}"))


@dataclass(frozen=True, slots=True)
class Text(Parser):
    """The line as it is, in the field `line`."""

    def parsed(self, text: Column) -> Column:
        """The line."""
        return text

    def record(self, parsed: Column) -> Column:
        """The line."""
        from pyspark.sql import functions as f

        return f.struct(parsed.alias("line"))

    def error(self, text: Column, parsed: Column) -> Column:
        """Every text is one."""
        from pyspark.sql import functions as f

        return f.lit(None).cast("string")


@dataclass(frozen=True, slots=True)
class Fields(Parser):
    """A parser that finds its fields as text and makes of each what the schema says."""

    schema: str

    @abstractmethod
    def found(self, parsed: Column, name: str) -> Column:
        """The text of a field; nothing when it is not there."""

    @abstractmethod
    def malformed(self, text: Column, parsed: Column) -> Column:
        """Why the line has no fields at all; nothing when it has some."""

    def record(self, parsed: Column) -> Column:
        """The fields of the schema; those that are not in the line are empty."""
        from pyspark.sql import functions as f

        fields = [(field.name, field.dataType) for field in _fields(self.schema)]
        return f.struct(*[self.found(parsed, name).try_cast(kind).alias(name) for name, kind in fields])

    def error(self, text: Column, parsed: Column) -> Column:
        """A field of another type counts, a missing one does not."""
        from pyspark.sql import functions as f

        def mistyped(name: str, found: Column, made: Column, kind: str) -> Column:
            return f.when(found.isNotNull() & made.isNull(), f.lit(f"its {name} is no {kind}"))

        reasons = [
            mistyped(field.name, found, found.try_cast(field.dataType), field.dataType.simpleString())
            for field in _fields(self.schema)
            for found in [self.found(parsed, field.name)]
        ]
        return f.coalesce(self.malformed(text, parsed), *reasons)


@dataclass(frozen=True, slots=True)
class Logfmt(Fields):
    """Pairs of `key=value` or `key="a value"`; of a key that comes twice the first one counts."""

    def parsed(self, text: Column) -> Column:
        """The pairs."""
        from pyspark.sql import functions as f

        return f.regexp_extract_all(text, f.lit(f"({_PAIR})"), f.lit(0))

    def found(self, parsed: Column, name: str) -> Column:
        """The value without its quotes."""
        from pyspark.sql import functions as f

        pair = f.get(f.filter(parsed, lambda pair: f.startswith(pair, f.lit(f"{name}="))), f.lit(0))
        value = f.substring(pair, len(name) + 2, 2**31 - 1)
        bare = f.regexp_replace(f.regexp_replace(value, '^"|"$', ""), r'\\(["\\])', "$1")
        return f.when(f.startswith(value, f.lit('"')), bare).otherwise(value)

    def malformed(self, text: Column, parsed: Column) -> Column:
        """Nothing that is left besides the pairs may look like a part of one."""
        from pyspark.sql import functions as f

        rest = f.regexp_replace(text, _PAIR, "")
        is_bad = (f.size(parsed) == 0) | rest.rlike('["=]')
        return f.when(is_bad, f.lit("it is not made of key=value pairs"))


@dataclass(frozen=True, slots=True)
class Regex(Fields):
    """The named groups of a regular expression. A group that matches nothing is empty."""

    pattern: str

    def parsed(self, text: Column) -> Column:
        """The groups as text."""
        from pyspark.sql import functions as f

        groups = [
            f.nullif(f.regexp_extract(text, self.pattern, at), f.lit("")).alias(name)
            for name, at in groups_of(self.pattern).items()
        ]
        return f.when(text.rlike(self.pattern), f.struct(*groups))

    def found(self, parsed: Column, name: str) -> Column:
        """The group."""
        return parsed[name]

    def malformed(self, text: Column, parsed: Column) -> Column:
        """The line must match."""
        from pyspark.sql import functions as f

        return f.when(parsed.isNull(), f.lit(f"it does not match {self.pattern}"))


def groups_of(pattern: str) -> dict[str, int]:
    """The named groups of a pattern and their numbers."""
    try:
        return dict(re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern)).groupindex)
    except re.error as error:
        raise InvalidStep(f"{pattern!r} is no regular expression: {error}.", remedy="Correct it.") from error


def _fields(schema: str) -> StructType:
    from pyspark.sql.types import StructType

    fields = StructType.fromDDL(schema)
    if not isinstance(fields, StructType):
        raise InvalidStep(f"{schema!r} is a type, and not a list of fields.", remedy="Write `name TYPE, name TYPE`.")
    return fields
