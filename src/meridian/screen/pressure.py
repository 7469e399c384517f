"""How full the queues are from the sensors to the subscriber, and which one holds the others up. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from meridian.screen.parts import DIM, Part, bar, cell, line
from meridian.service.values import Occupancy, Snapshot

_FULL, _FILLING = 0.9, 0.7
_FEWEST_LINES = 3
_COUNTED_FROM = 60
"""From this width on there is room for counts, too."""
_PERCENT = 4


def pressure(snapshot: Snapshot, width: int) -> Part:
    """The gradient of occupancy, upstream first."""
    title = _title(snapshot.bottleneck)
    edges = list(snapshot.occupancies)

    def draw(height: int) -> RenderableType:
        return _bars(fullest(edges, snapshot.bottleneck, height), snapshot.bottleneck, width)

    wanted = max(len(edges), 1)
    return Part(title, draw, least=min(wanted, _FEWEST_LINES), wanted=wanted)


def fullest(edges: Sequence[Occupancy], bottleneck: str | None, room: int) -> list[Occupancy]:
    """As many edges as there is room for, in their order: the bottleneck, and the fullest of the others."""
    by_need = sorted(range(len(edges)), key=lambda at: (edges[at].edge != bottleneck, -edges[at].share, at))
    return [edges[at] for at in sorted(by_need[: max(room, 0)])]


def _title(bottleneck: str | None) -> Text:
    if bottleneck is None:
        return line(("Queues", "bold"))
    return line(("Bottleneck: ", "bold"), (_short(bottleneck), "bold yellow"))


def _short(edge: str) -> str:
    """From where to where; a source has one log, which has its name."""
    start, arrow, end = edge.partition(" -> ")
    end = "log" if end == f"obs.{start}" else end
    return f"{start}{arrow and '→'}{end}".replace("obs.", "")


def _bars(edges: Sequence[Occupancy], bottleneck: str | None, width: int) -> RenderableType:
    if not edges:
        return line(("No queue was measured yet.", DIM))
    names = min(max(len(_short(each.edge)) for each in edges), max(width // 2, 8))
    counts = max(len(_count(each)) for each in edges) if width >= _COUNTED_FROM else 0
    room = max(width - names - _PERCENT - counts - 3, 4)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=names, no_wrap=True, overflow="ellipsis")
    grid.add_column(width=room)
    grid.add_column(width=_PERCENT, justify="right")
    grid.add_column(width=counts, justify="right", style=DIM, no_wrap=True)
    for each in edges:
        style = "bold yellow" if each.edge == bottleneck else ""
        filled = bar(each.share, room, _style(each.share))
        grid.add_row(cell(_short(each.edge), style), filled, f"{each.share:.0%}", _count(each) if counts else "")
    return grid


def _count(edge: Occupancy) -> str:
    return f"{edge.count:,}/{edge.capacity:,}"


def _style(share: float) -> str:
    return "red" if share >= _FULL else "yellow" if share >= _FILLING else "cyan"
