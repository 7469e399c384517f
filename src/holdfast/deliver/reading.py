"""Reads batches from the outbox for all lanes: each once while lanes keep together, some ahead, never more than a few.

What is kept is bounded by a number of batches; a lane that lags reads from the outbox again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from concurrent.futures import Future
from threading import Condition
from typing import TYPE_CHECKING

from holdfast.deliver.core import Halted
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.deliver.ports import Outbox


class Reader:
    """A few batches in memory in front of the outbox.

    :param capacity: how many batches are kept, read ahead or just read.
    """

    def __init__(self, outbox: Outbox, *, hook: StepHook = no_hook, capacity: int = 4) -> None:
        self._outbox = outbox
        self._hook = hook
        self._capacity = capacity
        self._changed = Condition()
        self._kept: OrderedDict[int, Future[pa.Table]] = OrderedDict()
        self._wanted: deque[int] = deque(maxlen=capacity)
        self._closed = False

    def read(self, oseq: int) -> pa.Table:
        """The rows of a batch."""
        with self._changed:
            kept = self._kept.get(oseq)
            if kept is None:
                mine = self._kept[oseq] = Future()
                self._forget_oldest()
            else:
                self._kept.move_to_end(oseq)
        return self._load(oseq, mine) if kept is None else kept.result()

    def want(self, oseq: int) -> None:
        """Somebody will read this batch soon."""
        with self._changed:
            if oseq not in self._kept and oseq not in self._wanted:
                self._wanted.append(oseq)
                self._changed.notify()

    @property
    def kept(self) -> int:
        """How many batches are in memory."""
        with self._changed:
            return len(self._kept)

    def run(self) -> None:
        """Read ahead what is wanted, until closed. A failure is met again by the lane that needs the batch."""
        while True:
            oseq = self._next_wanted()
            try:
                self.read(oseq)
            except Exception:
                continue

    def close(self) -> None:
        """Read nothing ahead any more, and forget what was read."""
        with self._changed:
            self._closed = True
            self._kept.clear()
            self._changed.notify_all()

    def _next_wanted(self) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._wanted)
            if self._closed:
                raise Halted
            return self._wanted.popleft()

    def _load(self, oseq: int, mine: Future[pa.Table]) -> pa.Table:
        try:
            self._hook(Step.DELIVER_READ)
            rows = self._outbox.read(oseq)
        except BaseException as error:
            with self._changed:
                if self._kept.get(oseq) is mine:
                    del self._kept[oseq]
            mine.set_exception(error)
            raise
        mine.set_result(rows)
        return rows

    def _forget_oldest(self) -> None:
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
