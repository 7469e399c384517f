"""A running graph: who is started again, what ends it, how it stops, and what the log and the pages say."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.support.virtual_time import LoopTimer, run_virtually

from holdfast.flow import (
    AllOk,
    Always,
    Backpressure,
    Budget,
    BudgetExhausted,
    BuiltGraph,
    BurstProfile,
    CopyToAll,
    Crashed,
    EdgePlan,
    Exit,
    GraphHealth,
    Inlet,
    Loss,
    Never,
    OperatorGraph,
    OperatorState,
    Outcome,
    Outlet,
    RestartPolicy,
    Stop,
    Supervision,
    merge,
)

PLAN = EdgePlan(4, Backpressure("a test"))
Doing = Callable[[int], Coroutine[None, None, None]]


async def nothing(number: int) -> None: ...


def numbers(count: int) -> Callable[[Outlet[int], Stop], Coroutine[None, None, None]]:
    """A source of so many numbers that goes on behind what it has sent when it is started again."""
    at = 0

    async def run(outlet: Outlet[int], stop: Stop) -> None:
        nonlocal at
        while at < count and not stop.is_set:
            await outlet.send([at])
            at += 1

    return run


def passing(doing: Doing) -> Callable[[Inlet[int], Outlet[int]], Coroutine[None, None, None]]:
    """An operator that does something about each number before it passes it on."""

    async def run(inlet: Inlet[int], outlet: Outlet[int]) -> None:
        async for batch in inlet:
            for number in batch:
                await doing(number)
            await outlet.send(batch)

    return run


class Collected:
    """A sink that keeps what it got."""

    def __init__(self, doing: Doing = nothing) -> None:
        self.items: list[int] = []
        self._doing = doing

    async def __call__(self, inlet: Inlet[int]) -> None:
        async for batch in inlet:
            for number in batch:
                await self._doing(number)
            self.items += batch


class Failing:
    """Raises at these times, and then never again; notes when it was called."""

    def __init__(self, *errors: Exception, every: float = 0.0) -> None:
        self._errors = list(errors)
        self._every = every
        self.calls = 0

    async def __call__(self, number: int) -> None:
        self.calls += 1
        await asyncio.sleep(self._every)
        if self._errors:
            raise self._errors.pop(0)


class Case:
    """A line of a source, an operator and a sink."""

    def __init__(
        self,
        doing: Doing = nothing,
        restart: RestartPolicy | None = None,
        *,
        count: int = 10,
        sink: Collected | None = None,
        grace: float = 5.0,
        plan: EdgePlan = PLAN,
    ) -> None:
        self.sink = sink or Collected()
        graph = OperatorGraph("g")
        supervision = Supervision(restart) if restart else None
        source = graph.add_source("source", numbers(count))
        middle = graph.add_operator("middle", passing(doing), supervision)
        graph.connect(source, middle, plan)
        graph.connect(middle, graph.add_sink("sink", self.sink), PLAN)
        self._graph = graph
        self._grace = grace
        self.built: BuiltGraph | None = None
        self.health = GraphHealth("not run", ())

    def graph(self) -> BuiltGraph:
        self.built = self.built or self._graph.build(timer=LoopTimer(), grace=self._grace)
        return self.built

    def run(self, *, stop_at: float | None = None) -> Outcome:
        async def scenario() -> Outcome:
            if stop_at is not None:
                asyncio.get_running_loop().call_later(stop_at, self.graph().stop)
            outcome = await self.graph().run()
            self.health = self.graph().health()
            return outcome

        return run_virtually(scenario())


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == "holdfast.flow"]


@pytest.mark.req("ORC-01", "ORC-10")
def test_a_graph_whose_sources_end_drains_and_is_ok() -> None:
    case = Case()
    outcome = case.run()
    assert outcome == Outcome(AllOk(), dict.fromkeys(("source", "middle", "sink"), Exit.OK), {})
    assert case.sink.items == list(range(10))


class TestRestarting:
    @pytest.mark.req("ORC-07")
    def test_one_that_failed_goes_on_with_the_batch_it_had(self) -> None:
        case = Case(Failing(OSError("gone"), OSError("gone")))
        assert case.run().event == AllOk()
        assert case.sink.items == list(range(10)), "nothing is lost and nothing comes twice"

    @pytest.mark.req("ORC-07")
    def test_one_that_is_always_forgiven_is_always_started_again(self) -> None:
        doing = Failing(*[OSError("gone")] * 50)
        assert Case(doing, Always()).run().event == AllOk()
        assert doing.calls == 60

    @pytest.mark.req("ORC-07", "ORC-08")
    def test_one_that_is_never_forgiven_ends_the_graph(self) -> None:
        doing = Failing(OSError("gone"))
        assert Case(doing, Never()).run().event == BudgetExhausted("middle", "OSError: gone")
        assert doing.calls == 1

    @pytest.mark.req("ORC-08")
    def test_a_budget_of_three_forgives_three_failures_and_the_fourth_ends_the_graph(self) -> None:
        doing = Failing(*[OSError("gone")] * 9, every=1.0)
        case = Case(doing, Budget(3, timedelta(seconds=60)))
        outcome = case.run()
        assert outcome.event == BudgetExhausted("middle", "OSError: gone")
        assert outcome.exits["middle"] is Exit.ERRORED
        assert (doing.calls, case.health.operators[1].restarts) == (4, 3)

    @pytest.mark.req("ORC-07", "ORC-08")
    @pytest.mark.parametrize(("every", "event"), [(20.1, AllOk), (19.9, BudgetExhausted)], ids=["rare", "too often"])
    def test_failures_that_are_older_than_the_window_are_forgiven(self, every: float, event: type[object]) -> None:
        case = Case(Failing(*[OSError("gone")] * 9, every=every), Budget(3, timedelta(seconds=60)))
        assert type(case.run().event) is event

    @pytest.mark.req("ORC-07")
    def test_the_others_do_not_notice(self) -> None:
        case = Case(Failing(*[OSError("gone")] * 3, every=1.0))
        case.run()
        assert [one.restarts for one in case.health.operators] == [0, 3, 0]


class TestCrashing:
    @pytest.mark.req("ORC-09", "ORC-06")
    @pytest.mark.parametrize("restart", [Always(), Never(), Budget()], ids=["always", "never", "budget"])
    def test_a_crash_ends_the_graph_whatever_the_policy(self, restart: RestartPolicy) -> None:
        doing = Failing(KeyError("evicted"))
        case = Case(doing, restart)
        outcome = case.run()
        assert outcome.event == Crashed("middle", "KeyError: 'evicted'")
        assert outcome.exits == {"middle": Exit.CRASHED, "source": Exit.OK, "sink": Exit.OK}
        assert doing.calls == 1

    @pytest.mark.req("ORC-09")
    def test_nothing_gets_past_one_that_crashed(self) -> None:
        async def crash_at_3(number: int) -> None:
            if number == 3:
                raise KeyError(number)

        case = Case(crash_at_3, count=1000)
        outcome = case.run()
        assert case.sink.items == [0, 1, 2], "what it had passed on is drained"
        assert outcome.left_behind == {"source -> middle": 4}

    @pytest.mark.req("ORC-06", "ORC-13")
    def test_one_that_cancels_itself_has_crashed(self) -> None:
        async def cancel_myself(number: int) -> None:
            raise asyncio.CancelledError

        assert Case(cancel_myself).run().event == Crashed("middle", "it cancelled itself")

    @pytest.mark.req("ORC-09")
    def test_the_first_crash_is_the_one_that_is_told(self) -> None:
        async def crash_later(number: int) -> None:
            await asyncio.sleep(1)
            raise TypeError("second")

        async def crash(number: int) -> None:
            if number == 1:
                raise KeyError("first")

        case = Case(crash, sink=Collected(crash_later))
        outcome = case.run()
        assert outcome.event == Crashed("middle", "KeyError: 'first'")
        assert outcome.exits["sink"] is Exit.CRASHED

    def test_a_sink_that_ends_early_ends_what_is_before_it(self) -> None:
        async def first_only(inlet: Inlet[int]) -> None:
            async for _ in inlet:
                return

        graph = OperatorGraph("g")
        source, sink = graph.add_source("source", numbers(1000)), graph.add_sink("sink", first_only)
        graph.connect(source, sink, PLAN)

        async def scenario() -> Outcome:
            return await graph.build(timer=LoopTimer()).run()

        assert run_virtually(scenario()).exits == {"sink": Exit.OK, "source": Exit.OK}


class TestSideBySide:
    """Two lines in one graph; when one is lost the other goes on, if that is declared."""

    @pytest.mark.parametrize(
        ("error", "event"),
        [
            (KeyError("bad"), Crashed("lost", "KeyError: 'bad'")),
            (OSError("gone"), BudgetExhausted("lost", "OSError: gone")),
        ],
        ids=["crashed", "failed"],
    )
    @pytest.mark.parametrize("when_lost", Loss)
    def test_the_other_line_goes_on_as_declared(self, error: Exception, event: object, when_lost: Loss) -> None:
        other = Collected(Failing(every=1.0))

        async def lose(outlet: Outlet[int], stop: Stop) -> None:
            raise error

        graph = OperatorGraph("g")
        lost = graph.add_source("lost", lose, Supervision(Never(), when_lost=when_lost))
        graph.connect(lost, graph.add_sink("of the lost", Collected()), PLAN)
        graph.connect(graph.add_source("source", numbers(100)), graph.add_sink("sink", other), PLAN)

        async def scenario() -> Outcome:
            built = graph.build(timer=LoopTimer(), grace=50.0)
            outcome = await built.run()
            assert built.health().failed == ("lost",)
            return outcome

        outcome = run_virtually(scenario())
        assert outcome.event == event
        assert outcome.exits["of the lost"] is outcome.exits["source"] is Exit.OK
        assert (len(other.items) == 100) == (when_lost is Loss.OTHERS_GO_ON)


class TestStopping:
    @pytest.mark.req("ORC-12")
    def test_what_is_under_way_is_drained(self) -> None:
        slow = Collected(Failing(every=0.5))
        case = Case(sink=slow, count=10**6)
        outcome = case.run(stop_at=60.0)
        assert outcome == Outcome(AllOk(), dict.fromkeys(("source", "middle", "sink"), Exit.OK), {})
        assert slow.items == list(range(len(slow.items)))
        assert len(slow.items) > 120

    @pytest.mark.req("ORC-12", "ORC-06", "ORC-10")
    def test_whoever_has_not_ended_when_the_grace_is_over_is_aborted(self) -> None:
        hangs = Collected(Failing(every=3600.0))
        case = Case(sink=hangs, count=10**6)
        ended: list[float] = []

        async def scenario() -> Outcome:
            asyncio.get_running_loop().call_later(10.0, case.graph().stop)
            outcome = await case.graph().run()
            ended.append(asyncio.get_running_loop().time())
            return outcome

        outcome = run_virtually(scenario())
        assert ended == [pytest.approx(15.0)]
        assert outcome.event == AllOk()
        assert outcome.exits["sink"] is Exit.ABORTED
        assert outcome.left_behind == {"source -> middle": 4, "middle -> sink": 4}

    @pytest.mark.req("ORC-12")
    def test_one_that_fails_again_and_again_does_not_hold_up_a_stop(self) -> None:
        case = Case(Failing(*[OSError("gone")] * 10_000, every=0.1), Always(), count=10**6)
        outcome = case.run(stop_at=1.0)
        assert outcome.event == AllOk()
        assert outcome.exits["middle"] is Exit.ABORTED

    @pytest.mark.req("ORC-12")
    def test_one_that_fails_while_it_is_aborted_is_not_started_again(self) -> None:
        async def stubborn(number: int) -> None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                raise OSError("gone") from None

        outcome = Case(stubborn, Always()).run(stop_at=1.0)
        assert outcome.exits["middle"] is Exit.ERRORED

    @pytest.mark.req("ORC-12")
    def test_one_that_ignores_being_cancelled_is_cancelled_again(self) -> None:
        async def stubborn(number: int) -> None:
            for _ in range(3):
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3600)

        ended: list[float] = []

        async def scenario() -> None:
            case = Case(stubborn, count=1)
            asyncio.get_running_loop().call_later(1.0, case.graph().stop)
            await case.graph().run()
            ended.append(asyncio.get_running_loop().time())

        run_virtually(scenario())
        assert ended == [pytest.approx(16.0)], "three times the grace of 5 s"

    @pytest.mark.req("ORC-12")
    def test_one_that_is_aborted_can_roll_back_what_it_holds(self) -> None:
        rolled_back: list[int] = []

        async def transaction(number: int) -> None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                rolled_back.append(number)
                raise

        Case(sink=Collected(transaction)).run(stop_at=1.0)
        assert rolled_back == [0]

    def test_a_stop_after_the_end_does_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        async def scenario() -> None:
            case = Case()
            await case.graph().run()
            case.graph().stop()
            await asyncio.sleep(60)

        run_virtually(scenario())
        assert "abort" not in [line["event"] for line in lines(caplog)]

    @pytest.mark.req("ORC-13")
    def test_cancelling_the_run_leaves_no_task_behind(self) -> None:
        async def scenario() -> int:
            case = Case(sink=Collected(Failing(every=3600.0)))
            running = asyncio.create_task(case.graph().run())
            await asyncio.sleep(1)
            running.cancel()
            await asyncio.wait({running})
            assert running.cancelled()
            assert {one.exit for one in case.graph().health().operators} == {Exit.ABORTED}
            return len(asyncio.all_tasks())

        assert run_virtually(scenario()) == 1

    @pytest.mark.req("ORC-13")
    @pytest.mark.parametrize("error", [None, OSError("gone"), KeyError("defect")], ids=["ok", "errored", "crashed"])
    def test_no_task_outlives_the_run(self, error: Exception | None) -> None:
        async def scenario() -> int:
            case = Case(Failing(*[error] * 9) if error else nothing)
            await case.graph().run()
            return len(asyncio.all_tasks())

        assert run_virtually(scenario()) == 1

    def test_a_source_that_waits_is_interrupted(self) -> None:
        async def waiting(outlet: Outlet[int], stop: Stop) -> None:
            while not stop.is_set:
                async with stop.interrupts():
                    await asyncio.sleep(3600)
            await outlet.send([42])

        graph, sink = OperatorGraph("g"), Collected()
        graph.connect(graph.add_source("source", waiting), graph.add_sink("sink", sink), PLAN)

        async def scenario() -> float:
            built = graph.build(timer=LoopTimer())
            asyncio.get_running_loop().call_later(2.0, built.stop)
            await built.run()
            return asyncio.get_running_loop().time()

        assert run_virtually(scenario()) == 2.0
        assert sink.items == [42], "what it still has is sent after the signal"


class TestFans:
    @staticmethod
    async def run(graph: OperatorGraph) -> Outcome:
        return await graph.build(timer=LoopTimer()).run()

    @pytest.mark.req("ORC-01")
    def test_several_sources_are_merged_and_nothing_is_lost(self) -> None:
        graph, sink = OperatorGraph("g"), Collected(Failing(every=0.1))
        fan = graph.add_fan_in("merge", merge)
        for n in range(8):
            graph.connect(graph.add_source(f"source {n}", numbers(20)), fan, PLAN)
        graph.connect(fan, graph.add_sink("sink", sink), PLAN)
        assert run_virtually(self.run(graph)).event == AllOk()
        assert sorted(sink.items) == sorted([*range(20)] * 8)

    @pytest.mark.req("ORC-01")
    def test_each_branch_gets_everything(self) -> None:
        graph, sinks = OperatorGraph("g"), [Collected(), Collected(Failing(every=0.1))]
        fan = graph.add_fan_out("copy", CopyToAll())
        graph.connect(graph.add_source("source", numbers(20)), fan, PLAN)
        for n, sink in enumerate(sinks):
            graph.connect(fan, graph.add_sink(f"sink {n}", sink), PLAN)
        assert run_virtually(self.run(graph)).event == AllOk()
        assert [sink.items for sink in sinks] == [[*range(20)]] * 2

    def test_a_copy_that_fails_between_two_branches_repeats_nothing(self) -> None:
        class Broken:
            def __init__(self, outlet: Outlet[int], failures: int) -> None:
                self._outlet, self._failures = outlet, failures

            async def send(self, batch: Iterable[int]) -> None:
                if self._failures:
                    self._failures -= 1
                    raise OSError
                await self._outlet.send(list(batch))

        graph, sinks, copy = OperatorGraph("g"), [Collected(), Collected()], CopyToAll()
        broken: list[Broken] = []

        async def copying(inlet: Inlet[int], outlets: Iterable[Outlet[int]]) -> None:
            first, second = outlets
            broken[:] = broken or [Broken(second, 3)]
            await copy(inlet, [first, broken[0]])

        fan = graph.add_fan_out("copy", copying)
        graph.connect(graph.add_source("source", numbers(20)), fan, PLAN)
        for n, sink in enumerate(sinks):
            graph.connect(fan, graph.add_sink(f"sink {n}", sink), PLAN)
        assert run_virtually(self.run(graph)).event == AllOk()
        assert [sink.items for sink in sinks] == [[*range(20)]] * 2


class TestTelling:
    @pytest.mark.req("FLW-06")
    def test_each_edge_is_logged_at_the_start_with_its_size_its_profile_and_its_policy(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        plan = EdgePlan.for_burst(BurstProfile(5000, 60, 4500), Backpressure("the kernel counts"))
        with caplog.at_level(logging.INFO, "holdfast.flow"):
            Case(plan=plan).run()
        assert lines(caplog)[:2] == [
            {
                "event": "edge",
                "graph": "g",
                "edge": "source -> middle",
                "buffer_size": 60_000,
                "profile": {"peak_rate": 5000, "peak_seconds": 60, "processing_rate": 4500, "safety": 2.0},
                "policy": "backpressure",
                "reason": "the kernel counts",
            },
            {
                "event": "edge",
                "graph": "g",
                "edge": "middle -> sink",
                "buffer_size": 4,
                "profile": None,
                "policy": "backpressure",
                "reason": "a test",
            },
        ]

    @pytest.mark.req("ORC-04", "ORC-15", "CTL-03")
    def test_each_decision_is_one_line_and_no_item_is(self, caplog: pytest.LogCaptureFixture) -> None:
        doing = Failing(OSError("gone"))
        with caplog.at_level(logging.INFO, "holdfast.flow"):
            Case(doing, count=1000).run()
        assert [(line["event"], line.get("operator")) for line in lines(caplog)[2:]] == [
            ("spawn", "source"),
            ("spawn", "middle"),
            ("spawn", "sink"),
            ("restart", "middle"),
            ("spawn", "middle"),
            ("clean-exit", "source"),
            ("clean-exit", "middle"),
            ("clean-exit", "sink"),
            ("ended", None),
        ]

    @pytest.mark.req("ORC-15")
    @pytest.mark.parametrize(
        ("error", "event"), [(OSError("gone"), "budget-exhausted"), (KeyError("defect"), "escalate")]
    )
    def test_the_end_of_a_graph_is_told_with_its_cause(
        self, error: Exception, event: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO, "holdfast.flow"):
            Case(Failing(error), Never()).run()
        told = [line for line in lines(caplog) if line["event"] == event]
        assert [(line["operator"], str(line["error"]).split(":")[0]) for line in told] == [
            ("middle", type(error).__name__)
        ]

    @pytest.mark.req("ORC-09", "ORC-15")
    def test_a_crash_is_told_with_the_place_it_happened_at(self, caplog: pytest.LogCaptureFixture) -> None:
        Case(Failing(KeyError("defect"))).run()
        (line,) = [line for line in lines(caplog) if line["event"] == "escalate"]
        assert "raise self._errors.pop(0)" in str(line["traceback"])

    @pytest.mark.req("CTL-01")
    def test_health_names_what_ended_though_it_should_run(self) -> None:
        case = Case(Failing(KeyError("defect")))

        async def scenario() -> None:
            graph = case.graph()
            assert {one.state for one in graph.health().operators} == {OperatorState.WAITING}
            running = asyncio.create_task(graph.run())
            await asyncio.sleep(0)
            assert graph.health().is_healthy
            await running
            assert (graph.health().is_healthy, graph.health().failed) == (False, ("middle",))

        run_virtually(scenario())

    @pytest.mark.req("CTL-01")
    def test_one_that_ended_by_itself_or_was_stopped_is_no_failure(self) -> None:
        case = Case(sink=Collected(Failing(every=3600)))
        case.run(stop_at=1.0)
        assert case.health.is_healthy
        assert {one.state for one in case.health.operators} == {OperatorState.ENDED}

    @pytest.mark.req("CTL-02", "FLW-09")
    def test_the_figures_have_their_names_and_labels(self) -> None:
        case = Case(Failing(OSError("gone")), sink=Collected(Failing(every=3600)), count=6)
        figures: dict[tuple[str, ...], float] = {}

        async def scenario() -> None:
            running = asyncio.create_task(case.graph().run())
            await asyncio.sleep(50)
            for figure in case.graph().metrics():
                figures[(figure.name, *figure.labels.values())] = figure.value
            running.cancel()
            await asyncio.wait({running})

        run_virtually(scenario())
        assert figures[("operator_restart_total", "middle")] == 1
        assert figures[("operator_restart_total", "sink")] == 0
        assert figures[("operator_uptime_seconds", "sink")] == 50
        assert figures[("channel_occupancy", "source -> middle")] == 2
        assert figures[("channel_occupancy", "middle -> sink")] == 4
        assert figures[("channel_items_total", "source -> middle")] == 6
        assert figures[("channel_capacity", "middle -> sink")] == 4
        assert figures[("channel_items_total", "middle -> sink")] == 4
        assert figures[("flow_policy_drops_total", "middle -> sink", "backpressure", "none")] == 0
