"""When a full outbox stops waiting for an optional sink."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.runtime.relief import Relief

FULL, ROOMY, NEARLY = 100, 49, 99
Look = tuple[float, int, Sequence[str], str | None]

STORIES: dict[str, list[Look]] = {
    "it waits for as long as it is patient": [(0, FULL, "a", None), (9.9, FULL, "a", None), (10, FULL, "a", "a")],
    "nobody but required sinks holds it back": [(0, FULL, "", None), (99, FULL, "", None)],
    "a sink may be behind while there is room": [(0, NEARLY, "a", None), (99, NEARLY, "a", None)],
    "a little room does not end the waiting": [(0, FULL, "a", None), (5, NEARLY, "a", None), (10, FULL, "a", "a")],
    "much room does": [(0, FULL, "a", None), (5, ROOMY, "a", None), (10, FULL, "a", None), (20, FULL, "a", "a")],
    "having caught up does": [(0, FULL, "a", None), (5, FULL, "", None), (10, FULL, "a", None), (20, FULL, "a", "a")],
    "the slowest goes first, the next one if that was not enough": [
        (0, FULL, "ab", None),
        (10, FULL, "ab", "a"),
        (11, FULL, "b", "b"),
    ],
    "one that waits only since a moment ago is waited for": [
        (0, FULL, "a", None),
        (9, FULL, "ba", None),
        (10, FULL, "ba", "a"),
        (18, FULL, "b", None),
        (19, FULL, "b", "b"),
    ],
    "it is asked again only after another wait": [
        (0, FULL, "a", None),
        (10, FULL, "a", "a"),
        (11, FULL, "a", None),
        (21, FULL, "a", "a"),
    ],
}


@pytest.mark.req("X20")
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_full_outbox_waits_for_an_optional_sink(story: list[Look]) -> None:
    relief = Relief(quota=100, patience=10)
    assert [relief.due(used, list(behind), now) for now, used, behind, _ in story] == [due for *_, due in story]


def test_without_patience_it_does_not_wait() -> None:
    assert Relief(quota=100, patience=0).due(FULL, ["a"], 0) == "a"
