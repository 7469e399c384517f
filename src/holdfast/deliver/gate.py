"""Lets several deliveries into a sink at once, and everything else only when no delivery is under way."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Gate:
    """Guards one sink. Who waits to be alone goes before deliveries that come later."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._waiting_to_be_alone = 0
        self._is_alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """For `deliver`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone and not self._waiting_to_be_alone)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For everything else that is asked of a sink."""
        with self._changed:
            self._waiting_to_be_alone += 1
            self._changed.wait_for(lambda: not self._is_alone and not self._inside)
            self._waiting_to_be_alone -= 1
            self._is_alone = True
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()
