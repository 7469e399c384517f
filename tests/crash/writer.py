"""A process that writes state and offset in one commit after another until it is killed, and tells each number."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Commit, Put

if TYPE_CHECKING:
    from tests.support.backends import Backend

STATE, OFFSET = "state", "offset"


def state_after(number: int) -> bytes:
    """A state of a few kilobytes that only this number can have produced."""
    return f"{number}:".encode() + number.to_bytes(8, "big") * 700


def write_until_killed(backend: Backend, pipe: int) -> None:
    """Go on from what is stored; the number of each commit is told only after the store has returned."""
    with backend.open() as store:
        epoch = store.take_over()
        stored = store.get_raw(OFFSET)
        number = int(stored.payload) if stored else 0
        while True:
            number += 1
            store.commit(Commit(epoch, [Put(STATE, state_after(number)), Put(OFFSET, str(number).encode())]))
            os.write(pipe, b"%d\n" % number)
            if number % 50 == 0:
                store.prune(STATE, keep=5, epoch=epoch)
                store.prune(OFFSET, keep=5, epoch=epoch)
