"""Where every observation is: the accounts add up, and what is nowhere shows."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.support.service_home import progress_row

from meridian.service import reading
from meridian.service.accounts import Account, Accounts, Books, edge_account, fusion_account
from meridian.service.seen import EdgeSeen, FeedSeen, SensorSeen

RADAR = SensorSeen(
    source="radar-1",
    network="radar",
    taken=100,
    durable=70,
    repeated=5,
    refused=3,
    outside=20,
    heartbeats=8,
    log_end=78,
    channel=(2, 60),
)
PROGRESS = replace(reading.progress(progress_row()), taken=40, dropped=6)
FEED = FeedSeen(log="obs.radar-1", passed=73, captured=63, judged=56, shed=10)
"""Of 78 events five are not captured, and seven captured and not judged."""


def edge(**given: int) -> EdgeSeen:
    return EdgeSeen(is_well=True, sensors=[replace(RADAR, **given)])  # type: ignore[arg-type] # counts


@pytest.mark.req("OBS-07")
def test_what_a_source_took_is_accounted_for_while_the_rest_is_under_way() -> None:
    assert edge_account(RADAR).missing == 2
    assert edge_account(RADAR).unexplained == 0


@pytest.mark.req("OBS-07")
@pytest.mark.parametrize("what", ["durable", "repeated", "refused", "outside"])
def test_a_record_of_a_source_that_is_nowhere_shows(what: str) -> None:
    assert edge_account(replace(RADAR, **{what: getattr(RADAR, what) - 1})).unexplained == 1  # type: ignore[arg-type]
    assert edge_account(replace(RADAR, **{what: getattr(RADAR, what) + 3})).unexplained == -1  # type: ignore[arg-type]


@pytest.mark.req("OBS-07")
def test_what_is_durable_was_taken_by_fusion_or_came_too_late_or_is_dead_or_shed_or_waits() -> None:
    account = fusion_account(edge(), [FEED], PROGRESS, given_up=4)
    assert account.went == {"taken": 40, "too late": 6, "dead letters": 4, "shed": 10}
    assert (account.came, account.missing, account.under_way) == (70, 10, 12)
    assert account.unexplained == 0
    assert fusion_account(edge(), [FEED], replace(PROGRESS, taken=37), given_up=4).unexplained == 1
    assert fusion_account(edge(), [FEED], PROGRESS, given_up=15).unexplained == -1
    assert fusion_account(edge(), [replace(FEED, shed=7)], PROGRESS, given_up=4).unexplained == 1


@pytest.mark.req("OBS-07")
def test_before_fusion_has_read_a_log_everything_in_it_waits() -> None:
    assert fusion_account(edge(), [], None, given_up=0).unexplained == 0


@pytest.mark.req("OBS-07")
@pytest.mark.parametrize("seed", range(20))
def test_the_account_is_right_at_every_moment_and_wrong_when_one_is_lost(seed: int) -> None:
    """Observations and heartbeats move on through a log, an inbox and fusion at random."""
    random, books = Random(seed), Books()
    kinds = [random.random() < 0.8 for _ in range(300)]
    ends = sorted(random.sample(range(301), 4), reverse=True)
    while ends[3] < 300:
        landed, captured, judged, _ = ends
        feed = FeedSeen(log="obs.radar-1", passed=captured, captured=captured, judged=judged)
        durable = sum(kinds[:landed])
        seen = edge(durable=durable, heartbeats=landed - durable, log_end=landed)
        told = replace(PROGRESS, taken=sum(kinds[:judged]), dropped=0)
        books, account = books.after(seen, fusion_account(seen, [feed], told, given_up=0))
        assert account.unexplained == 0
        ends = [min(300, max(end + random.randrange(20), 0)) for end in ends]
        ends = sorted(ends, reverse=True)
    lost = replace(PROGRESS, taken=sum(kinds) - 1, dropped=0)
    everything = FeedSeen(log="obs.radar-1", passed=300, captured=300, judged=300)
    whole = edge(durable=sum(kinds), heartbeats=300 - sum(kinds), log_end=300)
    assert books.after(whole, fusion_account(whole, [everything], lost, given_up=0))[1].unexplained == 1


@pytest.mark.req("OBS-07")
def test_after_the_edge_was_started_again_the_account_begins_with_the_first_look() -> None:
    """The counters of the edge know nothing of what its logs had before."""
    books, first = Books().after(edge(log_end=500), Account(70, {"taken": 300}, under_way=12))
    assert first.unexplained == 0
    books, later = books.after(edge(log_end=600), Account(170, {"taken": 405}, under_way=0))
    assert (later.came, later.went, later.unexplained) == (100, {"taken": 105}, 0), "five had been under way"
    _, wrong = books.after(edge(log_end=700), Account(270, {"taken": 450}, under_way=0))
    assert wrong.unexplained == 50
    _, anew = books.after(edge(log_end=700), Account(3, {"taken": 450}, under_way=0))
    assert anew.unexplained == 0, "another run of the edge"


@pytest.mark.req("OBS-07")
def test_what_is_unexplained_in_one_place_is_not_made_up_for_in_another() -> None:
    short, over = Account(10, {"durable": 9}), Account(10, {"durable": 11})
    assert Accounts({"radar-1": short, "isl": over}, over).unexplained == 3
