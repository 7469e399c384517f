"""Searches for an input that a reader neither reads nor refuses by a typed error, in bounded time and memory."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.fuzz.bounds import refused_or_read
from tests.fuzz.inputs import Changed, Repeated, changed, repeated
from tests.fuzz.reader import Reader

WAYS: dict[str, Callable[[tuple[bytes, ...]], st.SearchStrategy[bytes | Changed | Repeated]]] = {
    "changed": changed,
    "bytes": lambda _: st.binary(max_size=300),
    "repeated": repeated,
}
"""How inputs are made."""


def search(reader: Reader, way: str, count: int, *, seed: int | None = None) -> None:
    """Try so many inputs; the simplest that fails is in the notes of the error.

    :param seed: of a search that finds other inputs; without one they are the same each time.
    """

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=seed is None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],
    )
    @hypothesis.given(WAYS[way](reader.samples))
    def read(given: bytes | Changed | Repeated) -> None:
        data = given if isinstance(given, bytes) else given.data
        refused_or_read(reader.read, data, reader.refusals)

    (hypothesis.seed(seed)(read) if seed is not None else read)()
