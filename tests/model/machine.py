"""A Hypothesis machine over the same world, with bounds no search could exhaust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.ledger.lane import LaneSpec
from tests.model.explorer import step
from tests.model.oracle import Before, check_state
from tests.model.world import POLICIES, Bounds, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.world import Operation

WIDE_OPEN = Bounds(
    lanes=(
        LaneSpec("a", required=True, max_inflight=1),
        LaneSpec("b", required=True, max_inflight=4),
        LaneSpec("d", required=False, max_inflight=3),
    ),
    remembering=frozenset({"a"}),
    batches=1000,
    troubles=1000,
    rejects=1000,
    crashes=1000,
    restores=1000,
    changes=1000,
    spare=LaneSpec("c", required=False, max_inflight=2),
    policies=POLICIES,
    rollbacks=1000,
)


def _some(*names: str) -> Callable[[LedgerMachine], bool]:
    return lambda machine: bool(machine.possible(*names))


class LedgerMachine(RuleBasedStateMachine):
    """Random walks through the world; kinds of operations are rules, so that rare ones do not drown."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(WIDE_OPEN)

    def possible(self, *names: str) -> list[Operation]:
        """The operations of these kinds that are possible now."""
        return [operation for operation in self.world.operations() if operation[0] in names]

    def one_of(self, data: st.DataObject, *names: str) -> None:
        """Let one operation of these kinds happen, and check the step."""
        operation = data.draw(st.sampled_from(self.possible(*names)))
        step(self.world, operation, Before(self.world))

    @rule()
    @precondition(_some("create"))
    def a_batch_is_created(self) -> None:
        step(self.world, ("create",), Before(self.world))

    @rule(data=st.data())
    @precondition(_some("send"))
    def a_batch_is_sent(self, data: st.DataObject) -> None:
        self.one_of(data, "send")

    @rule(data=st.data())
    @precondition(_some("apply", "ack"))
    def a_sink_answers(self, data: st.DataObject) -> None:
        self.one_of(data, "apply", "ack")

    @rule(data=st.data())
    @precondition(_some("fail", "hold", "vanish"))
    def an_attempt_goes_wrong(self, data: st.DataObject) -> None:
        self.one_of(data, "fail", "hold", "vanish")

    @rule(data=st.data())
    @precondition(_some("retry"))
    def a_batch_is_retried(self, data: st.DataObject) -> None:
        self.one_of(data, "retry")

    @rule(data=st.data())
    @precondition(_some("reject", "bury", "dead_lettered"))
    def a_batch_is_rejected(self, data: st.DataObject) -> None:
        self.one_of(data, "reject", "bury", "dead_lettered")

    @rule(data=st.data())
    @precondition(_some("write", "confirm"))
    def cursors_are_stored(self, data: st.DataObject) -> None:
        self.one_of(data, "write", "confirm")

    @rule(data=st.data())
    @precondition(_some("crash"))
    def the_process_crashes(self, data: st.DataObject) -> None:
        self.one_of(data, "crash")

    @rule(data=st.data())
    @precondition(_some("add_lane", "remove_lane", "change_policy"))
    def sinks_or_policy_change(self, data: st.DataObject) -> None:
        self.one_of(data, "add_lane", "remove_lane", "change_policy")

    @rule(data=st.data())
    @precondition(_some("detach_lane", "attach_lane"))
    def a_sink_is_detached_or_attached(self, data: st.DataObject) -> None:
        self.one_of(data, "detach_lane", "attach_lane")

    @rule(data=st.data())
    @precondition(_some("roll_back_lane", "roll_back"))
    def an_operator_rolls_back(self, data: st.DataObject) -> None:
        self.one_of(data, "roll_back_lane", "roll_back")

    @rule(data=st.data())
    @precondition(_some("drain", "stop", "force_stop"))
    def it_is_stopped(self, data: st.DataObject) -> None:
        self.one_of(data, "drain", "stop", "force_stop")

    @invariant()
    def every_invariant_holds(self) -> None:
        check_state(self.world)
