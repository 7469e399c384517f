"""What the command of a subscriber says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from meridian.cli.subscribing import line, subscribe
from meridian.fusion.emissions import Kind
from meridian.fusion.subscriber import Told, Verdict
from meridian.fusion.subscriber.book import Entry

ENTRY = Entry(7, Verdict.WITHDRAWN, Told("a1", 0, Kind.RETRACT, "{}"), datetime(2026, 11, 17, tzinfo=UTC))


def test_a_line_tells_what_was_made_of_which_alert_and_when_the_objects_pass() -> None:
    said = {"object_a": "25544", "object_b": "90001", "closest_ns": 1_786_000_000 * 10**9, "miss_m": 1234.5}
    told = "7 withdrawn: alert a1, 25544 and 90001 pass at 2026-08-06T07:06:40 within 1,234 m"
    assert line(ENTRY, {**said, "kind": "retract"}) == told


def test_a_word_that_says_nothing_else_is_told_by_its_name() -> None:
    assert line(ENTRY, {}) == "7 withdrawn: alert a1"


@pytest.mark.parametrize("address", ["7710", ":7710", "localhost:", "localhost:99999", "localhost:http"])
def test_an_address_that_is_none_is_refused_before_a_book_is_made(tmp_path: Path, address: str) -> None:
    asked = CliRunner().invoke(subscribe, ["--listen", address, "--book", str(tmp_path / "book.db")])
    assert asked.exit_code == 2
    assert "127.0.0.1:7710" in asked.output
    assert not (tmp_path / "book.db").exists()
