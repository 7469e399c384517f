"""kill -9 at each step of a delivery: after the next owner went on, every row is there, and there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.model.steps import Step
from tests.support.sink_lanes import ROWS_IN_BATCH, Lanes, batch_of, seqs_of
from tests.support.sink_places import PLACES
from tests.support.sink_process import BATCHES, deliver_rest, killed_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.servers import Servers

STEPS = (Step.SINK_WRITE, Step.SINK_COMMIT, Step.SINK_COMMITTED)
ROWS_OF_THREE_PARTS = {"files-parquet": 300_000, "files-jsonl": 40_000}
EVERYTHING = seqs_of(*range(1, BATCHES + 1))


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_and_doubles_nothing(lanes: Lanes, step: Step, nth: int) -> None:
    assert killed_at(lanes.place, step, nth, ROWS_IN_BATCH)
    deliver_rest(lanes.place, epoch=2, rows_in_batch=ROWS_IN_BATCH)
    assert lanes.seqs() == EVERYTHING


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("step", STEPS)
def test_what_is_there_right_after_a_kill_is_what_the_cursor_says(owned: Lanes, step: Step) -> None:
    assert killed_at(owned.place, step, 2, ROWS_IN_BATCH)
    cursor = owned.open(epoch=2).cursor()
    assert cursor == (2 if step is Step.SINK_COMMITTED else 1)
    assert owned.seqs() == seqs_of(*range(1, cursor + 1))


@pytest.mark.req("X7", "X5")
@pytest.mark.parametrize("name", ROWS_OF_THREE_PARTS)
@pytest.mark.parametrize(("step", "nth"), [(Step.SINK_WRITE, 1), *((Step.SINK_COMMIT, n) for n in (1, 2, 3, 5))])
def test_a_kill_between_the_parts_of_a_batch_leaves_whole_files_and_the_rest_follows(
    tmp_path: Path, servers: Servers, name: str, step: Step, nth: int
) -> None:
    place, count = PLACES[name](tmp_path, servers), ROWS_OF_THREE_PARTS[name]
    assert killed_at(place, step, nth, count)
    expected = seqs_of(*range(1, BATCHES + 1), count=count)
    before = Lanes(place).seqs()
    assert before == expected[: len(before)], "a file that has a name is whole"
    deliver_rest(place, epoch=2, rows_in_batch=count)
    assert Lanes(place).seqs() == expected


@pytest.mark.req("X7")
@pytest.mark.parametrize("name", ROWS_OF_THREE_PARTS)
def test_half_written_files_of_a_killed_owner_are_never_seen_and_are_swept(
    tmp_path: Path, servers: Servers, name: str
) -> None:
    place = PLACES[name](tmp_path, servers)
    assert killed_at(place, Step.SINK_COMMIT, 1, ROWS_IN_BATCH)
    left = [path.name for path in (tmp_path / "orders").iterdir()]
    assert len(left) == 1
    assert left[0].startswith(".")
    Lanes(place).open(epoch=2)
    assert place.is_untouched()


def test_a_killed_owner_does_not_lock_its_successor_out(lanes: Lanes) -> None:
    assert killed_at(lanes.place, Step.SINK_COMMIT, 1, ROWS_IN_BATCH)
    lanes.open(epoch=2).deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)
