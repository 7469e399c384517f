"""The audit on the edge that runs in production: nothing is amiss, and each thing that could be is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.edge_stations import stations

from holdfast.flow import Backpressure, Declared, EdgePlan, Finding, FindingKind, Supervision, audit, by_type
from holdfast.model.errors import InvalidFlowPolicy
from meridian.sensors import ObservationColumns
from meridian.sensors.auditing import audit_edge, changed_ids
from meridian.sensors.columns import joined
from meridian.sensors.graph import edge_graph
from meridian.sensors.screening import Candidates, Screen, Screened

ALL = "repeats_within_ms = 5000"
EDGE = "radar-1 -> obs.radar-1"
CAREFUL = Supervision(classify=by_type(), dead_letters=lambda where, batch: None)


@pytest.mark.req("FLW-08", "OBS-06", "ENV-04")
def test_nothing_is_amiss_with_the_edge(tmp_path: Path) -> None:
    with stations(tmp_path, radar=ALL) as made:
        assert audit_edge(made) == ()


@pytest.mark.req("FLW-08", "FLW-01")
def test_each_edge_of_the_edge_says_why_it_is_as_it_is(tmp_path: Path) -> None:
    with stations(tmp_path) as made:
        declared = edge_graph(made).declared()
    assert [edge.name for edge in declared.edges] == [EDGE, "optical -> obs.optical", "isl -> obs.isl"]
    assert all(edge.plan.policy is not None and edge.plan.policy.reason for edge in declared.edges)
    with pytest.raises(InvalidFlowPolicy, match="it says why it was chosen"):
        Backpressure(" ")


def with_plan(directory: Path, plan: EdgePlan) -> tuple[Finding, ...]:
    """What is found when the edge of the first radar is planned so."""
    with stations(directory) as made:
        made[0].pump.flights.plan = plan
        return audit_edge(made)


@pytest.mark.req("FLW-08")
def test_an_edge_without_a_policy_is_found(tmp_path: Path) -> None:
    (found,) = with_plan(tmp_path, EdgePlan(60_000, None))
    assert (found.where, found.kind) == (EDGE, FindingKind.NO_FLOW_POLICY)


@pytest.mark.req("FLW-08")
def test_an_edge_without_a_bound_is_found(tmp_path: Path) -> None:
    (found,) = with_plan(tmp_path, EdgePlan(2**40, Backpressure("It never fills.")))
    assert (found.where, found.kind) == (EDGE, FindingKind.UNBOUNDED_CHANNEL)


def supervised(declared: Declared, operator: str, supervision: Supervision) -> Declared:
    """The same graph, with one operator treated in another way."""
    vertices = (replace(each, supervision=supervision) if each.name == operator else each for each in declared.vertices)
    return replace(declared, vertices=tuple(vertices))


@pytest.mark.req("FLW-08", "OBS-06")
@pytest.mark.parametrize("operator", ["radar-1", "obs.radar-1", "optical", "obs.optical", "isl", "obs.isl"])
@pytest.mark.parametrize(
    ("lacking", "kind"),
    [
        (replace(CAREFUL, classify=None), FindingKind.NO_CLASSIFIER),
        (replace(CAREFUL, dead_letters=None), FindingKind.NO_DEAD_LETTERS),
    ],
    ids=["no classifier", "no dead letters"],
)
def test_an_operator_that_lacks_a_part_is_found(
    tmp_path: Path, operator: str, lacking: Supervision, kind: FindingKind
) -> None:
    with stations(tmp_path) as made:
        declared = edge_graph(made).declared()
    assert [each.kind for each in audit(supervised(declared, operator, CAREFUL))] == []
    assert [(each.where, each.kind) for each in audit(supervised(declared, operator, lacking))] == [(operator, kind)]


def one_bit_less(columns: ObservationColumns, now_ns: int) -> ObservationColumns:
    records = columns.records.copy()
    records["observation_id"][3, 15] ^= 1
    return replace(columns, records=records)


def exchanged(columns: ObservationColumns, now_ns: int) -> ObservationColumns:
    records = columns.records.copy()
    records["observation_id"] = records["observation_id"][::-1]
    return replace(columns, records=records)


def doubled(columns: ObservationColumns, now_ns: int) -> ObservationColumns:
    return joined([columns, columns])


def thinned(columns: ObservationColumns, now_ns: int) -> ObservationColumns:
    return columns.where(np.arange(len(columns)) % 2 == 0)


@pytest.mark.req("ENV-04")
@pytest.mark.parametrize(
    ("stage", "detail"),
    [
        (one_bit_less, "1 of 8 probes came out with another id"),
        (exchanged, "8 of 8 probes came out with another id"),
        (doubled, "a probe came out twice"),
    ],
)
def test_a_stage_that_changes_an_id_is_found(tmp_path: Path, stage: object, detail: str) -> None:
    with stations(tmp_path) as made:
        made[0].landing.stages = (thinned, stage)  # type: ignore[assignment]
        (found,) = audit_edge(made)
    assert (found.where, found.kind) == (f"radar-1: {stage.__name__}", FindingKind.CHANGED_IDENTITY)  # type: ignore[attr-defined]
    assert found.detail.startswith(detail)


@pytest.mark.req("ENV-04")
def test_a_screen_that_changes_an_id_is_found(tmp_path: Path) -> None:
    class Meddling(Screen):
        def __call__(self, candidates: Candidates) -> Screened:
            return Screened(one_bit_less(candidates.columns, 0))

    with stations(tmp_path) as made:
        made[1].source.screen = Meddling()
        (found,) = changed_ids(made[1])
    assert found.where == "optical: screen"


@pytest.mark.req("ENV-04")
def test_a_stage_that_lets_nothing_through_is_not_taken_for_a_good_one(tmp_path: Path) -> None:
    with stations(tmp_path) as made:
        made[2].landing.stages = (lambda columns, now_ns: columns.where(np.zeros(len(columns), bool)),)
        (found,) = changed_ids(made[2])
    assert "lets no probe through" in found.detail
