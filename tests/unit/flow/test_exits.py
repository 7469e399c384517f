"""Which exit is forgiven: a table of the four exits and the three policies, and how old failures count."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.flow import FOR_SINKS, FOR_STATEFUL, FOR_STATELESS, Always, Budget, Decision, Exit, Never, RestartPolicy
from holdfast.flow.exits import decide, recent
from holdfast.flow.outcome import exit_of, text_of
from holdfast.model.errors import EdgeClosed, Transient

MINUTE = timedelta(seconds=60)
TWO = Budget(2, MINUTE)


@pytest.mark.req("ORC-07", "ORC-09", "ORC-10")
@pytest.mark.parametrize(
    ("exit_", "policy", "failures", "decision"),
    [
        (Exit.OK, Always(), 0, Decision.LEAVE),
        (Exit.OK, Never(), 0, Decision.LEAVE),
        (Exit.ABORTED, Always(), 0, Decision.LEAVE),
        (Exit.ABORTED, Never(), 0, Decision.LEAVE),
        (Exit.ERRORED, Always(), 100, Decision.RESTART),
        (Exit.ERRORED, Never(), 1, Decision.EXHAUSTED),
        (Exit.ERRORED, TWO, 1, Decision.RESTART),
        (Exit.ERRORED, TWO, 2, Decision.RESTART),
        (Exit.ERRORED, TWO, 3, Decision.EXHAUSTED),
        (Exit.CRASHED, Always(), 0, Decision.ESCALATE),
        (Exit.CRASHED, Never(), 0, Decision.ESCALATE),
        (Exit.CRASHED, TWO, 0, Decision.ESCALATE),
    ],
)
def test_what_is_done_about_an_exit(exit_: Exit, policy: RestartPolicy, failures: int, decision: Decision) -> None:
    assert decide(exit_, policy, range(failures)) is decision


@pytest.mark.req("ORC-07")
def test_failures_that_are_old_enough_do_not_count() -> None:
    assert recent((0.0, 30.0, 60.0), TWO, 60.0) == (0.0, 30.0, 60.0)
    assert recent((0.0, 30.0, 60.0), TWO, 60.1) == (30.0, 60.0)
    assert recent((0.0,), Always(), 0.0) == (), "nobody counts them, so nobody keeps them"


@pytest.mark.req("ORC-11")
def test_what_is_forgiven_by_default() -> None:
    assert (Budget(5, MINUTE), Budget(3, MINUTE), Never()) == (FOR_STATELESS, FOR_STATEFUL, FOR_SINKS)


def closed(edge: str) -> EdgeClosed:
    return EdgeClosed("It is closed.", remedy="End.", edge=edge)


@pytest.mark.req("ORC-06")
@pytest.mark.parametrize(
    ("error", "exit_"),
    [
        (None, Exit.OK),
        (OSError("no route"), Exit.ERRORED),
        (TimeoutError(), Exit.ERRORED),
        (EOFError(), Exit.ERRORED),
        (Transient("The service is down.", remedy="Wait."), Exit.ERRORED),
        (LookupError("declared as expected"), Exit.ERRORED),
        (TypeError("a defect"), Exit.CRASHED),
        (AssertionError(), Exit.CRASHED),
        (closed("out"), Exit.OK),
        (closed("somewhere else"), Exit.ERRORED),
        (ExceptionGroup("", [OSError(), ExceptionGroup("", [EOFError()])]), Exit.ERRORED),
        (ExceptionGroup("", [OSError(), TypeError()]), Exit.CRASHED),
        (ExceptionGroup("", [closed("out"), closed("out")]), Exit.OK),
        (ExceptionGroup("", [closed("out"), OSError()]), Exit.ERRORED),
    ],
    ids=lambda value: repr(value) if isinstance(value, BaseException) else str(value),
)
def test_which_end_is_which_exit(error: BaseException | None, exit_: Exit) -> None:
    assert exit_of(error, expects=(LookupError,), outputs=frozenset({"out"})) is exit_


def test_an_error_is_told_with_its_type_and_a_group_with_all_of_its_members() -> None:
    assert text_of(ExceptionGroup("", [OSError("no route"), EOFError()])) == "OSError: no route; EOFError"
