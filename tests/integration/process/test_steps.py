"""The steps on a real Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.model.errors import InvalidStep
from holdfast.process import Step, applied, filter_rows, fingerprint, flatten, python, route, sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT id AS seq, named_struct('n', id * 10, 'sign', IF(id % 2 = 0, '+', '-')) AS after FROM range(4)"
    )


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_sql_reads_what_the_step_before_gave(events: DataFrame) -> None:
    steps = [sql("SELECT seq, after.n AS n FROM events"), sql("SELECT n + 1 AS m FROM events WHERE seq > 1")]
    assert rows(applied(steps, events)) == [(21,), (31,)]


def test_a_function_gets_and_gives_a_frame(events: DataFrame) -> None:
    assert rows(applied([python(lambda frame: frame.select("seq").limit(1))], events)) == [(0,)]


def test_a_function_that_gives_no_frame_is_refused(events: DataFrame) -> None:
    with pytest.raises(InvalidStep, match="returned int"):
        applied([python(lambda frame: 3)], events)  # type: ignore[arg-type, return-value]


def test_filter_keeps_what_holds(events: DataFrame) -> None:
    assert rows(applied([filter_rows("after.sign = '+'"), sql("SELECT seq FROM events")], events)) == [(0,), (2,)]


def test_flatten_puts_the_fields_in_place_of_the_struct(events: DataFrame) -> None:
    flat = applied([flatten("after", prefix="after_")], events)
    assert flat.columns == ["seq", "after_n", "after_sign"]
    assert rows(flat)[1] == (1, 10, "-")


def test_flatten_of_something_else_names_what_there_is(events: DataFrame) -> None:
    with pytest.raises(InvalidStep, match=r"'seq' cannot be flattened: it is LongType\(\).*Name a struct column"):
        applied([flatten("seq")], events)
    with pytest.raises(InvalidStep, match="'nope' cannot be flattened: it is not there"):
        applied([flatten("nope")], events)


def test_route_takes_the_first_condition_that_holds(events: DataFrame) -> None:
    routed = applied(
        [route(large="after.n >= 20", odd="after.sign = '-'"), sql("SELECT seq, route FROM events")], events
    )
    assert rows(routed) == [(0, None), (1, "odd"), (2, "large"), (3, "large")]


def test_the_fingerprint_tells_steps_apart_and_ignores_white_space() -> None:
    one = [sql("SELECT 1\n  FROM events")]
    assert fingerprint(one) == fingerprint([sql("SELECT  1 FROM events")])
    others: list[list[Step]] = [[], [sql("SELECT 2 FROM events")], [*one, *one], [filter_rows("SELECT 1 FROM events")]]
    assert len({fingerprint(steps) for steps in [one, *others]}) == 5


def test_a_changed_function_has_another_fingerprint() -> None:
    def keep(frame: DataFrame) -> DataFrame:
        return frame

    def drop(frame: DataFrame) -> DataFrame:
        return frame.limit(0)

    assert fingerprint([python(keep)]) != fingerprint([python(drop)])
