"""Memory for the copies that a pause takes, kept from one snapshot to the next.

Fresh memory costs more than the copying: the system hands it out page by page while the operator stands still. So the
copies go where the last ones were. The price is that an operator needs its state's size twice all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checkpoint.operators.items import Buffer

HEADROOM = 8
"""A buffer may grow by one part in so many before it needs new memory."""


class CopyArena:
    """Takes copies. Those of one call are overwritten by the next call, so they must be done with by then."""

    def __init__(self) -> None:
        self._places: list[bytearray] = []

    def copy(self, buffers: Sequence[Buffer]) -> tuple[bytes | memoryview, ...]:
        """What the buffers hold now; a buffer that cannot change is taken as it is."""
        del self._places[len(buffers) :]
        self._places.extend(bytearray() for _ in range(len(buffers) - len(self._places)))
        return tuple(self._copy(index, buffer) for index, buffer in enumerate(buffers))

    def _copy(self, index: int, buffer: Buffer) -> bytes | memoryview:
        if isinstance(buffer, bytes):
            return buffer
        view = memoryview(buffer)
        if not view.c_contiguous:
            return bytes(view)
        place = self._place(index, view.nbytes)
        place[:] = view.cast("B")
        return place

    def _place(self, index: int, size: int) -> memoryview:
        if not size <= len(self._places[index]) <= 2 * size:
            self._places[index] = bytearray(size + size // HEADROOM)
        return memoryview(self._places[index])[:size]
