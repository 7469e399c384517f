"""Values of the control service as text for people. It decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.output import styled, table, wrapped

if TYPE_CHECKING:
    from holdfast.control.alarms import AlarmChange
    from holdfast.control.status import Status
    from holdfast.control.values import Answer

_LONGEST_POSITION = 40
_RECOVERIES = {
    "remote": "recovered from the remote store at the start",
    "local_fallback": "recovered from older versions, because the newest were damaged",
}
COLORS = {"ok": "green", "degraded": "yellow", "failing": "red", "down": "red"}


def progress_line(status: Status, width: int | None = None) -> str:
    """A run in one line; where columns are few, in fewer words."""
    seen, health, rates = status.snapshot, status.health, status.rates
    waiting = sum(source.waiting for source in seen.sources)
    lanes = [
        f"{lane.name} {rates.delivered[lane.name]:,.0f}/s" + (f" lag {lane.lag_batches:,}" if lane.lag_batches else "")
        for lane in seen.lanes
    ]
    behind = max((lane.lag_batches for lane in seen.lanes), default=0)
    state = f"{seen.pipeline} {seen.state} {health.level.name.lower()}"
    captured = f"captured {sum(rates.captured.values()):,.0f}/s, {waiting:,} waiting"
    batch = f"batch {seen.outbox.newest:,}, committed {seen.outbox.committed:,}"
    lag = f"{len(lanes)} sinks, lag {behind:,}" if len(lanes) != 1 else lanes[0]
    lines = [
        f"{state} | {captured} | {batch} | {', '.join(lanes)}",
        f"{state} | {captured} | {batch} | {lag}",
        f"{state} | {captured} | batch {seen.outbox.newest:,} | {lag}",
        f"{state} | {captured}",
        state,
    ]
    return next((line for line in lines if width is None or len(line) + len("^C") < width), lines[-1])


def alarm_line(change: AlarmChange) -> str:
    """An alarm in one line."""
    if change.event == "cleared":
        return styled(f"over: {change.alarm.value} of {change.component}", "green")
    return styled(f"alarm: {change.alarm.value} of {change.component}: {_first(change.cause)} {change.remedy}", "red")


def record_text(name: str, record: object) -> str:
    """How a run ended."""
    from holdfast.control.values import plain

    value = plain(record)
    if value is None:
        return f"{name} has stopped."
    left = [
        f"{lane} has {len(batches):,} {what}"
        for what, per_lane in (
            ("batches to be sent", value["remaining"]),
            ("batches without an answer", value["abandoned"]),
        )
        for lane, batches in per_lane.items()
        if batches
    ]
    waiting = [
        f"{count:,} captured event{'s' * (count != 1)} of {source} wait{'s' * (count == 1)} in its inbox; "
        f"{'it is' if count == 1 else 'they are'} kept and processed after the next start."
        for source, count in value.get("unprocessed", {}).items()
    ]
    sent = [f"After the next start, {', '.join(left)}."] if left else []
    tail = " ".join([*waiting, *sent]) or "Nothing is left over."
    return f"{name} has stopped ({value['reason']}). {tail}"


def _checkpoints(checkpoint: Answer) -> list[str]:
    """Where checkpoints are, when that is not the SQLite file from which the run went on."""
    remote, recovery = checkpoint["remote"], checkpoint["recovery"]
    parts = [f"checkpoints in the {checkpoint['store']} store"]
    if recovery in _RECOVERIES:
        parts.append(_RECOVERIES[recovery])
    if remote is not None:
        behind = f", {remote['behind']:,} commits behind" if remote["behind"] else ""
        parts.append(f"remote copy {remote['health']}{behind}")
    return [", ".join(parts)] if len(parts) > 1 or checkpoint["store"] != "sqlite" else []


def status_text(status: Answer, width: int | None = None) -> str:
    """A whole status, within so many columns where there is a terminal."""
    seen, health, rates = status["snapshot"], status["health"], status["rates"]
    level = health["level"]
    process = f", process {seen['pid']}" if seen["pid"] else ""
    parts = [
        (
            f"{seen['pipeline']}: {seen['state']}{process}, {styled(level, COLORS[level])}, "
            f"{'ready' if health['ready'] else 'not ready'}"
        ),
        (
            f"batch {seen['outbox']['newest']:,} published, {seen['outbox']['committed']:,} committed; "
            f"{seen['dead_letters']['new']:,} dead letters to see to"
        ),
        *_checkpoints(seen["checkpoint"]),
        "",
        table(
            ("source", "state", "events", "rate/s", "waiting", "age", "event lag", "position"),
            [
                (
                    source["name"],
                    source["state"],
                    source["end"],
                    f"{rates['captured'][source['name']]:,.0f}",
                    source["waiting"],
                    seconds(source["age"]),
                    _lag(source["event_lag"]),
                    _shortened(source["position"]),
                )
                for source in seen["sources"]
            ],
            width,
        ),
        "",
        table(
            (
                "sink",
                "state",
                "cursor",
                "rate/s",
                "lag",
                "rows",
                "age",
                "event lag",
                "in flight",
                "dead",
                "latency p99",
            ),
            [
                (
                    lane["name"],
                    lane["state"],
                    lane["cursor"],
                    f"{rates['delivered'][lane['name']]:,.0f}",
                    lane["lag_batches"],
                    lane["lag_rows"],
                    seconds(lane["age"]),
                    _lag(lane["event_lag"]),
                    lane["in_flight"],
                    lane["rows_dead"],
                    seconds(lane["latency"]["p99"]) if lane["latency"]["batches"] else None,
                )
                for lane in seen["lanes"]
            ],
            width,
        ),
    ]
    return "\n".join([*parts, *findings_lines(health, width)])


def findings_lines(health: Answer, width: int | None = None) -> list[str]:
    """What is not well, why, and what to do."""
    lines = [""] if health["findings"] else []
    for finding in health["findings"]:
        alarm = f" [{finding['alarm']}]" if finding["alarm"] else ""
        lines.append(f"{styled(finding['level'], COLORS[finding['level']])}: {finding['component']}{alarm}")
        lines.append(wrapped(_first(finding["cause"]), width))
        lines.append(wrapped(finding["remedy"], width))
    return lines


def seconds(value: float) -> str:
    """A stretch of time for people."""
    if value < 1:
        return f"{value * 1000:.0f}ms"
    if value < 120:
        return f"{value:.1f}s"
    return f"{value / 60:.0f}min" if value < 7200 else f"{value / 3600:.1f}h"


def _shortened(position: str | None) -> str | None:
    """A position for people: that of many files has thousands of characters, and `--output json` has them all."""
    if position is None or len(position) <= _LONGEST_POSITION:
        return position
    return f"{position[: _LONGEST_POSITION - 1]}…"


def _lag(value: float | None) -> str | None:
    return None if value is None else seconds(max(0.0, value))


def _first(cause: str) -> str:
    return cause.splitlines()[0] if cause else ""
