"""The commit policies, as a complete table for up to four sinks (D8, X13)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from holdfast.ledger.lane import LaneSpec
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.policy import All, Policy, Quorum, Required, check_policy, policy_prefix
from holdfast.model.errors import InvalidPolicy

PREFIXES = (0, 1, 2)


@dataclass(frozen=True)
class Sink:
    required: bool
    delivered: int
    counts: bool = True


def sinks(number: int) -> list[tuple[Sink, ...]]:
    """Every mix of required and optional sinks, at every combination of prefixes."""
    choices = [Sink(required, delivered) for required in (True, False) for delivered in PREFIXES]
    return list(product(choices, repeat=number))


def allowed(policy: Policy, row: tuple[Sink, ...], batch: int) -> bool:
    """Whether the batch may be committed, by the words of the policy, sink by sink."""
    acks = [sink.delivered >= batch for sink in row]
    if isinstance(policy, Required):
        return all(ack for ack, sink in zip(acks, row, strict=True) if sink.required)
    if isinstance(policy, All):
        return all(acks)
    return acks.count(True) >= policy.n


@pytest.mark.req("D8", "X13")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_truth_table_is_complete(number: int) -> None:
    policies = [Required(), All(), *(Quorum(n) for n in range(1, number + 1))]
    checked = 0
    for policy, row in product(policies, sinks(number)):
        if isinstance(policy, Required) and not any(sink.required for sink in row):
            continue
        expected = max(batch for batch in PREFIXES if allowed(policy, row, batch))
        assert policy_prefix(policy, row) == expected, (policy, row)
        checked += 1
    assert checked == sum(
        len(sinks(number)) - (len(PREFIXES) ** number if isinstance(policy, Required) else 0) for policy in policies
    )


@pytest.mark.req("D8", "D6")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_ledger_commits_what_the_table_says_and_every_lane_remembers_its_sink(number: int) -> None:
    for policy in [Required(), All(), *(Quorum(n) for n in range(1, number + 1))]:
        for row in sinks(number):
            if isinstance(policy, Required) and not any(sink.required for sink in row):
                continue
            ledger = deliver(policy, row)
            assert ledger.committed == max(batch for batch in PREFIXES if allowed(policy, row, batch))
            assert [lane.delivered for lane in ledger.lanes.values()] == [sink.delivered for sink in row]


def deliver(policy: Policy, row: tuple[Sink, ...]) -> Ledger:
    """A ledger with two batches in which each sink has acknowledged as many as the row says; the rest fail."""
    specs = [LaneSpec(f"sink{i}", sink.required, max_inflight=2) for i, sink in enumerate(row)]
    ledger = Ledger(sources=[], lanes=specs, policy=policy)
    for oseq in (1, 2):
        ledger.create(oseq, {})
    for spec, sink in zip(specs, row, strict=True):
        for oseq in (1, 2):
            ticket = ledger.next(spec.name)
            assert ticket is not None
            sending = ticket.send()
            if oseq <= sink.delivered:
                sending.ack()
            else:
                sending.fail()
    return ledger


def test_a_lane_that_does_not_count_neither_holds_back_nor_helps() -> None:
    row = (Sink(True, 2), Sink(True, 0, counts=False))
    assert policy_prefix(Required(), row) == 2
    assert policy_prefix(All(), row) == 2
    assert policy_prefix(Quorum(1), row) == 2
    assert policy_prefix(Quorum(2), row) is None


@pytest.mark.parametrize(
    ("policy", "required"),
    [
        (Quorum(0), [True]),
        (Quorum(-1), [True]),
        (Quorum(3), [True, False]),
        (Required(), [False, False]),
        (All(), []),
        (Required(), []),
        (Quorum(1), []),
    ],
)
def test_a_policy_that_can_never_be_met_is_refused(policy: Policy, required: list[bool]) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        check_policy(policy, required)
    assert refusal.value.code == "HF-207"
    assert refusal.value.remedy
