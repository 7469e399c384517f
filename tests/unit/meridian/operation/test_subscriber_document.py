"""What an operation's document says of its subscriber."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.model.errors import DocumentUnreadable, InvalidDocument
from meridian.fusion.outputs import ALERTS
from meridian.fusion.subscriber.lane import Prompt
from meridian.operation.home import Home

SITE = "[sites.radar-1]\nlatitude_deg = 1.0\nlongitude_deg = 2.0\n"
SUBSCRIBER = SITE + '[subscriber]\nurl = "http://127.0.0.1:9/alerts"\n'


def home(directory: Path, document: str) -> Home:
    home = Home(directory)
    home.document_file.write_text(document)
    return home


def test_without_a_subscriber_there_is_no_lane(tmp_path: Path) -> None:
    assert home(tmp_path, SITE).subscribers() == []


def test_a_subscriber_is_a_lane_for_alerts_alone_that_nobody_waits_for(tmp_path: Path) -> None:
    (lane,) = home(tmp_path, SUBSCRIBER).subscribers()
    assert isinstance(lane.sink, Prompt)
    assert lane.sink.deadline == 0.2
    assert (lane.only, lane.columns, lane.required) == ("alert", ALERTS.columns, False)


def test_the_deadline_is_the_document_s(tmp_path: Path) -> None:
    (lane,) = home(tmp_path, SUBSCRIBER + "timeout_ms = 1500\n").subscribers()
    assert isinstance(lane.sink, Prompt)
    assert lane.sink.deadline == 1.5


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("time_out_ms = 5", "timeout_ms"), ("timeout_ms = 0", "timeout_ms"), ("timeout_ms = 0.2", "timeout_ms")],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, wrong: str, says: str) -> None:
    with pytest.raises(InvalidDocument, match=says):
        home(tmp_path, SUBSCRIBER + wrong).subscribers()


def test_a_token_that_cannot_be_read_is_told_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadable, match=r"token\.txt"):
        home(tmp_path, SUBSCRIBER + 'token_file = "token.txt"\n').subscribers()
