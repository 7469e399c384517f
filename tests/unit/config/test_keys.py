"""Every key that a document may hold acts, and a block without keys is as if it were not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from tests.support.documents import (
    FULL,
    Path,
    Spot,
    at,
    several_sources,
    several_stores,
    state,
    text_of,
    walk,
    with_value,
    without,
)

from holdfast.config import load
from holdfast.config.schema import blocks
from holdfast.deliver import BreakerPolicy, RetryPolicy, SinkSpec
from holdfast.flow.exits import Budget
from holdfast.log import DeadLetterLimits, Keep
from holdfast.model.errors import InvalidDocument
from holdfast.runtime.isolation import IsolationLimits
from holdfast.runtime.plan import BatchLimits, Checkpointing, Plan, Quotas
from holdfast.runtime.rollback.points import PointsKept
from holdfast.runtime.session import SparkSettings

SOURCE = {
    "name": "others",
    "events": 2000,
    "transactions": [2],
    "chunk": 128,
    "padding": 16,
    "pace.rate": 200,
    "pace.burst": 3.0,
    "pace.every": "30s",
}
LOG_FILES = {
    "name": "others",
    "paths": ["others/*.log"],
    "encoding": "utf-16-le",
    "first_line": "[A-Z]",
    "max_bytes": "1MiB",
    "idle": "2s",
    "follow": "forever",
    "fingerprint": 256,
    "forget_after": "3m",
    "max_open": 20,
}
HTTP_PUSH = {
    "name": "others",
    "host": "127.0.0.2",
    "port": 9001,
    "token": "other",
    "headers": ["x-other"],
    "max_body": "2MiB",
    "patience": "20s",
    "max_connections": 200,
    "linger": "30ms",
    "keys_kept": 2000,
}
HTTP = {
    "url": "http://host/b",
    "body": "array",
    "headers": {"x-key": "two"},
    "max_rows": 200,
    "max_bytes": "2MiB",
    "timeout": "20s",
    "ca_file": "others.pem",
}
SINK = {
    "name": "other",
    "required": True,
    "start": "now",
    "only": "small",
    "columns": ["n", "k"],
    "retry.base": "300ms",
    "retry.cap": "2m",
    "retry.attempts": 6,
    "retry.elapsed": "20m",
    "breaker.window": 30,
    "breaker.minimum": 3,
    "breaker.failure_rate": 0.75,
    "breaker.cool_down": "7s",
    "breaker.within": "2m",
    "on_exhausted": "dead_letter",
    "on_quota": "block",
    "poison_unit": "transaction",
}
TABLE = {"table": "others", "upsert.key": ["m"], "upsert.newer_by": "at"}


def below(prefix: str, values: dict[str, object]) -> dict[str, object]:
    return {f"{prefix}.{key}": value for key, value in values.items()}


OTHERWISE: dict[str, object] = {
    "metadata.name": "others",
    "spec.directory": "data/others",
    **below("spec.source", SOURCE),
    **below("spec.sources.0", SOURCE),
    **below("spec.sources.1", LOG_FILES),
    **below("spec.sources.2", {"name": "other", "encoding": "utf-8", "max_bytes": "1MiB"}),
    **below("spec.sources.3", HTTP_PUSH),
    **below("spec.sources.4", {"name": "others", "directory": "others/inbox"}),
    "spec.process.0.sql": "SELECT seq FROM events",
    "spec.process.1.python": "tests.support.documents:text_of",
    "spec.process.2.filter": "seq > 1",
    "spec.process.3.flatten.column": "before",
    "spec.process.3.flatten.prefix": "",
    "spec.process.4.route.routes": {"small": "n > 1", "large": "n > 10"},
    "spec.process.4.route.otherwise": "others",
    "spec.process.5.parse.format": "json",
    "spec.process.5.parse.fields": "n BIGINT",
    "spec.process.5.parse.pattern": "(?<n>.*)",
    "spec.process.5.parse.encoding": "utf-8",
    "spec.process.6.rows.function": "tests.support.documents:text_of",
    "spec.process.6.rows.fields": "m BIGINT",
    "spec.process.7.batches.function": "tests.support.documents:text_of",
    "spec.process.7.batches.fields": "m BIGINT",
    "spec.output_mode": "update",
    **below("spec.sinks.0", {**SINK, "directory": "others", "format": "jsonl", "rotate_at": "1MiB", "max_inflight": 3}),
    **below("spec.sinks.1", {**SINK, **TABLE, "path": "others.db"}),
    **below("spec.sinks.2", {**SINK, **TABLE, "dsn": "dbname=b"}),
    **below("spec.sinks.3", {**SINK, **HTTP}),
    **below("spec.sinks.4", {**SINK, "form": "lines", "max_rows": 11}),
    "spec.commit.policy": "all",
    "spec.commit.quorum": 3,
    "spec.batch.max_events": 2000,
    "spec.batch.max_bytes": "2MiB",
    "spec.batch.max_ms": 51,
    "spec.batch.respect_source_tx": False,
    "spec.batch.max_partitions": 4,
    "spec.batch.partition_bytes": "8MiB",
    "spec.quotas.inbox": "unlimited",
    "spec.quotas.outbox": 5000000,
    "spec.quotas.detach_after": "30s",
    "spec.keep.age": "2h",
    "spec.keep.size": "200MiB",
    "spec.keep.delivered": "32MiB",
    "spec.points.every": "2m",
    "spec.points.kept": "3h",
    "spec.checkpoint.store": "file",
    "spec.checkpoint.dsn": "dbname=b",
    "spec.checkpoint.remote.directory": "elsewhere",
    "spec.checkpoint.remote.dsn": "dbname=b",
    "spec.checkpoint.remote.url": "s3://backup/others",
    "spec.checkpoint.remote.region": "eu-west-1",
    "spec.checkpoint.remote.endpoint": "http://localhost:9001",
    "spec.checkpoint.remote.access_key_id": "other",
    "spec.checkpoint.remote.secret_access_key": "other",
    "spec.checkpoint.replicate_every": "2m",
    "spec.checkpoint.cadence": "1s",
    "spec.checkpoint.keep_versions": 51,
    "spec.dead_letters.max_entries": 600,
    "spec.dead_letters.max_age": "8d",
    "spec.dead_letters.overflow": "reject",
    "spec.restarts.failures": 4,
    "spec.restarts.within": "2h",
    "spec.isolation.max_rows": 51,
    "spec.isolation.max_probes": 501,
    "spec.isolation.max_time": "6m",
    "spec.spark.master": "local[3]",
    "spec.spark.conf": {"spark.sql.shuffle.partitions": 5},
}
"""For each key another value than the full document has."""

CHOOSING = {"apiVersion", "kind", "type"}
"""Keys with which the format or the kind is chosen: any other value is refused, or asks for other keys."""

COMES_WITH: dict[str, Path] = {
    **{f"spec.sinks.{number}.required": ("spec", "sinks", number, "on_quota") for number in range(5)},
    "spec.commit.policy": ("spec", "commit", "quorum"),
    "spec.process.5.parse.format": ("spec", "process", 5, "parse", "pattern"),
}
"""Keys that mean nothing with the other value of another key."""

DOCUMENTS = [*several_stores(), FULL, several_sources()]


def dotted(spot: Spot) -> str:
    return ".".join(map(str, spot.path))


LEAVES = {
    dotted(spot): (document, spot)
    for document in DOCUMENTS
    for spot in walk(document)
    if isinstance(spot.key, str) and not spot.holds_blocks and spot.key not in CHOOSING
}


def planned(document: object) -> object:
    """What a document comes to, but for where its steps stand: that is another with every change of the text."""
    return state(replace(load(text_of(document)).plan(), step_texts=()))


def test_the_full_documents_hold_every_key_of_the_schema() -> None:
    held = {
        (block.node["title"], key)
        for document in DOCUMENTS
        for block in walk(document)
        for key in keys_of(document, block)
    }
    assert held == {(block["title"], key) for _, block in blocks() for key in block["properties"]}


def keys_of(document: object, block: Spot) -> Iterator[str]:
    if "properties" in block.node:
        yield from at(document, block.path)


@pytest.mark.req("X16")
def test_the_table_names_every_key() -> None:
    assert sorted(OTHERWISE) == sorted(LEAVES)


def changed(place: str) -> object:
    base, spot = LEAVES[place]
    document = with_value(base, spot.path, OTHERWISE[place])
    return without(document, COMES_WITH[place]) if place in COMES_WITH else document


@pytest.mark.req("X16")
@pytest.mark.parametrize("place", LEAVES)
def test_changing_a_key_changes_the_plan(place: str) -> None:
    assert planned(changed(place)) != planned(LEAVES[place][0])


SETTINGS = (
    Plan,
    BatchLimits,
    Quotas,
    Keep,
    PointsKept,
    Checkpointing,
    DeadLetterLimits,
    Budget,
    IsolationLimits,
    SparkSettings,
    SinkSpec,
    RetryPolicy,
    BreakerPolicy,
)


def differing(old: object, new: object) -> Iterator[str]:
    """The settings in which two plans differ."""
    if isinstance(old, list):
        for one, other in zip(old, new, strict=True):  # type: ignore[call-overload]
            yield from differing(one, other)
    elif isinstance(old, SETTINGS):
        for field in fields(old):
            before, after = getattr(old, field.name), getattr(new, field.name)
            if state(before) != state(after):
                yield f"{type(old).__name__}.{field.name}"
            yield from differing(before, after)


def test_every_setting_of_a_pipeline_has_a_key() -> None:
    plans = {id(document): load(text_of(document)).plan() for document in DOCUMENTS}
    found = {
        setting
        for place, (document, _) in LEAVES.items()
        for setting in differing(plans[id(document)], load(text_of(changed(place))).plan())
    }
    assert found == {f"{kind.__name__}.{field.name}" for kind in SETTINGS for field in fields(kind)}


@pytest.mark.req("X16")
@pytest.mark.parametrize("path", [("apiVersion",), ("kind",), ("spec", "source", "type"), ("spec", "sinks", 0, "type")])
def test_another_format_or_kind_is_refused(path: Path) -> None:
    with pytest.raises(InvalidDocument, match=r"must be .*, not the text `another`"):
        load(text_of(with_value(FULL, path, "another")))


def test_each_kind_is_an_adapter_of_its_own() -> None:
    plan = load(text_of(several_sources())).plan()
    assert [source.kind for source in plan.sources] == ["generator", "files", "stdin", "http", "relay"]
    assert [spec.sink.kind for spec in plan.sinks] == ["files", "sqlite", "postgres", "http", "console"]


ONE_REQUIRED = without(with_value(FULL, ("spec", "sinks", 0, "required"), True), ("spec", "sinks", 0, "on_quota"))
"""The full document as it must be where the commit policy is the default."""


def containers() -> Iterator[tuple[str, Path, bool]]:
    """Every key that may be left out and holds other keys or items, and whether it may be empty."""
    for spot in walk(FULL):
        if not spot.is_required and spot.node.get("type") in ("object", "array"):
            must_hold = spot.node.get("required") or spot.node.get("minItems") or spot.node.get("minProperties")
            yield dotted(spot), spot.path, not must_hold


@pytest.mark.req("X17")
@pytest.mark.parametrize(
    ("place", "path"), [(place, path) for place, path, may_be_empty in containers() if may_be_empty]
)
@pytest.mark.parametrize("written", ["braces", "nothing"])
def test_an_empty_block_is_as_if_it_were_not_there(place: str, path: Path, written: str) -> None:
    empty = None if written == "nothing" else type(at(FULL, path))()
    assert planned(with_value(ONE_REQUIRED, path, empty)) == planned(without(ONE_REQUIRED, path)), place


@pytest.mark.req("X17")
@pytest.mark.parametrize(
    ("place", "path"), [(place, path) for place, path, may_be_empty in containers() if not may_be_empty]
)
@pytest.mark.parametrize("written", ["braces", "nothing"])
def test_a_block_that_needs_keys_is_refused_when_it_is_empty(place: str, path: Path, written: str) -> None:
    empty = None if written == "nothing" else type(at(FULL, path))()
    with pytest.raises(InvalidDocument, match=str(path[-1])):
        load(text_of(with_value(FULL, path, empty)))
