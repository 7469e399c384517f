"""The steps of a document, each a block with one key: the kind of step."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from holdfast.config.fields import Block, Text
from holdfast.config.problems import nearest
from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidPipeline, InvalidStep
from holdfast.process import batches, parse_json, parse_logfmt, parse_regex, parse_text, rows
from holdfast.process.steps import Filter, Flatten, Python, Route, Sql, Step

Function = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"),
    Field(title="function", examples=["my_company.enrich:add_region"]),
]


class FlattenBlock(Block):
    """Puts the fields of a struct column in its place."""

    column: Text
    """The struct column."""
    prefix: str = ""
    """What stands before the name of each field."""


class RouteBlock(Block):
    """Adds a column `route` with the name of the first condition that holds; a sink may take `only` one route."""

    routes: Annotated[dict[Text, Text], Field(min_length=1)]
    """A SQL condition for each route, looked at in this order."""
    otherwise: Text | None = None
    """The route of rows for which no condition holds; without it they have none, and reach no sink with `only`."""


class ParseBlock(Block):
    """Reads each line of `payload` into the columns `record` and `parse_error`."""

    format: Literal["json", "logfmt", "regex", "text"]
    """What a line is: a JSON object, `key=value` pairs, what a regular expression matches, or just text."""
    fields: Text | None = None
    """The fields that are kept and their types in Spark's words: `n BIGINT, note STRING`; not for `text`."""
    pattern: Text | None = None
    """The regular expression (Java's), with a group `(?<name>…)` for each field; only for `regex`."""
    encoding: Annotated[Encoding, Field(strict=False)] = Encoding.UTF_8
    """How the bytes are text."""

    def check(self) -> None:
        """Each format has what it needs, and nothing that it does not look at."""
        needs_fields, takes_fields = self.format in ("json", "logfmt"), self.format != "text"
        if (self.fields is None and needs_fields) or (self.fields is not None and not takes_fields):
            raise InvalidPipeline(
                f"The format `{self.format}` {'needs' if needs_fields else 'has no'} `fields`.",
                remedy="Write for instance `fields: n BIGINT, note STRING`." if needs_fields else "Remove them.",
            )
        if (self.pattern is None) is (self.format == "regex"):
            is_missing = self.pattern is None
            raise InvalidPipeline(
                f"The format `{self.format}` {'needs' if is_missing else 'has no'} `pattern`.",
                remedy="Write for instance `pattern: (?<level>[A-Z]+) (?<text>.*)`." if is_missing else "Remove it.",
            )
        self.step()

    def step(self) -> Step:
        """The step itself."""
        if self.format == "text":
            return parse_text(encoding=self.encoding)
        if self.pattern is not None:
            return parse_regex(self.pattern, schema=self.fields, encoding=self.encoding)
        parse = parse_json if self.format == "json" else parse_logfmt
        return parse(self.fields or "", encoding=self.encoding)


class FunctionBlock(Block):
    """A function over rows or batches: a row that it fails for becomes a dead letter, and the others go on."""

    function: Function
    """The function, as `module:function`."""
    fields: Text | None = None
    """The columns that it gives and their types in Spark's words; without them, those that it is given."""


class StepBlock(Block):
    """One step; exactly one of these keys."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    parse: ParseBlock | None = None
    """Reads lines of text into columns."""
    sql: Text | None = None
    """A query over the view `events`, which is what the step before gave."""
    python: Function | None = None
    """A function from DataFrame to DataFrame, as `module:function`."""
    rows: FunctionBlock | None = None
    """A function from a row, as a dict, to a row, to several or to none."""
    batches: FunctionBlock | None = None
    """A function from an Arrow record batch to one."""
    filter: Text | None = None
    """A SQL condition; the rows for which it holds are kept."""
    flatten: FlattenBlock | None = None
    """Puts the fields of a struct column in its place."""
    route: RouteBlock | None = None
    """Names a route for each row."""

    def check(self) -> None:
        """One step does one thing."""
        if len(self.model_fields_set) != 1:
            raise InvalidPipeline(
                f"A step has exactly one key, and this one has {len(self.model_fields_set)}.",
                remedy=f"Give it one of {', '.join(type(self).model_fields)}, and make a step for each further one.",
            )

    def step(self) -> Step:
        """The step itself; the module of a function is imported."""
        if self.parse is not None:
            return self.parse.step()
        if self.sql is not None:
            return Sql(self.sql)
        if self.python is not None:
            return Python(_function(self.python))
        if self.rows is not None:
            return rows(_function(self.rows.function), schema=self.rows.fields)
        if self.batches is not None:
            return batches(_function(self.batches.function), schema=self.batches.fields)
        if self.filter is not None:
            return Filter(self.filter)
        if self.flatten is not None:
            return Flatten(self.flatten.column, self.flatten.prefix)
        assert self.route is not None  # exactly one is given
        return Route(tuple(self.route.routes.items()), self.route.otherwise)


def _function(reference: str) -> Callable[..., Any]:
    """What a reference names; what it takes and gives is seen when it is called."""
    module_name, _, name = reference.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise InvalidStep(
            f"There is no module `{error.name}`, which `{reference}` needs.",
            remedy="Install it, or put the directory that holds it on PYTHONPATH.",
        ) from error
    except (Exception, SystemExit) as error:
        raise InvalidStep(
            f"The module `{module_name}` cannot be imported ({type(error).__name__}: {error}).",
            remedy="Mend the module.",
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        meant = nearest(name, (other for other, value in vars(module).items() if callable(value)))
        raise InvalidStep(
            f"The module `{module_name}` has no function `{name}`.",
            remedy=f"Did you mean `{meant}`?" if meant else "Write it, or name another.",
        )
    found: Callable[..., Any] = function
    return found
