"""What is on the screen, in which size, and what it survives."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.support import seen

from meridian.fusion.life import Stage
from meridian.screen import Size, drawn
from meridian.screen.drawing import shared
from meridian.screen.resilience import breakers
from meridian.service.delays import Delay, Spread
from meridian.service.seen import SinkSeen
from meridian.service.values import Alarm, ConjunctionSeen, Occupancy, Snapshot, SourceProgress

SMALL, MEDIUM, LARGE = Size(80, 24), Size(120, 40), Size(200, 60)
SIZES = (SMALL, MEDIUM, LARGE)


def lines_of(snapshot: Snapshot, size: Size = MEDIUM) -> list[str]:
    console = Console(width=size.width, height=size.height, file=StringIO(), highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(drawn(snapshot, size))
    return captured.get().splitlines()


def text_of(snapshot: Snapshot, size: Size = MEDIUM) -> str:
    return "\n".join(lines_of(snapshot, size))


# The rows that there must be

ROWS: dict[str, tuple[str, ...]] = {
    "watermarks": ("watermark 09:26:17", "36 s behind", "held by optical", "09:26:49", "09:26:46"),
    "windows": ("windows 7 active, 2 retained",),
    "lateness": ("late 1,207", "too late 3"),
    "occupancy": ("inbox radar-1→fu", "93%", "radar-1→inbox", "31%"),
    "bottleneck": ("Bottleneck: inbox radar-1",),
    "drops": ("dropped at the edge 12 (radar kernel 12)",),
    "source lag": ("source lag", "64 ms", "22 s", "256 ms"),
    "pipeline lag": ("pipeline lag", "810 ms", "1.2 s", "780 ms"),
    "the whole delay": ("alerts take 24 s",),
    "checkpoint": ("checkpoint 1.4 s old", "state 18 MB"),
    "dead letters": ("dead letters 5 (NotCatalogued 4, ValidationFailed 1)",),
    "recovery": ("restarts 1, recovery local",),
    "breaker": ("breakers optical half-open",),
    "retractions": ("118 told, 9 taken back",),
    "alarms": ("1 alarm", "watermark-stalled: The watermark has stood still", "→ Look whether the optical archive"),
}


@pytest.mark.req("OBS-02")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_on_the_screen_in_every_size(row: str, size: Size) -> None:
    shown = text_of(seen.FULL, size)
    assert [each for each in ROWS[row] if each not in shown] == []


# Sizes


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("snapshot", [seen.FULL, seen.EMPTY, seen.CROWDED], ids=["full", "empty", "crowded"])
def test_it_fits(snapshot: Snapshot, size: Size) -> None:
    shown = lines_of(snapshot, size)
    assert len(shown) <= size.height
    assert max(map(len, shown)) <= size.width


def test_before_the_first_batch_it_says_what_it_waits_for() -> None:
    shown = text_of(seen.EMPTY)
    for expected in ("Waiting for the first observations.", "No conjunction stands.", "Nothing was said yet."):
        assert expected in shown
    assert "None" not in shown


def test_what_there_is_no_room_for_is_counted() -> None:
    shown = text_of(seen.CROWDED, SMALL)
    assert "Conjunctions that stand: 500" in shown
    assert "and 498 more conjunctions" in shown
    assert "and 7 more alarms" in shown


def test_a_larger_screen_shows_more_conjunctions() -> None:
    counts = [sum("&" in line for line in lines_of(seen.CROWDED, size)) for size in SIZES]
    assert counts == sorted(set(counts))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)).map(lambda each: (each[0], sum(each))), max_size=6),
    st.integers(-5, 80),
)
def test_lines_are_shared_without_waste_and_nobody_gets_less_than_the_least(
    needs: list[tuple[int, int]], lines: int
) -> None:
    given_ = shared(needs, lines)
    assert all(least <= got <= wanted for got, (least, wanted) in zip(given_, needs, strict=True))
    enough = sum(least for least, _ in needs) <= lines
    assert not enough or sum(given_) == min(lines, sum(wanted for _, wanted in needs))


# Conjunctions


def test_the_time_to_the_closest_approach_counts_down() -> None:
    later = replace(seen.FULL, at_ns=seen.NOW + 60 * seen.SECOND)
    assert "00:06:53" in text_of(seen.FULL)
    assert "00:05:53" in text_of(later)


def test_a_passage_that_is_over_is_told_as_such() -> None:
    assert "00:00:07 ago" in text_of(replace(seen.FULL, at_ns=seen.conjunction().closest_ns + 7 * seen.SECOND))


def colours_of(probability: float) -> set[str]:
    shown = replace(seen.conjunction(), probability=probability)
    console = Console(width=120, file=StringIO(), force_terminal=True, highlight=False, color_system="standard")
    with console.capture() as captured:
        console.print(drawn(replace(seen.EMPTY, conjunctions=[shown]), MEDIUM))
    (row,) = (line for line in captured.get().splitlines() if "90001 & 90025" in line)
    return {name for name, code in (("red", "\x1b[1;31m"), ("yellow", "\x1b[33m")) if code in row}


@pytest.mark.parametrize(
    ("probability", "colours"),
    [(1.1e-4, {"red"}), (1e-4, {"yellow"}), (1.1e-6, {"yellow"}), (1e-6, set()), (0.0, set())],
)
def test_the_colour_tells_how_bad_it_is(probability: float, colours: set[str]) -> None:
    assert colours_of(probability) == colours


@pytest.mark.parametrize(("probability", "mark"), [(2e-4, "!!"), (2e-5, " !"), (2e-7, "  ")])
def test_a_mark_tells_it_where_there_are_no_colours(probability: float, mark: str) -> None:
    shown = replace(seen.conjunction(), probability=probability)
    (row,) = (line for line in lines_of(replace(seen.EMPTY, conjunctions=[shown])) if "90001 & 90025" in line)
    assert row[:2] == mark


def test_a_probability_that_is_not_known_is_told_as_that_and_marked() -> None:
    shown = replace(seen.conjunction(), probability=float("nan"))
    (row,) = (line for line in lines_of(replace(seen.EMPTY, conjunctions=[shown])) if "90001 & 90025" in line)
    assert row[:2] == " ?"
    assert "unknown" in row


@pytest.mark.parametrize(
    ("state", "said"), [("running", " running "), ("draining", " draining "), (None, " not running ")]
)
def test_the_head_says_what_fusion_does(state: str | None, said: str) -> None:
    pipeline = None if state is None else replace(seen.PIPELINE, state=state)
    (head, *_) = lines_of(replace(seen.FULL, pipeline=pipeline, is_running=state is not None))
    assert head.startswith(f"MERIDIAN {said}")


@pytest.mark.parametrize("state", ["running", "draining"])
def test_the_last_picture_of_a_run_says_that_it_has_stopped(state: str) -> None:
    shown = replace(seen.FULL, pipeline=replace(seen.PIPELINE, state=state)).stopped()
    assert lines_of(shown)[0].startswith("MERIDIAN  stopped ")


# The names of objects

COLUMNS = (80, 100, 120, 150, 170, 180, 200, 240)
SHORT = ("MERIDIAN 12", "DEBRIS 12")
LONG = ("COSMOS 2251 DEB (34567)", "FENGYUN 1C DEB (30123)")
ENDLESS = ("THE FIRST NAME OF MORE THAN FORTY CHARACTERS A", "THE OTHER NAME OF MORE THAN FORTY CHARACTERS B")


def named(snapshot: Snapshot, names: tuple[str, str]) -> Snapshot:
    a, b = names
    return replace(
        snapshot,
        conjunctions=[replace(each, name_a=a, name_b=b) for each in snapshot.conjunctions],
        words=[replace(each, name_a=a, name_b=b) for each in snapshot.words],
    )


def conjunction_rows(snapshot: Snapshot, columns: int) -> list[str]:
    """The rows of the conjunctions that stand, up to their stage."""
    found = (re.match(r"(.*?  )(?:raised|updated)\b", line) for line in lines_of(snapshot, Size(columns, 60)))
    return [each[1] for each in found if each]


@pytest.mark.parametrize("columns", COLUMNS)
def test_both_objects_of_a_conjunction_are_readable_in_every_width_without_names(columns: int) -> None:
    rows = conjunction_rows(seen.FULL, columns)
    assert len(rows) == len(seen.FULL.conjunctions)
    for row, each in zip(rows, by_urgency(seen.FULL), strict=True):
        assert f"{each.object_a} & {each.object_b} " in row


@pytest.mark.parametrize("columns", COLUMNS)
def test_both_names_of_a_conjunction_are_readable_in_every_width(columns: int) -> None:
    for row in conjunction_rows(named(seen.FULL, SHORT), columns):
        assert "MERIDIAN 12 & DEBRIS 12 " in row


@pytest.mark.parametrize("columns", [120, 180, 200])
def test_long_names_take_the_room_of_columns_that_say_less(columns: int) -> None:
    for row in conjunction_rows(named(seen.FULL, LONG), columns):
        assert " & ".join(LONG) in row


@pytest.mark.parametrize("columns", COLUMNS)
def test_of_names_that_are_too_long_both_ends_stay(columns: int) -> None:
    rows = conjunction_rows(named(seen.FULL, ENDLESS), columns)
    assert len(rows) == len(seen.FULL.conjunctions)
    for row in rows:
        assert re.search(r"  THE [^&]*…[^&]* A & THE [^&]*…[^&]* B  |  THE [^&…]*A & THE [^&…]*B  ", row)


WIDE = ("実証衛星の第一号機という名前をもつ物体の甲", "実証衛星の第二号機という名前をもつ物体の乙")


@pytest.mark.parametrize("columns", COLUMNS)
def test_names_whose_characters_take_two_columns_are_cut_to_what_fits(columns: int) -> None:
    rows = conjunction_rows(named(seen.FULL, WIDE), columns)
    assert len(rows) == len(seen.FULL.conjunctions)
    for row in rows:
        assert re.search(r"  実[^&]*甲 & 実[^&]*乙  ", row)


@pytest.mark.parametrize("columns", COLUMNS)
def test_words_show_names_where_there_is_room_and_numbers_where_there_is_none(columns: int) -> None:
    shown = [line for line in lines_of(named(seen.FULL, SHORT), Size(columns, 60)) if re.search("insert|retract", line)]
    said = [line[line.index("insert" if "insert" in line else "retract") :] for line in shown]
    assert len(said) > 3
    for line, word in zip(said, seen.FULL.words, strict=False):
        assert "MERIDIAN 12 & DEBRIS 12 " in line or f"{word.object_a} & {word.object_b} " in line


def by_urgency(snapshot: Snapshot) -> list[ConjunctionSeen]:
    return sorted(snapshot.conjunctions, key=lambda each: each.probability <= 1e-4)


def test_conjunctions_that_people_act_on_come_first_then_the_soonest() -> None:
    later, sooner = seen.conjunction(4), seen.conjunction(1)
    standing = [replace(sooner, probability=1e-5), replace(later, probability=2e-4)]
    rows = conjunction_rows(replace(seen.EMPTY, conjunctions=standing), 120)
    assert [row[:2] for row in rows] == ["!!", " !"]


def test_what_was_withdrawn_stays_on_the_screen_below_what_stands() -> None:
    gone = replace(seen.conjunction(3), stage=Stage.WITHDRAWN)
    shown = lines_of(replace(seen.EMPTY, conjunctions=[seen.conjunction()], withdrawn=[gone]))
    assert any("Conjunctions that stand: 1, withdrawn: 1" in line for line in shown)
    standing, withdrawn = (at for at, line in enumerate(shown) if " & " in line)
    assert standing < withdrawn
    assert "withdrawn" in shown[withdrawn]


# Everything around them


def test_the_bottleneck_is_shown_however_little_room_there_is() -> None:
    empty = [Occupancy(edge=f"obs.radar-{n} -> inbox", count=9, capacity=10) for n in range(40)]
    worst = Occupancy(edge="outbox -> tables", count=8, capacity=10)
    shown = lines_of(replace(seen.FULL, occupancies=[*empty, worst], bottleneck=worst.edge), SMALL)
    assert [line for line in shown if "outbox→tables" in line and "80%" in line]


def test_queues_stand_in_the_order_from_the_sensors_to_the_subscriber() -> None:
    shown = text_of(seen.FULL)
    places = [shown.index(name) for name in ("radar-1→log", "radar-1→inbox", "inbox isl→fusion", "outbox→tables")]
    assert places == sorted(places)


def test_breakers_of_both_ends_are_named() -> None:
    pipeline = replace(seen.PIPELINE, sinks=[SinkSeen(sink="alerts", state="sending", breaker=1)])
    snapshot = replace(seen.FULL, pipeline=pipeline)
    assert breakers(snapshot) == {"optical": 2, "sink alerts": 1}
    assert "breakers optical half-open, sink alerts open" in text_of(snapshot)


def test_a_source_that_was_never_heard_is_named() -> None:
    silent = replace(seen.SOURCES[1], watermark_ns=None)
    progress = replace(seen.PROGRESS, watermark_ns=None, sources=[seen.SOURCES[0], silent])
    shown = text_of(replace(seen.FULL, progress=progress))
    assert "no watermark yet · not heard: optical" in shown


def test_alerts_that_take_too_long_are_red() -> None:
    console = Console(width=120, file=StringIO(), force_terminal=True, highlight=False, color_system="standard")
    slow = replace(seen.FULL, delay=Delay(words=4, within=3, whole=Spread(p99_s=41.0)))
    with console.capture() as captured:
        console.print(drawn(slow, MEDIUM))
    assert "\x1b[31malerts take 41 s" in captured.get()


# Extremes

NAMES = st.text(max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats()
COUNTS = st.integers(0, 2**63)


CONJUNCTIONS = st.builds(
    replace,
    st.just(seen.conjunction()),
    conjunction_id=NAMES,
    object_a=NAMES,
    object_b=NAMES,
    closest_ns=NUMBERS,
    miss_m=FLOATS,
    speed_m_s=FLOATS,
    probability=FLOATS,
    windows=COUNTS,
)
WORDS = st.builds(
    replace, st.just(seen.word(1)), kind=NAMES, object_a=NAMES, window_end_ns=NUMBERS, miss_m=FLOATS, probability=FLOATS
)
SOURCES = st.builds(
    SourceProgress,
    source=NAMES,
    watermark_ns=st.none() | NUMBERS,
    observations=COUNTS,
    source_lag_s=FLOATS,
    pipeline_lag_s=FLOATS,
    clock_ahead=COUNTS,
)
PROGRESSES = st.builds(
    replace,
    st.just(seen.PROGRESS),
    watermark_ns=st.none() | NUMBERS,
    sources=st.lists(SOURCES, max_size=20),
    state_bytes=COUNTS,
)
SNAPSHOTS = st.builds(
    replace,
    st.just(seen.FULL),
    at_ns=NUMBERS,
    progress=st.none() | PROGRESSES,
    conjunctions=st.lists(CONJUNCTIONS, max_size=12),
    words=st.lists(WORDS, max_size=12),
    occupancies=st.lists(st.builds(Occupancy, edge=NAMES, count=COUNTS, capacity=COUNTS), max_size=12),
    bottleneck=st.none() | NAMES,
    dead_letters=st.dictionaries(NAMES, COUNTS, max_size=5),
    drops=st.dictionaries(NAMES, COUNTS, max_size=5),
    alarms=st.lists(st.builds(Alarm, name=NAMES, says=NAMES, remedy=NAMES, severity=NAMES), max_size=12),
    is_running=st.booleans(),
    pipeline=st.sampled_from([None, seen.PIPELINE]),
)


@given(SNAPSHOTS, st.sampled_from([*SIZES, Size(40, 12), Size(79, 23), Size(121, 25)]))
def test_no_value_breaks_the_screen(snapshot: Snapshot, size: Size) -> None:
    shown = lines_of(snapshot, size)
    assert all(line.isprintable() for line in shown)
    if size in SIZES:
        assert len(shown) <= size.height


def test_what_would_steer_a_terminal_or_looks_like_markup_is_shown_as_it_is() -> None:
    bad = replace(seen.conjunction(), object_a="\x1b[2J", object_b="[red]x[/]")
    assert "·[2J & [red]x[/]" in text_of(replace(seen.EMPTY, conjunctions=[bad]))
