"""Steps that turn the bytes of lines into columns: JSON, logfmt, a regular expression, or just text. In Spark's words.

Each adds two columns: `record`, a struct, and `parse_error`. A line that cannot be parsed has no record and says why.
It fails neither the batch nor the lines beside it; `filter_rows` or `route` decide what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidStep
from holdfast.process.parsers import Json, Logfmt, Parser, Regex, Text, groups_of
from holdfast.process.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RECORD, ERROR = "record", "parse_error"
_TEXT, _PARSED, _FOUND = "__text", "__parsed", "__found"


@dataclass(frozen=True, slots=True)
class Parse(Step):
    """Adds what a parser makes of the payload."""

    parser: Parser
    encoding: Encoding

    def apply(self, frame: DataFrame) -> DataFrame:
        """The frame with its record, or the reason why there is none."""
        from pyspark.sql import functions as f

        payload, text, parsed = f.col("payload"), f.col(_TEXT), f.col(_PARSED)
        frame = frame.withColumn(_TEXT, _text(payload, self.encoding))
        frame = frame.withColumn(_PARSED, self.parser.parsed(text))
        error = (
            f.when(payload.isNull(), f.lit("there is no payload"))
            .when(text.isNull(), f.lit(f"the bytes are not {self.encoding}"))
            .otherwise(self.parser.error(text, parsed))
        )
        record = f.when(error.isNull(), self.parser.record(parsed))
        frame = frame.withColumn(_FOUND, _computed_once(f.struct(error.alias(ERROR), record.alias(RECORD))))
        return frame.select("*", f"{_FOUND}.*").drop(_TEXT, _PARSED, _FOUND)

    def describe(self) -> str:
        """The parser with all that decides what it does."""
        return f"parse {self.parser!r} {self.encoding}"


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
    groups = groups_of(pattern)
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


def _computed_once(column: Column) -> Column:
    """The same column, by a generator that gives one row for each.

    Spark moves a condition on a computed column below what computes it, and computes it there again for each time that
    the condition names it: lines would be parsed four times. It moves none below a generator.
    """
    from pyspark.sql import functions as f

    return f.explode(f.array(column))


def _decoder(encoding: Encoding) -> Callable[[bytes | None], str | None]:
    """Spark's own decoding of UTF-16 fails the whole batch for one odd byte."""

    def decoded(data: bytes | None) -> str | None:
        try:
            return None if data is None else bytes(data).decode(encoding)
        except UnicodeDecodeError:
            return None

    return decoded
