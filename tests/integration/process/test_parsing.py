"""Lines that become columns in a real Spark session, good ones and bad ones beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidStep
from holdfast.process import Step, applied, filter_rows, flatten, parse_json, parse_logfmt, parse_regex, parse_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Lines = list[bytes | None]


def parsed(spark: SparkSession, step: Step, lines: Lines) -> list[tuple[object, ...]]:
    """The fields of the record of each line, or the reason why it has none."""
    frame = spark.createDataFrame([(n, line) for n, line in enumerate(lines)], "seq INT, payload BINARY")
    result = applied([step], frame)
    assert result.columns == ["seq", "payload", "parse_error", "record"]
    rows = result.orderBy("seq").collect()
    assert all((row.record is None) == (row.parse_error is not None) for row in rows)
    return [tuple(row.record) if row.record is not None else (row.parse_error,) for row in rows]


def test_json(spark: SparkSession) -> None:
    step = parse_json("level STRING, ms INT, tags ARRAY<STRING>")
    bad = ("it is no JSON object of level STRING, ms INT, tags ARRAY<STRING>",)
    assert parsed(
        spark,
        step,
        [
            b'{"level":"info","ms":12,"tags":["a"],"more":1}',
            b'{"level":"warn"}\r',
            b'{"level":"error","ms":"soon"}',
            b'{"level":"err',
            b"[1]",
            b"",
            b"plain",
            b'{"level":"\xff"}',
            None,
            '{"level":"für"}'.encode(),
        ],
    ) == [
        ("info", 12, ["a"]),
        ("warn", None, None),
        bad,
        bad,
        bad,
        bad,
        bad,
        ("the bytes are not utf-8",),
        ("there is no payload",),
        ("für", None, None),
    ]


@pytest.mark.parametrize("condition", ["record.ms > 5 AND record.level = 'info'", "parse_error IS NULL"])
@pytest.mark.parametrize(
    ("step", "computed"),
    [
        (parse_json("level STRING, ms INT"), "from_json("),
        (parse_logfmt("level STRING, ms INT"), "regexp_extract_all("),
        (parse_regex(r"(?<level>\w+) (?<ms>\d+)", schema="level STRING, ms INT"), "regexp_extract("),
    ],
    ids=["json", "logfmt", "regex"],
)
def test_a_line_is_parsed_once_however_often_conditions_name_it(
    spark: SparkSession, step: Step, computed: str, condition: str
) -> None:
    frame = spark.createDataFrame([(1, b"")], "seq INT, payload BINARY")
    alone = applied([step], frame)
    filtered = applied([step, filter_rows(condition)], frame)
    assert planned(filtered).count(computed) == planned(alone).count(computed) > 0


def planned(frame: DataFrame) -> str:
    """What Spark will do."""
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


def test_logfmt(spark: SparkSession) -> None:
    step = parse_logfmt("level STRING, msg STRING, ms INT")
    pairs = ("it is not made of key=value pairs",)
    assert parsed(
        spark,
        step,
        [
            b"level=info msg=hello ms=12 other=1",
            rb'level=info msg="a \"quoted\" level=warn \\ thing" ms=3 flag',
            b"msg= level=first level=second",
            b"ms=soon",
            b"no pairs here",
            b'msg="never ends ms=1',
            b'msg="' + b"x" * 200_000 + b'" ms=7',
            b"",
        ],
    ) == [
        ("info", "hello", 12),
        ("info", 'a "quoted" level=warn \\ thing', 3),
        ("first", "", None),
        ("its ms is no int",),
        pairs,
        pairs,
        (None, "x" * 200_000, 7),
        pairs,
    ]


def test_regex(spark: SparkSession) -> None:
    pattern = r'^(?<ip>\S+) \S+ "(?<method>[A-Z]+) (?<path>\S+)" (?<status>\d{3})(?: (?<bytes>\d+))?$'
    step = parse_regex(pattern, schema="status INT, path STRING, bytes BIGINT")
    assert parsed(spark, step, [b'::1 - "GET /a" 200 17', b'::1 - "GET /a" 404\r', b"nonsense"]) == [
        (200, "/a", 17),
        (404, "/a", None),
        (f"it does not match {pattern}",),
    ]
    assert parsed(spark, parse_regex(r"(?<a>.)(?<b>.)"), [b"xy"]) == [("x", "y")]


def test_a_pattern_without_names_or_meaning_is_refused() -> None:
    with pytest.raises(InvalidStep, match="names no group"):
        parse_regex("(a)(b)")
    with pytest.raises(InvalidStep, match="no regular expression"):
        parse_regex("(?<a>")


@pytest.mark.req("A2")
@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize(
    ("step", "lines", "expected"),
    [
        (parse_text, ["für", "zwei\r", ""], [("für",), ("zwei",), ("",)]),
        (lambda encoding: parse_json("a STRING", encoding=encoding), ['{"a":"für"}'], [("für",)]),
        (lambda encoding: parse_logfmt("a STRING", encoding=encoding), ['a="für zwei"'], [("für zwei",)]),
        (lambda encoding: parse_regex("(?<a>ü)", encoding=encoding), ["für"], [("ü",)]),
    ],
    ids=["text", "json", "logfmt", "regex"],
)
def test_the_same_lines_in_two_encodings_give_equal_rows(
    spark: SparkSession, encoding: Encoding, step: object, lines: list[str], expected: list[tuple[object, ...]]
) -> None:
    assert parsed(spark, step(encoding=encoding), [line.encode(encoding) for line in lines]) == expected  # type: ignore[operator]


def test_bytes_that_are_not_of_the_encoding_are_told(spark: SparkSession) -> None:
    assert parsed(spark, parse_text(encoding=Encoding.UTF_16_LE), [b"a", "ok".encode("utf-16-le"), b"\x00\xd8"]) == [
        ("the bytes are not utf-16-le",),
        ("ok",),
        ("the bytes are not utf-16-le",),
    ]


def test_the_fields_can_take_the_place_of_the_record(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(b'{"a":1,"b":"x"}',)], "payload BINARY")
    flat = applied([parse_json("a INT, b STRING"), flatten("record")], frame)
    assert flat.drop("payload", "parse_error").collect() == [(1, "x")]


def test_a_line_is_parsed_once_however_many_fields_it_has(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(b"a=1",)], "payload BINARY")
    for step, function in [
        (parse_json("a INT, b INT, c INT"), "from_json"),
        (parse_logfmt("a INT, b INT, c INT"), "regexp_extract_all"),
    ]:
        plan = applied([step], frame)._jdf.queryExecution().optimizedPlan().toString()  # type: ignore[operator]
        assert plan.count(function) == 1
