"""A pipeline drawn with characters: sources, then Spark and the outbox, then sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.output import styled
from holdfast.cli.showing import COLORS, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.control.values import Answer


def drawn(status: Answer, width: int | None = None) -> str:
    """The picture: from left to right, or from top to bottom where that is too wide."""
    seen, health = status["snapshot"], status["health"]

    def box(title: str, component: str, *lines: str) -> list[str]:
        level = health["components"].get(component, "ok")
        return _box([styled(title, COLORS[level]), *lines])

    sources = [
        box(
            source["name"],
            f"source {source['name']}",
            source["state"],
            f"{source['end']:,} events, {source['waiting']:,} waiting",
        )
        for source in seen["sources"]
    ]
    outbox = seen["outbox"]
    active = "active" if seen["spark"]["active"] else "not active"
    middle = _box(
        [
            styled(f"Spark {active}", COLORS[health["components"]["spark"]]),
            f"outbox: batch {outbox['newest']:,}",
            f"committed: {outbox['committed']:,}",
        ]
    )
    lanes = [
        box(
            f"{lane['name']}{'' if lane['required'] else ' (optional)'}",
            f"sink {lane['name']}",
            lane["state"],
            f"cursor {lane['cursor']:,}, {_lag(lane)}",
        )
        for lane in seen["lanes"]
    ]
    head = f"{seen['pipeline']}: {seen['state']}"
    left, right = _stacked(sources), _stacked(lanes)
    beside = _beside(left, middle, right)
    if width is None or max(map(_width, beside), default=0) <= width:
        return "\n".join([head, *beside])
    return "\n".join([head, *left, *_DOWN, *middle, *_DOWN, *right])


_DOWN = ["  │", "  ▼"]


def _beside(left: Sequence[str], middle: Sequence[str], right: Sequence[str]) -> list[str]:
    height = max(len(left), len(middle), len(right))
    rows = zip(_centred(left, height), _centred(middle, height), _centred(right, height), strict=True)
    arrows = height // 2
    return [
        f"{a}{'──▶' if number == arrows else '   '}{b}{'──▶' if number == arrows else '   '}{c}".rstrip()
        for number, (a, b, c) in enumerate(rows)
    ]


def _lag(lane: Answer) -> str:
    return f"{lane['lag_batches']:,} behind, {seconds(lane['age'])}" if lane["lag_batches"] else "has everything"


def _width(text: str) -> int:
    return len(click.unstyle(text))


def _box(lines: Sequence[str]) -> list[str]:
    width = max(map(_width, lines))
    inside = [f"│ {line}{' ' * (width - _width(line))} │" for line in lines]
    return [f"┌{'─' * (width + 2)}┐", *inside, f"└{'─' * (width + 2)}┘"]


def _stacked(boxes: Sequence[Sequence[str]]) -> list[str]:
    lines = [line for box in boxes for line in box]
    width = max((_width(line) for line in lines), default=0)
    return [line + " " * (width - _width(line)) for line in lines]


def _centred(lines: Sequence[str], height: int) -> list[str]:
    blank = " " * (_width(lines[0]) if lines else 0)
    above = (height - len(lines)) // 2
    return [blank] * above + list(lines) + [blank] * (height - len(lines) - above)
