"""Whatever a reader is given, it reads or refuses it by a typed error, in bounded time and memory.

Here each reader gets some inputs, the same each time. `make fuzz SECONDS=n` tries others for as long as one likes.
"""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from tests.fuzz.readers import READERS
from tests.fuzz.search import WAYS, search

QUICK = {"changed": 40, "bytes": 10, "repeated": 4}


@pytest.mark.parametrize("name", READERS)
def test_the_reader_takes_its_samples_with_the_code_it_names(name: str) -> None:
    """Otherwise the inputs made of them would all be refused for the same reason, or another reader be fuzzed."""
    reader, ran = READERS[name], set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        ran.add(frame.f_globals.get("__name__", ""))

    for sample in reader.samples:
        sys.setprofile(note)
        try:
            reader.read(sample)
        finally:
            sys.setprofile(None)
    assert set(reader.of) <= ran


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READERS)
def test_the_reader_refuses_or_reads(name: str, way: str) -> None:
    search(READERS[name], way, QUICK[way])
