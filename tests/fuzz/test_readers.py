"""Whatever a reader is given, it reads or refuses it by a typed error, in bounded time and memory.

`make test` tries some inputs for each reader. `.venv/bin/python -m pytest -q --long tests/fuzz` tries a hundred times
as many, others each time, and prints the input that fails.
"""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.fuzz.bounds import refused_or_read
from tests.fuzz.inputs import Repeated, changed, repeated
from tests.fuzz.readers import READERS

QUICK = {"changed": 60, "bytes": 20, "repeated": 6}
LONG = {way: 100 * count for way, count in QUICK.items()}
WAYS: dict[str, Callable[[tuple[bytes, ...]], st.SearchStrategy[bytes | Repeated]]] = {
    "changed": changed,
    "bytes": lambda _: st.binary(max_size=300),
    "repeated": repeated,
}


@pytest.mark.parametrize("name", READERS)
def test_the_reader_takes_its_samples(name: str) -> None:
    """Otherwise the inputs made of them would all be refused for the same reason."""
    reader = READERS[name]
    for sample in reader.samples:
        reader.read(sample)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READERS)
def test_the_reader_refuses_or_reads(name: str, way: str, is_long: bool) -> None:
    reader = READERS[name]
    count = (LONG if is_long else QUICK)[way]

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=not is_long,
        suppress_health_check=[*HealthCheck],
    )
    @hypothesis.given(WAYS[way](reader.samples))
    def search(given: bytes | Repeated) -> None:
        data = given.data if isinstance(given, Repeated) else given
        refused_or_read(reader.read, data, reader.refusals)

    search()
