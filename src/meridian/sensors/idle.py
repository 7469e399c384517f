"""When a silent source says that it is only silent: the rule for heartbeats. Pure.

A watermark that follows the newest observation stands still while nothing comes, and would hold everybody else back. So
a source that has been silent for a while tells until when there was nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class IdleRule:
    """When to send a heartbeat, and what it says."""

    after_ns: int = 2 * _SECOND
    """A source that has been silent for so long is idle."""
    every_ns: int = _SECOND
    margin_ns: int = _SECOND // 10
    """So much less than is certain it claims."""

    def heartbeat(
        self,
        *,
        now_ns: int,
        silent_since_ns: int,
        last_beat_ns: int | None,
        quiet_until_ns: int | None,
        max_lateness_ns: int,
        watermark_ns: int,
    ) -> int | None:
        """The time before which nothing is to be expected any more; None when there is nothing to say.

        :param quiet_until_ns: until when silence means that there was nothing; None when nobody knows.
        :param watermark_ns: what was claimed before; less than that is never claimed.
        """
        is_idle = now_ns - silent_since_ns >= self.after_ns
        is_due = last_beat_ns is None or now_ns - last_beat_ns >= self.every_ns
        if not is_idle or not is_due or quiet_until_ns is None:
            return None
        through = quiet_until_ns - max_lateness_ns - self.margin_ns
        return through if through > watermark_ns else None
