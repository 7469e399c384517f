"""One planted bug after the other: the crash matrix must notice each of them, else it proves nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from tests.support.deliver_crashes import STEPS, crash_with_a_hole, run_through
from tests.support.deliver_faults import Dying
from tests.support.deliver_world import World

from holdfast.deliver.conductor import Conductor
from holdfast.deliver.core import Core
from holdfast.deliver.courier import Courier
from holdfast.deliver.deadletters import LaneDeadLetters
from holdfast.deliver.job import Job
from holdfast.deliver.keeping import CursorKeeper
from holdfast.deliver.taking import Attempt, Taking
from holdfast.deliver.worker import Worker
from holdfast.ledger.cursors import Cursors
from holdfast.ledger.lane import Lane
from holdfast.model.errors import HoldfastError
from holdfast.model.steps import Step

Plant = Callable[[pytest.MonkeyPatch], None]


def acknowledged_before_delivered(patch: pytest.MonkeyPatch) -> None:
    """The ledger hears that the sink has the batch; it is sent when a cursor that counts it is on disk."""
    owed: defaultdict[Core, list[tuple[str, Courier, Job]]] = defaultdict(list)
    write = CursorKeeper.write

    def carry(self: Worker, job: Job, attempt: Attempt) -> None:
        owed[self._core].append((self._lane.name, self._courier, job))
        self._resolve(job, attempt)

    def write_then_send(self: CursorKeeper, cursors: Cursors) -> None:
        write(self, cursors)
        for each in list(owed[self._core]):
            lane, courier, job = each
            if job.oseq <= cursors.delivered[lane]:
                owed[self._core].remove(each)
                courier.bring(job)

    patch.setattr(Worker, "_carry", carry)
    patch.setattr(CursorKeeper, "write", write_then_send)


def dead_letters_after_the_cursor(patch: pytest.MonkeyPatch) -> None:
    """Rejected rows are recorded when the batch is resolved, not before."""
    late: list[Callable[[], None]] = []
    record, resolve = LaneDeadLetters.record, Worker._resolve
    patch.setattr(LaneDeadLetters, "record", lambda *args, **how: late.append(lambda: record(*args, **how)))
    patch.setattr(Conductor, "_see_that_rows_are_dead_letters", lambda *_: None)

    def resolve_then_record(self: Worker, job: Job, attempt: Attempt) -> None:
        resolve(self, job, attempt)
        while late:
            late.pop()()

    patch.setattr(Worker, "_resolve", resolve_then_record)


def rejected_rows_are_sent_again(patch: pytest.MonkeyPatch) -> None:
    """A resumed batch does not look up what was rejected before."""
    read = Taking._read

    def forgetful(self: Taking, oseq: int, previous: int) -> Job:
        job = read(self, oseq, previous)
        job.rejected, job.owed = frozenset(), job.parcel
        return job

    patch.setattr(Taking, "_read", forgetful)


def durable_by_word_only(patch: pytest.MonkeyPatch) -> None:
    """The ledger hears that cursors are durable which were not written, so batches are forgotten too early."""
    write = CursorKeeper.write

    def claim(self: CursorKeeper, cursors: Cursors) -> None:
        if cursors.stop is None and self._core.durable is not None:
            self._hook(Step.CURSOR_WRITE)
            self._are_durable(cursors)
        else:
            write(self, cursors)

    patch.setattr(CursorKeeper, "write", claim)


def cursor_past_a_hole(patch: pytest.MonkeyPatch) -> None:
    """The cursor follows the newest answer instead of the resolved prefix."""

    def resolve(self: Lane, oseq: int) -> bool:
        self.window.remove(oseq)
        self.delivered = max(self.delivered, oseq)
        return True

    patch.setattr(Lane, "_resolve", resolve)


def cursor_of_the_sink_stays_behind(patch: pytest.MonkeyPatch) -> None:
    """A batch of which nothing is left is not delivered, although the sink keeps a cursor."""
    patch.setattr(Courier, "_is_needed", lambda self, job: len(job.owed) > 0)


def a_refusal_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Refused rows are left out and recorded nowhere."""
    patch.setattr(LaneDeadLetters, "record", lambda *_, **__: None)
    patch.setattr(Conductor, "_see_that_rows_are_dead_letters", lambda *_: None)


BUGS: list[Plant] = [
    acknowledged_before_delivered,
    dead_letters_after_the_cursor,
    rejected_rows_are_sent_again,
    durable_by_word_only,
    cursor_of_the_sink_stays_behind,
    a_refusal_is_forgotten,
]


def the_matrix_notices() -> bool:
    for occurrence in (1, 2, 3, 4, 6):
        for step in STEPS:
            try:
                run_through(Dying(step, occurrence))
            except (AssertionError, HoldfastError):
                return True
    return False


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_crash_matrix_notices(bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert the_matrix_notices()


@pytest.mark.req("D1")
def test_a_cursor_past_a_hole_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cursor_past_a_hole(monkeypatch)
    with pytest.raises(AssertionError):
        crash_with_a_hole(world)
