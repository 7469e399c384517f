"""Whether a batch is due: every standing a sink can have, against every batch."""

from __future__ import annotations

import pytest
from tests.support.sink_lanes import batch_of, identity

from holdfast.model.errors import CursorMoved, DeliveryError, SinkFenced
from holdfast.sinks.sql.cursors import Standing, is_due

MINE = identity(epoch=5)
SIXTH = batch_of(6)


@pytest.mark.parametrize(("oseq", "due"), [(5, True), (6, False), (7, False), (600, False)])
def test_a_batch_is_due_exactly_when_the_cursor_is_at_the_one_before(oseq: int, due: bool) -> None:
    assert is_due(Standing(oseq, epoch=5), MINE, SIXTH) is due


@pytest.mark.parametrize(
    ("standing", "refusal"),
    [
        (None, CursorMoved),
        (Standing(oseq=5, epoch=4), CursorMoved),
        (Standing(oseq=6, epoch=4), CursorMoved),
        (Standing(oseq=5, epoch=6), SinkFenced),
        (Standing(oseq=6, epoch=6), SinkFenced),
        (Standing(oseq=0, epoch=6), SinkFenced),
        (Standing(oseq=4, epoch=5), CursorMoved),
        (Standing(oseq=0, epoch=5), CursorMoved),
    ],
    ids=str,
)
def test_a_batch_is_refused_when_the_sink_is_not_ours_or_not_where_we_think(
    standing: Standing | None, refusal: type[DeliveryError]
) -> None:
    with pytest.raises(refusal):
        is_due(standing, MINE, SIXTH)
