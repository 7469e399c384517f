"""Which alarms began and which are over, from one status to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.control.health import Alarm, Finding

if TYPE_CHECKING:
    from holdfast.control.status import Status


@dataclass(frozen=True, slots=True)
class AlarmChange:
    """An alarm that began or is over."""

    event: str
    """`alarm` or `cleared`."""
    pipeline: str
    at: datetime
    alarm: Alarm
    component: str
    cause: str
    remedy: str


class Alarms:
    """The alarms that are raised."""

    def __init__(self) -> None:
        self._raised: dict[tuple[Alarm, str], Finding] = {}

    def changes(self, status: Status) -> Iterator[AlarmChange]:
        """What changed since the status before."""
        now = {(f.alarm, f.component): f for f in status.health.findings if f.alarm is not None}
        for key, finding in now.items():
            if key not in self._raised:
                yield _change("alarm", status, key[0], finding)
        for key, finding in self._raised.items():
            if key not in now:
                yield _change("cleared", status, key[0], finding)
        self._raised = now


def _change(event: str, status: Status, alarm: Alarm, finding: Finding) -> AlarmChange:
    seen = status.snapshot
    return AlarmChange(event, seen.pipeline, seen.at, alarm, finding.component, finding.cause, finding.remedy)
