"""What Spark says against a step before it has read any data, with the place in the pipeline document. Pure.

A column, a function or a table that does not exist, a query that cannot be parsed, a function that fails while it puts
the query together: none of these passes by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.errors import InvalidStep, StepRefused
from holdfast.process.steps import Filter, Sql, Step

_POSITION = re.compile(r"[;(]? ?\(?line (?P<line>\d+),? pos (?P<column>\d+)\)?;?")
"""How Spark says which place in a query a message is about; the column counts from 0."""
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*[^\n]*\n")
"""What stands before the text of a block scalar in YAML."""


@dataclass(frozen=True, slots=True)
class StepText:
    """Where the text of a step stands in a document; line and column are counted from 1."""

    file: str
    line: int
    column: int
    rest: str
    """The document from there on."""

    def place(self, query: str, index: int) -> str:
        """Where this character of the query stands in the document; where the step begins, when that cannot be told.

        YAML may change the white space of a text, and nothing else unless it is quoted or has a `${NAME}`. So the
        characters between are counted, and compared.
        """
        header = _BLOCK_HEADER.match(self.rest)
        offset = header.end() if header else int(self.rest[:1] in ("'", '"'))
        before = [character for character in query[:index] if not character.isspace()]
        for character in before:
            offset = self._next(offset)
            if self.rest[offset : offset + 1] != character:
                return self._at(0)
            offset += 1
        return self._at(self._next(offset))

    def _next(self, offset: int) -> int:
        """The next character that is no white space."""
        return len(self.rest) - len(self.rest[offset:].lstrip())

    def _at(self, offset: int) -> str:
        passed = self.rest[:offset].split("\n")
        column = len(passed[-1]) + (self.column if len(passed) == 1 else 1)
        return f"{self.file}:{self.line + len(passed) - 1}:{column}"


def is_refusal(error: Exception) -> bool:
    """Whether an error of a step that is being put together says that the step is wrong, and not the machine."""
    from pyspark.errors import AnalysisException

    of_python = (AttributeError, ImportError, LookupError, NameError, TypeError, ValueError)
    return isinstance(error, (InvalidStep, AnalysisException, *of_python))


def refused(number: int, steps: Sequence[Step], texts: Sequence[StepText], error: Exception) -> StepRefused:
    """The error for whoever wrote the step with this number, counted from 1."""
    step, text = steps[number - 1], texts[number - 1] if texts else None
    reason, position = _said(error)
    place = _place(step, text, position)
    return StepRefused(
        f"Spark refuses step {number} ({kind_of(step)}){f' at {place}' if place else ''}: {reason}",
        kept="No event was processed with it. What was captured is in the inbox.",
        remedy="Correct the step, check it with `holdfast validate --spark`, and start the pipeline again.",
        place=place,
        problem=f"Spark refuses step {number} ({kind_of(step)}): {reason}",
    )


def output_refused(error: Exception) -> StepRefused:
    """The error when every step is right by itself, and what they give cannot be stored or cannot be a stream."""
    return StepRefused(
        f"Spark refuses what the steps give: {_said(error)[0]}",
        kept="No event was processed. What was captured is in the inbox.",
        remedy="Let the last step give columns with names of their own and without maps. A query that aggregates needs "
        "`output_mode: update`, or a watermark.",
    )


def kind_of(step: Step) -> str:
    """What a document calls such a step."""
    return step.describe().split(maxsplit=1)[0]


def _said(error: Exception) -> tuple[str, tuple[int, int] | None]:
    """The first line of what an error says, without its place; and the place in the query, from line 1 and column 0."""
    if isinstance(error, InvalidStep):
        return f"{error.what} {error.remedy}", None
    text = str(getattr(error, "_desc", None) or error).strip()
    reason = _POSITION.sub("", text.split("\n", 1)[0])
    if type(error).__module__.partition(".")[0] != "pyspark":
        reason = f"{type(error).__name__}: {reason}"
    found = _POSITION.search(text)
    return _sentence(reason), (int(found["line"]), int(found["column"])) if found else None


def _sentence(text: str) -> str:
    text = text.rstrip("; ")
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _place(step: Step, text: StepText | None, position: tuple[int, int] | None) -> str:
    query = step.text if isinstance(step, Sql) else step.condition if isinstance(step, Filter) else None
    if position is None or query is None:
        return text.place("", 0) if text else ""
    line, column = position
    if text is None:
        return f"line {line}, column {column + 1} of its query"
    lines = query.split("\n")
    return text.place(query, sum(len(each) + 1 for each in lines[: line - 1]) + column)
