"""What a change means: compared by name, told with its effect, and nothing touched."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.support.documents import (
    COMMON,
    FULL,
    GENERATOR,
    Path,
    at,
    several_sources,
    text_of,
    with_value,
    without,
)

from holdfast.config import Change, Effect, compare, load


def change(old: Any, new: Any) -> Change:
    return compare(load(text_of(old)), load(text_of(new)))


def told(old: Any, new: Any) -> list[tuple[str, str | None, str | None, Effect]]:
    return [(item.what, item.before, item.after, item.effect) for item in change(old, new).alterations]


def test_the_same_document_is_no_change() -> None:
    assert change(FULL, FULL).alterations == ()
    assert str(change(FULL, FULL)) == "orders: nothing changes."


def test_a_default_that_is_written_out_is_no_change() -> None:
    assert told(without(FULL, ("spec", "output_mode")), FULL) == []


def test_another_way_to_write_a_value_is_no_change() -> None:
    assert told(FULL, with_value(FULL, ("spec", "batch", "max_bytes"), 1 << 20)) == []
    assert told(FULL, with_value(FULL, ("spec", "restarts", "within"), "60m")) == []
    alone = several_sources()
    alone["spec"]["sources"] = alone["spec"]["sources"][:1]
    assert told(FULL, alone) == []


@pytest.mark.req("X18")
@pytest.mark.parametrize(("number", "name"), [(0, "archive"), (1, "local"), (2, "remote")])
def test_a_sink_can_be_removed_wherever_it_stands(number: int, name: str) -> None:
    found = change(FULL, without(FULL, ("spec", "sinks", number)))
    assert [(item.what, item.after, item.effect) for item in found.alterations] == [
        (f"sinks.{name}", None, Effect.LIVE)
    ]


@pytest.mark.req("X18")
def test_a_source_can_be_removed_wherever_it_stands() -> None:
    several = several_sources()
    several["spec"]["sources"].append({**GENERATOR, "name": "second"})
    (item,) = change(several, without(several, ("spec", "sources", 0))).alterations
    assert (item.what, item.after, item.effect) == ("sources.orders", None, Effect.RESTART)
    assert "inbox" in item.means


@pytest.mark.req("X18")
@pytest.mark.parametrize("number", range(len(FULL["spec"]["process"])))
def test_a_step_can_be_removed_wherever_it_stands(number: int) -> None:
    (item,) = change(FULL, without(FULL, ("spec", "process", number))).alterations
    assert (item.what, item.after, item.effect) == (f"process[{number}]", None, Effect.RESTART)
    assert "fingerprint" in item.means


@pytest.mark.req("X18")
def test_items_can_be_removed_from_lists_of_values() -> None:
    assert told(FULL, with_value(FULL, ("spec", "source", "transactions"), [3])) == [
        ("sources.orders.transactions", "[1, 3]", "[3]", Effect.RESTART)
    ]


def test_the_order_of_sinks_means_nothing() -> None:
    turned = copy.deepcopy(FULL)
    turned["spec"]["sinks"].reverse()
    assert told(FULL, turned) == []


def test_a_sink_is_added_live() -> None:
    more = copy.deepcopy(FULL)
    more["spec"]["sinks"].insert(0, {"type": "files", "directory": "more"})
    assert told(FULL, more) == [("sinks.files", None, "{type: files, directory: more}", Effect.LIVE)]


def test_a_renamed_sink_is_another_lane() -> None:
    found = told(FULL, with_value(FULL, ("spec", "sinks", 0, "name"), "other"))
    assert [(what, before is None, after is None) for what, before, after, _ in found] == [
        ("sinks.archive", False, True),
        ("sinks.other", True, False),
    ]


CASES: list[tuple[Path, object, str, Effect]] = [
    (("metadata", "name"), "others", "metadata.name", Effect.REFUSED),
    (("spec", "directory"), "others", "directory", Effect.REFUSED),
    (("spec", "source", "padding"), 9, "sources.orders.padding", Effect.RESTART),
    (("spec", "source", "pace", "rate"), 9, "sources.orders.pace.rate", Effect.RESTART),
    (("spec", "output_mode"), "update", "output_mode", Effect.RESTART),
    (("spec", "sinks", 0, "retry", "base"), "9ms", "sinks.archive.retry.base", Effect.RESTART),
    (("spec", "sinks", 0, "on_quota"), "block", "sinks.archive.on_quota", Effect.RESTART),
    (("spec", "sinks", 0, "start"), "now", "sinks.archive.start", Effect.LIVE),
    (("spec", "sinks", 0, "directory"), "elsewhere", "sinks.archive.directory", Effect.RESTART),
    (("spec", "sinks", 1, "upsert", "newer_by"), "at", "sinks.local.upsert.newer_by", Effect.RESTART),
    (("spec", "commit", "quorum"), 1, "commit.quorum", Effect.LIVE),
    (("spec", "batch", "max_ms"), 9, "batch.max_ms", Effect.RESTART),
    (("spec", "quotas", "inbox"), "9GiB", "quotas.inbox", Effect.RESTART),
    (("spec", "dead_letters", "overflow"), "reject", "dead_letters.overflow", Effect.RESTART),
    (("spec", "restarts", "failures"), 9, "restarts.failures", Effect.RESTART),
    (("spec", "spark", "master"), "local[9]", "spark.master", Effect.RESTART),
]


@pytest.mark.parametrize(
    ("path", "value", "what", "effect"), CASES, ids=lambda case: case if isinstance(case, str) else ""
)
def test_what_a_change_asks_for(path: Path, value: object, what: str, effect: Effect) -> None:
    before = str(at(FULL, path)).lower() if isinstance(at(FULL, path), bool) else str(at(FULL, path))
    after = str(value).lower() if isinstance(value, bool) else str(value)
    assert told(FULL, with_value(FULL, path, value)) == [(what, before, after, effect)]
    assert change(FULL, with_value(FULL, path, value)).effect is effect


def test_a_sink_of_another_kind_under_the_same_name() -> None:
    other = {"type": "files", "name": "local", "directory": "x", **COMMON}
    (item,) = change(FULL, with_value(FULL, ("spec", "sinks", 1), other)).alterations
    assert (item.what, item.before, item.after) == ("sinks.local.type", "sqlite", "files")
    assert item.effect is Effect.RESTART


def test_a_key_that_is_left_out_is_told_by_its_default() -> None:
    assert told(FULL, without(FULL, ("spec", "batch", "max_bytes"))) == [
        ("batch.max_bytes", "1MiB", "16MiB", Effect.RESTART)
    ]
    assert told(FULL, without(FULL, ("spec", "sinks", 0, "only"))) == [
        ("sinks.archive.only", "large", "nothing", Effect.RESTART)
    ]
    assert told(FULL, without(FULL, ("spec", "sinks", 1, "upsert"))) == [
        ("sinks.local.upsert", "{key: [n], newer_by: seq}", "nothing", Effect.RESTART)
    ]


def test_a_change_is_told_in_words() -> None:
    more = with_value(FULL, ("spec", "batch", "max_events"), 2000)
    assert str(change(FULL, more)) == (
        "orders: one change. Needs a restart.\n"
        "  ~ batch.max_events: 1000 -> 2000\n"
        "    Needs a restart. The next batch is cut by the new limits."
    )
