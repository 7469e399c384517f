"""The lane of alerts to a subscriber: quick while it is quick, patient when it is not, and nothing is given up.

An alert is worth most at once, so a request that is not answered by the deadline has missed it: that is counted, told
in the log, and the lane's last error. The words stay in the outbox and are sent again under the same key; the
subscriber's book knows them if they had arrived. Since a subscriber that is always slow would otherwise never get past
the first of them, requests are given time from then on, until one is answered by the deadline again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from holdfast import Http, SinkSpec
from holdfast.deliver import BreakerPolicy, RetryPolicy
from holdfast.deliver.contract import LaneIdentity, Sink, SinkBatch, Tier
from holdfast.flow import Metric
from meridian.fusion.outputs import ALERTS

LANE = "subscriber"
DEADLINE = 0.2
"""Seconds from sending words to the answer that they are in the book."""
_PATIENCE = 10.0
_WORDS_AT_ONCE = 256
"""So many are in the book well within the deadline."""
_RETRY = RetryPolicy(base=0.1, cap=2.0, attempts=8, elapsed=30.0)
_BREAKER = BreakerPolicy(failure_rate=0.8, cool_down=2.0)
_LOG = logging.getLogger(__name__)


class Prompt(Sink):
    """A subscriber at `url` that has to answer by a deadline.

    :param deadline: in seconds.
    :param headers: sent with every request.
    """

    kind: ClassVar[str] = "subscriber"
    tier = Tier.AT_LEAST_ONCE

    def __init__(
        self,
        url: str,
        *,
        deadline: float = DEADLINE,
        headers: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.deadline, self._now = deadline, now
        self._prompt, self._patient = (
            Http(url, headers=headers, max_rows=_WORDS_AT_ONCE, timeout=seconds)
            for seconds in (deadline, max(deadline, _PATIENCE))
        )
        self._is_late = False
        self.piece_rows = _WORDS_AT_ONCE
        self.missed = 0
        """How many requests were not answered by the deadline."""

    def open(self, identity: LaneIdentity) -> None:
        """Nothing is asked of the subscriber before there are words."""
        for way in (self._prompt, self._patient):
            way.open(identity)

    def cursor(self) -> None:
        """A subscriber keeps words and no cursor of ours."""

    def deliver(self, batch: SinkBatch) -> None:
        """Send the words in one request."""
        if not batch.rows.num_rows:
            return
        way, began = self._patient if self._is_late else self._prompt, self._now()
        try:
            way.deliver(batch)
        finally:
            self._answered_after(self._now() - began)

    def probe(self, batch: SinkBatch) -> None:
        """Write the words as they would be sent, and send nothing."""
        self._prompt.probe(batch)

    def close(self) -> None:
        """Give up the connections."""
        for way in (self._prompt, self._patient):
            way.close()

    def metrics(self) -> tuple[Metric, ...]:
        """The figures of the lane."""
        return (Metric("timed_sink_deadline_misses_total", self.missed, {"sink": LANE}),)

    def _answered_after(self, seconds: float) -> None:
        was_late, self._is_late = self._is_late, seconds >= self.deadline
        self.missed += self._is_late
        if self._is_late and not was_late:
            _LOG.warning("the subscriber missed the deadline of %g s, %d times by now", self.deadline, self.missed)
        elif was_late and not self._is_late:
            _LOG.warning("the subscriber is in time again, after %d missed deadlines", self.missed)


def alerts_to(url: str, *, deadline: float = DEADLINE, token: str | None = None) -> SinkSpec:
    """The lane of every word on every alert, in order, to a subscriber that may be away without stopping the rest.

    :param token: what the subscriber knows us by.
    """
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return SinkSpec(
        name=LANE,
        sink=Prompt(url, deadline=deadline, headers=headers),
        required=False,
        retry=_RETRY,
        breaker=_BREAKER,
        only=ALERTS.route,
        columns=ALERTS.columns,
    )
