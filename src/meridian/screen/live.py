"""The screen on a real terminal: it fills the window while it is watched, and leaves the last picture behind."""

from __future__ import annotations

import atexit
from types import TracebackType

from rich.console import Console
from rich.live import Live

from meridian.screen.drawing import PLAIN, Size, drawn
from meridian.service.values import Snapshot

GIVE_BACK = "\x1b[?1049l\x1b[?25h"
"""Takes a terminal back from a screen that cannot end any more: what was there before, and the cursor."""
_LINES_BELOW = 3
"""Are left free below the last picture, for whatever is said after it."""


class Screen:
    """Shows snapshots one after the other; without a terminal, below each other and without colours.

    The terminal is taken with the first snapshot, and given back by `end`, which is also called when the process exits.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console if console is not None else Console(highlight=False)
        self._live: Live | None = None
        self._last: Snapshot | None = None

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def show(self, snapshot: Snapshot) -> None:
        """Draw this in the place of what was there."""
        if not self._console.is_terminal:
            self._console.print(drawn(snapshot, Size(self._console.width, PLAIN.height)))
            return
        self._last = snapshot
        size = Size(self._console.width, self._console.height)
        self._started().update(drawn(snapshot, size), refresh=True)

    def end(self, *, has_stopped: bool = False) -> None:
        """Give the terminal back, with the last picture on it.

        :param has_stopped: whether what was watched has ended in the meantime, so that the picture says so.
        """
        if self._live is None or self._last is None:
            return
        if has_stopped:
            self._last = self._last.stopped()
        self._live.stop()
        self._live = None
        atexit.unregister(self.end)
        self._console.print(drawn(self._last, Size(self._console.width, self._console.height - _LINES_BELOW)))

    def _started(self) -> Live:
        if self._live is None:
            self._live = Live(console=self._console, screen=True, auto_refresh=False)
            self._live.start()
            atexit.register(self.end)
        return self._live
