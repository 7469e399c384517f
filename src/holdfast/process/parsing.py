"""Steps that turn the bytes of lines into columns: JSON, logfmt, a regular expression, or just text. In Spark's words.

Each adds two columns: `record`, a struct, and `parse_error`. A line that cannot be parsed has no record and says why.
It fails neither the batch nor the lines beside it; `filter_rows` or `route` decide what becomes of it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidStep
from holdfast.process.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

RECORD, ERROR = "record", "parse_error"
_TEXT, _CORRUPT, _PARSED = "__text", "__corrupt", "__parsed"

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
class Parse(Step):
    """Adds what a parser makes of the payload."""

    parser: Parser
    encoding: Encoding

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame with its record, or the reason why there is none."""
        from pyspark.sql import functions as f

        text, parsed = f.col(_TEXT), f.col(_PARSED)
        frame = frame.withColumn(_TEXT, _text(f.col("payload"), self.encoding))
        frame = frame.withColumn(_PARSED, self.parser.parsed(text))
        wrong = f.lit(f"the bytes are not {self.encoding}")
        error = f.when(text.isNull(), wrong).otherwise(self.parser.error(text, parsed))
        frame = frame.withColumn(
            ERROR, f.when(f.col("payload").isNull(), f.lit("there is no payload")).otherwise(error)
        )
        record = f.when(f.col(ERROR).isNull(), self.parser.record(parsed))
        return frame.withColumn(RECORD, record).drop(_TEXT, _PARSED)

    def describe(self) -> str:
        """The parser with all that decides what it does."""
        return f"parse {self.parser!r} {self.encoding}"


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
class _Fields(Parser):
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
class Logfmt(_Fields):
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
class Regex(_Fields):
    """The named groups of a regular expression. A group that matches nothing is empty."""

    pattern: str

    def parsed(self, text: Column) -> Column:
        """The groups as text."""
        from pyspark.sql import functions as f

        groups = [
            f.nullif(f.regexp_extract(text, self.pattern, at), f.lit("")).alias(name)
            for name, at in _groups(self.pattern).items()
        ]
        return f.when(text.rlike(self.pattern), f.struct(*groups))

    def found(self, parsed: Column, name: str) -> Column:
        """The group."""
        return parsed[name]

    def malformed(self, text: Column, parsed: Column) -> Column:
        """The line must match."""
        from pyspark.sql import functions as f

        return f.when(parsed.isNull(), f.lit(f"it does not match {self.pattern}"))


def parse_json(schema: str, *, encoding: Encoding = Encoding.UTF_8) -> Step:
    """A step that reads each line as a JSON object of this schema."""
    return Parse(Json(schema), encoding)


def parse_logfmt(schema: str, *, encoding: Encoding = Encoding.UTF_8) -> Step:
    """A step that reads each line as `key=value` pairs, of which those of the schema are kept."""
    return Parse(Logfmt(schema), encoding)


def parse_regex(pattern: str, *, schema: str | None = None, encoding: Encoding = Encoding.UTF_8) -> Step:
    """A step that reads from each line the groups `(?<name>…)` of a regular expression (Java's).

    :param schema: the groups that are kept, and their types; without one all of them as text.
    """
    groups = _groups(pattern)
    if not groups:
        raise InvalidStep(f"The pattern {pattern!r} names no group.", remedy="Name what is to be kept: `(?<name>…)`.")
    return Parse(Regex(schema or ", ".join(f"{name} STRING" for name in groups), pattern), encoding)


def parse_text(*, encoding: Encoding = Encoding.UTF_8) -> Step:
    """A step that reads each line as text."""
    return Parse(Text(), encoding)


def _text(payload: Column, encoding: Encoding) -> Column:
    """The text of a line without the carriage return that some end with; nothing when the bytes are no such text."""
    from pyspark.sql import functions as f

    match encoding:
        case Encoding.UTF_8:
            text = f.try_validate_utf8(payload.cast("string"))
        case Encoding.LATIN_1:
            text = f.decode(payload, "ISO-8859-1")
        case _:
            text = f.udf(_decoder(encoding), "string", useArrow=True)(payload)
    return f.rtrim(text, f.lit("\r"))


def _decoder(encoding: Encoding) -> Callable[[bytes | None], str | None]:
    """Spark's own decoding of UTF-16 fails the whole batch for one odd byte."""

    def decoded(data: bytes | None) -> str | None:
        try:
            return None if data is None else bytes(data).decode(encoding)
        except UnicodeDecodeError:
            return None

    return decoded


def _groups(pattern: str) -> dict[str, int]:
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
