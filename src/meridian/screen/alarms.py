"""The alarms, each with what to do about it. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from meridian.screen.parts import Part, line, rest
from meridian.service.values import Alarm, Snapshot

_STYLES = {"critical": "bold red", "warning": "yellow"}
_LINES_EACH = 3
_INDENT = "   "


def alarms(snapshot: Snapshot, width: int) -> Part:
    """Critical ones first; one that there is no room for is counted."""
    raised = sorted(snapshot.alarms, key=lambda each: each.severity != "critical")
    told = [_told(alarm, width) for alarm in raised]

    def draw(height: int) -> RenderableType:
        return Group(*_fitting(told, height))

    wanted = sum(map(len, told))
    title = line(("Alarms: ", "bold"), (f"{len(raised):,}", "bold red"))
    return Part(title, draw, least=min(wanted, _LINES_EACH), wanted=wanted)


def _told(alarm: Alarm, width: int) -> list[Text]:
    style = _STYLES.get(alarm.severity, "yellow")
    mark = "!!" if alarm.severity == "critical" else " !"
    text = f"{mark} {alarm.name}: {alarm.says} → {alarm.remedy}"
    lines = textwrap.wrap(
        text, max(width, 20), subsequent_indent=_INDENT, max_lines=_LINES_EACH, placeholder=" …", break_on_hyphens=False
    )
    head = len(mark) + len(alarm.name) + 2
    first = line(lines[0])
    first.stylize(style, 0, head)
    return [first, *(line(each) for each in lines[1:])]


def _fitting(told: Sequence[Sequence[Text]], height: int) -> list[Text]:
    lines, shown = list[Text](), 0
    for number, alarm in enumerate(told):
        is_last = number == len(told) - 1
        if len(lines) + len(alarm) > height - (not is_last):
            break
        lines += alarm
        shown += 1
    if shown < len(told):
        left = len(told) - shown
        lines = lines or list(told[0][: max(height - (left > 1), 0)])
        left -= not shown
        lines += [rest(left, "alarms")] if left and height > 1 else []
    return lines[:height]
