"""The branch to the correlator over real logs: what it leaves out, how exactly it is counted, and what a kill does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.branch_process import LOG, PIECES, PLAN, ROWS, WATCHED, branch, live, piece
from tests.support.operator_process import Fate
from tests.support.priority_rule import PriorityRule

from holdfast.disk.files import replace_file
from holdfast.flow import Priority, Sampler
from holdfast.flow.timer import SystemTimer
from holdfast.log import Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.model.positions import LogPosition, SiftedPosition
from meridian.sensors import columns_of
from meridian.sensors.branch import CorrelatorBranch, left_out_at
from meridian.sensors.watched import FILE

ROOT = Path(__file__).parents[4]
MARK = int(PLAN.capacity * 0.8)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / FILE).write_text(f'{{"objects": ["{WATCHED}"]}}')
    return tmp_path


def rows_in(directory: Path) -> pa.RecordBatch:
    with InboxReader.open(directory) as reader:
        return pa.concat_batches([batch.select(CAPTURED.names) for batch in reader.read(0)])


def counted(directory: Path) -> int:
    with InboxReader.open(directory) as reader:
        return left_out_at(reader.position_at(reader.end()))


def must_go_on(log: Path) -> set[int]:
    """The numbers of heartbeats and of all that is of high priority, by the words of the requirement."""
    is_high = PriorityRule().is_high(columns_of(rows_in(log)), {WATCHED})
    return {number for number, high in enumerate(is_high, start=1) if high}


def reconcile(place: Path) -> int:
    """All that must be there is there, once and in order, and the rest is counted; how many were left out."""
    captured = list(map(int, rows_in(place / "pipeline")["position"].to_pylist()))
    assert captured == sorted(set(captured))
    assert must_go_on(place / LOG) <= set(captured)
    assert len(captured) + counted(place / "pipeline") == PIECES * ROWS
    return counted(place / "pipeline")


@pytest.mark.req("PRI-02", "PRI-04", "FLW-03")
def test_only_low_priority_is_left_out_and_every_row_is_accounted_for(place: Path) -> None:
    live(place, 1, Fate(None, 0))
    assert reconcile(place) > 100


STEPS = ["inbox.write", "inbox.fsync", "inbox.index", "inbox.indexed", "snapshot.copied", "snapshot.write",
         "snapshot.durable", "cut.write", "cut.durable", "sweep.prune"]  # fmt: skip


@pytest.mark.req("PRI-02", "PRI-04", "CKP-01")
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_loses_nothing_that_matters_and_no_count(place: Path, step: str) -> None:
    for epoch, nth in enumerate((13, 3), start=1):
        command = [sys.executable, "-m", "tests.support.branch_process", str(place), str(epoch), step, str(nth)]
        assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == -signal.SIGKILL
    live(place, 3, Fate(None, 0))
    assert reconcile(place) > 50


def written(place: Path, pieces: range) -> None:
    with Inbox.open(place / LOG, name=LOG, epoch=1, flush_interval=0.0) as log:
        for number in pieces:
            log.push(piece(number)).result()


def opened(place: Path, after: SiftedPosition | LogPosition | None = None) -> CorrelatorBranch:
    source = branch(place)
    source.open(after)
    return source


def read(source: CorrelatorBranch) -> tuple[int, SiftedPosition]:
    """How many rows came, and where the source stands then; they are in the inbox."""
    found = source.read(0)
    assert found is not None
    assert isinstance(found.position, SiftedPosition)
    source.captured(found.position)
    return found.events.num_rows, found.position


Closing = Callable[[CorrelatorBranch], None]


@pytest.mark.req("PRI-02", "PRI-04")
def test_what_is_watched_only_later_is_let_through_from_then_on_and_no_longer_than_it_is_watched(
    place: Path, sources: Closing
) -> None:
    """Fusion does nothing, so that from the third piece on all of low priority is left out."""
    source, rule = opened_on(place, range(3)), PriorityRule()
    sources(source)
    read(source)
    rule.is_high(columns_of(rows_in(place / LOG)), {WATCHED})
    for number, watched in enumerate([{"fast-0"}, {"fast-1", "fast-2"}, set[str](), {WATCHED}], start=3):
        replace_file(place / FILE, json.dumps({"objects": sorted(watched)}))
        written(place, range(number, number + 1))
        found = source.read(0)
        assert found is not None
        expected = piece(number).filter(pa.array(rule.is_high(columns_of(piece(number)), watched)))
        assert Counter(names_in(found.events)) == Counter(names_in(expected)), watched
        assert {name: 8 for name in watched if name != WATCHED}.items() <= Counter(names_in(found.events)).items()


def opened_on(place: Path, pieces: range) -> CorrelatorBranch:
    written(place, pieces)
    return opened(place)


def names_in(events: pa.RecordBatch) -> list[str | None]:
    return columns_of(events).object_ids.to_pylist()


@pytest.fixture
def sources() -> Iterator[Closing]:
    """Closes what a test has opened."""
    made: list[CorrelatorBranch] = []
    yield made.append
    for source in made:
        source.close()


def test_a_read_of_which_nothing_is_left_moves_the_position(place: Path, sources: Closing) -> None:
    source = opened_with_lows_waiting(place)
    sources(source)
    with Inbox.open(place / "pipeline", name=LOG, epoch=1) as inbox:
        found = source.read(0)
        assert found is not None
        assert found.events.num_rows == 0
        inbox.append(found.events, position=found.position)
    with Inbox.open(place / "pipeline", name=LOG, epoch=2) as inbox:
        assert inbox.position() == found.position
        assert left_out_at(inbox.position()) == 3 * ROWS - MARK + 32


def opened_with_lows_waiting(place: Path) -> CorrelatorBranch:
    """Far above the mark, with nothing in the log but samples that say little."""
    written(place, range(3))
    source = opened(place)
    read(source)
    with Inbox.open(place / LOG, name=LOG, epoch=2, flush_interval=0.0) as log:
        log.push(piece(2).slice(16, 32)).result()
    return source


def test_while_there_is_room_everything_goes_on(place: Path, sources: Closing) -> None:
    written(place, range(1))
    source = opened(place)
    sources(source)
    rows, position = read(source)
    assert (rows, position.left_out) == (ROWS, 0)
    assert source.read(0) is None


def test_what_fusion_had_not_done_before_a_kill_still_waits_after_it(place: Path, sources: Closing) -> None:
    written(place, range(1))
    source = opened(place)
    sources(source)
    _, first = read(source)
    written(place, range(1, 2))
    _, second = read(source)
    source.acknowledge(first)
    again = opened(place, second)
    sources(again)
    again.read(0)
    assert metric(again, "channel_occupancy") == 2 * ROWS - second.left_out - ROWS


def test_what_was_let_in_waits_until_it_is_done(place: Path, sources: Closing) -> None:
    written(place, range(1))
    source = opened(place)
    sources(source)
    read(source)
    written(place, range(1, 2))
    _, second = read(source)
    assert second.left_out == 2 * ROWS - MARK
    source.acknowledge(second)
    written(place, range(2, 3))
    assert read(source)[1].left_out == second.left_out


def test_what_it_remembers_comes_back_after_a_kill_with_what_came_since(place: Path, sources: Closing) -> None:
    written(place, range(4))
    source = opened(place)
    sources(source)
    read(source)
    written(place, range(10, 11))
    found = source.read(0)
    assert found is not None
    assert isinstance(found.position, SiftedPosition)
    again = opened(place, found.position)
    sources(again)
    written(place, range(11, 12))
    again.read(0)
    assert metric(again, "priority_classifier_decisions_total", priority="low") == 4 * 8
    assert metric(again, "priority_classifier_decisions_total", priority="high") == ROWS - 1 - 4 * 8


def test_a_read_that_never_reached_the_inbox_is_not_remembered(place: Path, sources: Closing) -> None:
    written(place, range(4))
    source = opened(place)
    _, position = read(source)
    written(place, range(4, 5))
    source.read(0)
    source.close()
    again = opened(place, position)
    sources(again)
    again.read(0)
    assert metric(again, "priority_classifier_decisions_total", priority="high") == ROWS - 1 - 4 * 8


@pytest.mark.req("CKP-04")
def test_where_the_memory_came_from_is_counted(place: Path, sources: Closing) -> None:
    written(place, range(4))
    source = opened(place)
    assert metric(source, "recovery_path_total", path="fresh") == 1
    _, position = read(source)
    source.close()
    again = opened(place, position)
    sources(again)
    assert metric(again, "recovery_path_total", path="local") == 1


def test_a_damaged_memory_makes_everything_news_and_is_told(
    place: Path, sources: Closing, caplog: pytest.LogCaptureFixture
) -> None:
    written(place, range(4))
    source = opened(place)
    _, position = read(source)
    source.close()
    for document in (place / "memory" / "commits").iterdir():
        document.write_bytes(b"{")
    again = opened(place, position)
    sources(again)
    written(place, range(4, 5))
    read(again)
    assert "news again" in caplog.text
    assert metric(again, "priority_classifier_memory_losses_total") == 1
    assert metric(again, "priority_classifier_decisions_total", priority="low") == 4 * 3
    again.close()
    assert opened_losses(place, sources) == 0, "it can be kept again"


def opened_losses(place: Path, sources: Closing) -> float:
    source = opened(place, SiftedPosition(uuid_of(place), 5 * ROWS))
    sources(source)
    return metric(source, "priority_classifier_memory_losses_total")


def uuid_of(place: Path) -> str:
    with InboxReader.open(place / LOG) as reader:
        return reader.uuid


def test_a_memory_that_is_ahead_of_its_reader_is_not_used(place: Path, sources: Closing) -> None:
    written(place, range(4))
    source = opened(place)
    read(source)
    source.close()
    again = opened(place, SiftedPosition(uuid_of(place), ROWS))
    sources(again)
    assert metric(again, "priority_classifier_memory_losses_total") == 1


def test_a_pipeline_that_left_nothing_out_before_goes_on_behind_its_position(place: Path, sources: Closing) -> None:
    written(place, range(2))
    source = opened(place, LogPosition(uuid_of(place), ROWS))
    sources(source)
    assert read(source)[1] == SiftedPosition(uuid_of(place), 2 * ROWS, 0)


def test_what_cannot_be_read_goes_on_to_who_refuses_it(place: Path, sources: Closing) -> None:
    with Inbox.open(place / LOG, name=LOG, epoch=1, flush_interval=0.0) as log:
        torn = piece(0)
        payload = pa.array([b"?"] * torn.num_rows, pa.binary())
        for _ in range(4):
            log.push(torn.set_column(torn.schema.names.index("payload"), CAPTURED.field("payload"), payload)).result()
    source = opened(place)
    sources(source)
    assert read(source)[0] == 4 * ROWS > PLAN.capacity


@pytest.mark.req("PRI-04", "FLW-09", "FLW-11")
def test_it_says_how_full_it_is_and_what_it_drops_and_who_is_behind(place: Path, sources: Closing) -> None:
    source = opened_with_lows_waiting(place)
    sources(source)
    sampler = Sampler(
        lambda: [source.stats()],
        consumers={source.name: "fusion"},
        sources={"radar-1": source.name},
        timer=SystemTimer(),
    )
    read(source)
    sampler.sample()
    assert metric(source, "flow_policy_drops_total", policy="shed", priority="low") == 3 * ROWS - MARK + 32
    assert metric(source, "flow_policy_drops_total", policy="shed", priority="high") == 0
    assert metric(source, "channel_occupancy") == MARK + 32
    bottleneck = sampler.bottleneck()
    assert bottleneck is not None
    assert bottleneck.operator == "fusion"
    assert source.stats().drops[1].priority is Priority.LOW


@pytest.mark.req("FLW-03", "FLW-06")
def test_its_plan_and_what_it_leaves_out_are_logged(
    place: Path, sources: Closing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "holdfast.flow")
    source = opened_with_lows_waiting(place)
    sources(source)
    read(source)
    start, drops = [json.loads(record.message) for record in caplog.records if record.name == "holdfast.flow"]
    assert (start["event"], start["buffer_size"], start["policy"]) == ("edge", PLAN.capacity, "shed")
    assert (drops["event"], drops["dropped"]) == ("edge drops", 3 * ROWS - MARK)


def metric(source: CorrelatorBranch, name: str, **labels: str) -> float:
    (found,) = [each.value for each in source.metrics() if each.name == name and labels.items() <= each.labels.items()]
    return found
