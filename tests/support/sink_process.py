"""A process of its own that delivers batches to a sink and kills itself at a step."""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import TYPE_CHECKING

from tests.support.sink_lanes import batch_of, identity, rows_of

if TYPE_CHECKING:
    from tests.support.sink_places import Place

BATCHES = 3
EXIT_DEADLINE = 60.0


def killed_at(place: Place, step: str, nth: int, rows_in_batch: int) -> bool:
    """Run an owner that is killed when it reaches the step for the nth time; False when it never does."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.sink_process", "tests.support.sink_places"])
    owner = context.Process(target=_deliver_all, args=(place, step, nth, rows_in_batch))
    owner.start()
    owner.join(EXIT_DEADLINE)
    try:
        assert owner.exitcode in (0, -signal.SIGKILL), f"the owner ended with {owner.exitcode}"
        return owner.exitcode == -signal.SIGKILL
    finally:
        owner.kill()
        owner.join()
        owner.close()


def deliver_rest(place: Place, epoch: int, rows_in_batch: int) -> None:
    """What the next owner does: go on from the sink's own cursor, or from the start if it keeps none."""
    sink = place.sink()
    sink.open(identity(epoch))
    for oseq in range((sink.cursor() or 0) + 1, BATCHES + 1):
        sink.deliver(batch_of(oseq, rows_of(oseq, rows_in_batch)))
    sink.close()


def _deliver_all(place: Place, step: str, nth: int, rows_in_batch: int) -> None:
    def kill(reached: str) -> None:
        counted[reached] = counted.get(reached, 0) + 1
        if reached == step and counted[reached] == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    counted: dict[str, int] = {}
    sink = place.sink()
    sink.open(identity(1, hook=kill))
    for oseq in range(1, BATCHES + 1):
        sink.deliver(batch_of(oseq, rows_of(oseq, rows_in_batch)))
