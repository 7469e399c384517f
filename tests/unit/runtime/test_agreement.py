"""Spark's checkpoint and the outbox belong together, or the start is refused with the reason."""

from __future__ import annotations

import pytest

from holdfast.model.errors import PipelineDiverged
from holdfast.runtime.agreement import OutboxBatch, SparkStands, agree

INITIAL = {"a": 0}


def ends(batch_id: int) -> dict[str, int]:
    return {"a": 10 * (batch_id + 1)}


def spark(planned: int | None, finished: int | None, *, query: str = "q", first: int = 0) -> SparkStands:
    known = range(first, planned + 1) if planned is not None else ()
    return SparkStands(query, planned, finished, {number: ends(number) for number in known})


def published(*batch_ids: int, query: str = "q") -> list[OutboxBatch]:
    return [OutboxBatch(number, query, ends(number)) for number in batch_ids]


@pytest.mark.parametrize(
    ("stands", "outbox", "start", "recorded"),
    [
        pytest.param(None, [], INITIAL, (), id="the first start"),
        pytest.param(spark(None, None), [], INITIAL, (), id="started, nothing planned"),
        pytest.param(spark(0, None), [], ends(0), (), id="planned, not published"),
        pytest.param(spark(3, 2), published(0, 1, 2), ends(3), (), id="killed before publishing"),
        pytest.param(spark(3, 2), published(0, 1, 2, 3), ends(3), (), id="killed before finishing"),
        pytest.param(spark(3, 3), published(0, 1, 2, 3), ends(3), (), id="killed between batches"),
        pytest.param(spark(3, 3, first=2), published(3), ends(3), (), id="both have forgotten what is old"),
        pytest.param(spark(1, 1), published(0, 1, 2, 3), ends(1), (ends(2), ends(3)), id="an older checkpoint"),
        pytest.param(spark(None, None), published(0, 1), INITIAL, (ends(0), ends(1)), id="offsets lost, metadata kept"),
    ],
)
def test_where_reading_goes_on(
    stands: SparkStands | None,
    outbox: list[OutboxBatch],
    start: dict[str, int],
    recorded: tuple[dict[str, int], ...],
) -> None:
    found = agree(stands, outbox, INITIAL)
    assert (found.start, found.recorded) == (start, recorded)


@pytest.mark.parametrize(
    ("stands", "reads_from"),
    [(None, INITIAL), (spark(0, None), INITIAL), (spark(3, 2), ends(2)), (spark(3, 3), ends(3))],
)
def test_what_spark_reads_again_begins_behind_what_it_finished(
    stands: SparkStands | None, reads_from: dict[str, int]
) -> None:
    outbox = published(0, 1, 2, 3) if stands and stands.finished else []
    assert agree(stands, outbox, INITIAL).reads_from == reads_from


@pytest.mark.parametrize(
    ("stands", "outbox", "why"),
    [
        pytest.param(None, published(0, 1), "is gone", id="checkpoint removed"),
        pytest.param(spark(1, 1, query="other"), published(0, 1), "query other", id="checkpoint of another query"),
        pytest.param(spark(3, 3), published(0, 1), "has finished batch 3", id="outbox of an older copy"),
        pytest.param(spark(3, 3), [], "has finished batch 3", id="outbox made anew"),
        pytest.param(spark(1, 1), published(4, 5), "only from 4 on", id="checkpoint too old to bridge"),
        pytest.param(
            SparkStands("q", 1, 1, {0: {"a": 10}, 1: {"a": 99}}), published(0, 1), "up to {'a': 99}", id="other ends"
        ),
    ],
)
def test_what_does_not_fit_is_explained_and_nothing_starts_afresh(
    stands: SparkStands | None, outbox: list[OutboxBatch], why: str
) -> None:
    with pytest.raises(PipelineDiverged, match=why):
        agree(stands, outbox, INITIAL)
