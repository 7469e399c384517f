"""Tells the sources how far everything is committed and durable.

A source that cannot be told holds nothing up: it is told later, and then the newest. Being told late is always safe.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.model.steps import Step, StepHook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from holdfast.deliver.core import Core
    from holdfast.model.positions import Position

logger = logging.getLogger(__name__)

_PAUSES = RetryPolicy(base=0.1, cap=10.0)


class Teller:
    """What the sources are still to be told. Used by the conductor only."""

    def __init__(
        self, core: Core, acknowledge: Callable[[Mapping[str, Position]], None], *, hook: StepHook, random: Random
    ) -> None:
        self._core = core
        self._acknowledge = acknowledge
        self._hook = hook
        self._random = random
        self._untold: dict[str, Position] = {}
        self._tries = Tries(_PAUSES)
        self._not_before = 0.0

    def tell(self, positions: Mapping[str, Position], now: float) -> None:
        """These positions are committed and durable."""
        self._untold.update(positions)
        self._try(now)

    def wait(self, now: float) -> float | None:
        """Seconds until the next try; None when there is nothing to tell."""
        return max(0.0, self._not_before - now) if self._untold else None

    def try_again(self, now: float) -> None:
        """Tell what could not be told before, if it is time."""
        if self.wait(now) == 0:
            self._try(now)

    def _try(self, now: float) -> None:
        self._hook(Step.SOURCE_ACKNOWLEDGE)
        try:
            self._acknowledge(dict(self._untold))
        except Exception as error:
            logger.warning("the sources could not be told their positions: %s", error)
            self._tries = self._tries.after_failure(now, self._random)
            self._not_before = now + self._tries.pause
            self._core.untold = error
        else:
            self._untold.clear()
            self._tries = Tries(_PAUSES)
            self._core.untold = None
