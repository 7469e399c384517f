"""What Spark makes of the steps of a pipeline before any event is read: a query, or the step that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.log.datasource import SOURCE_NAME, Reading
from holdfast.log.values import Limits
from holdfast.process.refusals import StepText, is_refusal, output_refused, refused
from holdfast.runtime.evaluation import hashed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from holdfast.process.guarding import Report
    from holdfast.process.steps import Step
    from holdfast.runtime.plan import Plan


def schemas_of(plan: Plan) -> dict[str, str]:
    """The columns of `before` and `after` by source, when they are typed: the pipeline reads one table and knows it."""
    schemas = {source.name: source.schema for source in plan.sources if source.schema}
    return schemas if len(plan.sources) == len(schemas) == 1 else {}


def check_steps(session: SparkSession, plan: Plan) -> None:
    """`StepRefused` when Spark refuses a step, or what they all give. Reads nothing."""
    events = events_of(session, Reading({}, Limits(1, 1, True), {}), schemas_of(plan))
    check_output(analysed(plan.steps, events, plan.step_texts, report=_nobody), plan.output_mode)


def events_of(session: SparkSession, reading: Reading, schemas: Mapping[str, str]) -> DataFrame:
    """The stream of events that the first step is given."""
    stream = session.readStream.format(SOURCE_NAME).option("reading", reading.to_option()).load()
    return typed(stream, schemas)


def typed(frame: DataFrame, schemas: Mapping[str, str]) -> DataFrame:
    """The events with `before` and `after` as typed columns when the pipeline names exactly one table."""
    from pyspark.sql import functions as f

    if len(schemas) != 1:
        return frame
    ddl = next(iter(schemas.values()))
    images = {name: f.from_json(name, ddl) for name in ("before", "after")}
    return frame.withColumns(images)


def analysed(steps: Sequence[Step], frame: DataFrame, texts: Sequence[StepText], *, report: Report) -> DataFrame:
    """The frame after all steps; `StepRefused` for the first that is wrong.

    :param report: told of the rows that steps give up.
    """
    for number, step in enumerate(steps, 1):
        try:
            frame = step.reporting(report).apply(frame)
        except Exception as error:
            if is_refusal(error):
                raise refused(number, steps, texts, error) from error
            raise
    return frame


def check_output(frame: DataFrame, output_mode: str) -> None:
    """`StepRefused` when rows of this query cannot be stored, or when it cannot be a stream in this output mode."""
    from pyspark import SparkContext
    from pyspark.errors import AnalysisException

    jvm = SparkContext._jvm  # noqa: SLF001 (here and below: the Python face has no such check)
    assert jvm is not None
    checker = getattr(jvm, "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
    modes = getattr(jvm, "org.apache.spark.sql.catalyst.streaming.InternalOutputModes")
    try:
        checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), modes.apply(output_mode))  # noqa: SLF001
        hashed(frame)
    except AnalysisException as error:
        raise output_refused(error) from error


def _nobody(failed: object) -> None:
    """There are no rows."""
