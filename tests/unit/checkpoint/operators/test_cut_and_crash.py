"""A flow that is ended at any step of the event loop, in both modes."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.operator_flows import (
    GRAPH,
    LOPSIDED,
    Crashed,
    Matches,
    RunningSum,
    World,
    stored_snapshots,
)

from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import SnapshotMode
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.recovery import find_restart
from holdfast.checkpoint.operators.snapshot import OperatorSnapshot

FIRST = list(range(1, 15))
SECOND = [70, 20, -1, -3, 500, -7, 10, 30, -12, 140, 90, -2]
MATCHES = [value for value in SECOND if value != 500]
CADENCES = {"scale": 3.0, "merge": 5.0, "sink": 7.0}


def world(store: MemoryStore, mode: SnapshotMode, **options: object) -> World:
    return World(store, FIRST, SECOND, mode=mode, cadence=9.0, cadences=CADENCES, pace=Random(7), **options)  # type: ignore[arg-type]


def run_through(flow: World, crashes: list[int]) -> list[int]:
    for steps in crashes:
        try:
            return flow.run(steps)
        except Crashed:
            continue
    return flow.run()


def items_in_state(snapshot: OperatorSnapshot) -> dict[str, list[int]]:
    seen: dict[str, list[int]] = {name: [] for name in snapshot.cut.inputs}
    for name, seq in json.loads(b"".join(snapshot.buffers))["seen"]:
        seen[name].append(seq)
    return seen


def steps_of_a_whole_run(mode: SnapshotMode) -> int:
    return next(n for n in range(50, 5000, 10) if not _crashes(world(MemoryStore(), mode), n))


def _crashes(flow: World, steps: int) -> bool:
    try:
        flow.run(steps)
    except Crashed:
        return True
    return False


@pytest.mark.req("K1")
@pytest.mark.parametrize("mode", SnapshotMode)
def test_every_stored_state_holds_exactly_the_items_up_to_its_offsets(mode: SnapshotMode) -> None:
    for steps in range(1, steps_of_a_whole_run(mode)):
        store = MemoryStore()
        _crashes(world(store, mode), steps)
        keys = FlowKeys("test", mode)
        for snapshot in [found for name in GRAPH.operators for found in stored_snapshots(store, keys, name)]:
            expected = {name: list(range(1, cut.applied + 1)) for name, cut in snapshot.cut.inputs.items()}
            assert items_in_state(snapshot) == expected


@pytest.mark.req("K5")
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), cadence=st.integers(2, 12), steps=st.integers(10, 130))
def test_in_a_complete_snapshot_each_operator_has_applied_exactly_what_the_one_before_it_had_emitted(
    seed: int, cadence: int, steps: int
) -> None:
    store, aligned = MemoryStore(), SnapshotMode.ALIGNED
    pace = Random(seed)
    _crashes(World(store, FIRST, SECOND, mode=aligned, cadence=float(cadence), pace=pace, graph=LOPSIDED), steps)
    found = find_restart(store, LOPSIDED, FlowKeys("test", aligned)).snapshots
    cuts = {name: snapshot.cut for name, snapshot in found.items()}
    between = [link for link in LOPSIDED.links if link.upstream in cuts]
    assert all(cuts[at.downstream].inputs[at.name].applied == cuts[at.upstream].emitted for at in between)


@pytest.mark.req("K1", "K5")
@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_crash_at_any_step_changes_no_result(mode: SnapshotMode) -> None:
    for steps in range(1, steps_of_a_whole_run(mode)):
        flow = world(MemoryStore(), mode, merge=Matches)
        assert sorted(run_through(flow, [steps])) == sorted(MATCHES)


@pytest.mark.req("K5")
@settings(max_examples=150)
@given(
    first=st.lists(st.integers(-9, 9), max_size=25),
    second=st.lists(st.integers(-99, 99), max_size=25),
    cadences=st.fixed_dictionaries({name: st.integers(1, 30) for name in GRAPH.operators}),
    crashes=st.lists(st.integers(1, 110), max_size=6),
    write_steps=st.integers(0, 12),
    seed=st.integers(0, 2**32),
)
def test_per_operator_snapshots_give_the_outputs_of_an_uninterrupted_run_in_its_order(
    first: list[int],
    second: list[int],
    cadences: dict[str, float],
    crashes: list[int],
    write_steps: int,
    seed: int,
) -> None:
    chance = Random(seed)
    whole = World(MemoryStore(), first, second, merge=RunningSum).run()
    flow = World(
        MemoryStore(), first, second, merge=RunningSum, cadences=cadences, write_steps=write_steps, pace=chance
    )
    assert run_through(flow, crashes) == whole


@pytest.mark.req("K5")
@settings(max_examples=150)
@given(
    first=st.lists(st.integers(1, 99), max_size=25, unique=True),
    seed=st.integers(0, 2**32),
    cadence=st.integers(2, 30),
    crashes=st.lists(st.integers(1, 130), max_size=6),
    write_steps=st.integers(0, 12),
)
def test_aligned_snapshots_give_the_results_of_an_uninterrupted_run(
    first: list[int], seed: int, cadence: int, crashes: list[int], write_steps: int
) -> None:
    chance = Random(seed)
    second = [output for value in first for output in (value * 10, -value)]
    chance.shuffle(second)
    aligned = SnapshotMode.ALIGNED
    whole = World(MemoryStore(), first, second, merge=Matches, mode=aligned).run()
    flow = World(
        MemoryStore(),
        first,
        second,
        merge=Matches,
        mode=aligned,
        cadence=float(cadence),
        write_steps=write_steps,
        pace=chance,
    )
    assert sorted(run_through(flow, crashes)) == sorted(whole) == sorted(second)


@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_crash_late_in_a_run_does_not_start_from_the_beginning(mode: SnapshotMode) -> None:
    flow = world(MemoryStore(), mode)
    assert _crashes(flow, steps_of_a_whole_run(mode) - 20)
    flow.run()
    assert all(point.snapshot_id > 0 for point in flow.recoveries[-1].points.values())
