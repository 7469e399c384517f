"""Nothing is written that could not be recognised when it comes again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import Console, Files, Http, SinkSpec
from holdfast.model.errors import InvalidPipeline
from meridian.fusion.keys import keyed
from meridian.fusion.outputs import ALERTS, OUTPUTS
from meridian.fusion.pipeline import pipeline, tables
from meridian.fusion.spark import Fused
from meridian.fusion.subscriber.lane import alerts_to

SUBSCRIBER = alerts_to("http://127.0.0.1:9/alerts")


def nothing() -> Fused:
    raise AssertionError("nobody asks for parts before it runs")


@pytest.mark.req("DLV-08")
def test_the_tables_and_the_subscriber_of_fusion_have_keys(tmp_path: Path) -> None:
    specs = [*tables(tmp_path), SUBSCRIBER]
    assert keyed(specs) == specs
    assert {output.route: output.key for output in OUTPUTS} == {
        "alert": "alert_id",
        "conjunction": "conjunction_id",
        "object": "object_id",
        "summary": "window_end_ns",
        "contact": "contact_id",
        "progress": "slot",
    }


@pytest.mark.req("DLV-08")
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (replace(SUBSCRIBER, only=None), "every route"),
        (replace(SUBSCRIBER, only="rumour"), "rumour"),
        (replace(SUBSCRIBER, columns=["version", "kind"]), "alert_id"),
        (SinkSpec("console", Console(), only=ALERTS.route), "no cursor"),
    ],
    ids=["every route", "unknown route", "without the key", "no cursor and no key"],
)
def test_a_pipeline_with_a_sink_that_cannot_recognise_rows_is_refused(
    tmp_path: Path, spec: SinkSpec, says: str
) -> None:
    with pytest.raises(InvalidPipeline, match=says):
        pipeline(tmp_path, nothing, subscribers=[spec])


@pytest.mark.req("DLV-08")
@pytest.mark.parametrize("change", [{"key": "name"}, {"newer_by": "time"}])
def test_an_output_whose_key_is_none_of_its_columns_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    with pytest.raises(InvalidPipeline, match="has no column"):
        keyed([], [replace(ALERTS, **change)])  # type: ignore[arg-type]


@pytest.mark.parametrize("sink", [Http("http://127.0.0.1:9/"), Files(Path("files"))], ids=["key", "files"])
def test_a_sink_that_sends_a_key_or_keeps_its_place_may_join(sink: Http | Files) -> None:
    assert keyed([SinkSpec("more", sink, only=ALERTS.route)])
