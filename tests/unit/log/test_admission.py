"""How the next batch is shared out among inboxes."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.log.admission import admitted
from holdfast.log.values import Limits


@dataclass
class Rows:
    """An inbox of events that are each a transaction."""

    last: int

    def end(self) -> int:
        return self.last

    def admit(self, after: int, limits: Limits) -> int:
        return min(self.last, after + limits.rows)


def test_one_inbox_with_a_flood_does_not_keep_the_others_waiting() -> None:
    inboxes = {"radar-1": Rows(1_000_000), "radar-2": Rows(1_000_000), "optical": Rows(40), "isl": Rows(3)}
    at: dict[str, int] = {}
    for batch in range(1, 4):
        at = admitted(inboxes, at, Limits(rows=1000, nbytes=1 << 30))
        assert (at["optical"], at["isl"]) == (inboxes["optical"].last, inboxes["isl"].last)
        assert min(at["radar-1"], at["radar-2"]) >= 250 * batch
        inboxes["optical"], inboxes["isl"] = Rows(40 * (batch + 1)), Rows(3 * (batch + 1))


def test_what_one_inbox_does_not_need_of_its_share_the_others_have() -> None:
    inboxes = {"radar-1": Rows(5000), "optical": Rows(10), "radar-2": Rows(5000), "isl": Rows(20), "silent": Rows(0)}
    assert admitted(inboxes, {"gone": 7}, Limits(rows=1000, nbytes=1 << 30)) == {
        "gone": 7,
        "radar-1": 485,
        "optical": 10,
        "radar-2": 485,
        "isl": 20,
        "silent": 0,
    }
