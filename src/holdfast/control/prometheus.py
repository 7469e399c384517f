"""The text that Prometheus reads, in the format 0.0.4. What it tells of is the affair of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

Labels = Mapping[str, str]


class Sample(NamedTuple):
    """One number.

    :param suffix: what is put behind the name of the family: `_bucket`, `_sum` and `_count` of a histogram.
    """

    labels: Labels
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """Numbers under one name."""

    name: str
    kind: str
    """`gauge`, `counter` or `histogram`."""
    about: str
    samples: Iterable[Sample]


def histogram(labels: Labels, bounds: Sequence[float], counts: Sequence[int], total: float | None) -> Iterator[Sample]:
    """The samples of a histogram, cumulative as Prometheus wants it.

    :param counts: one for each bound, and one for what is above the last.
    :param total: of all that was counted; left out when nobody knows it.
    """
    for bound, count in zip([*(f"{bound:g}" for bound in bounds), "+Inf"], accumulate(counts), strict=True):
        yield Sample({**labels, "le": bound}, count, "_bucket")
    if total is not None:
        yield Sample(labels, total, "_sum")
    yield Sample(labels, sum(counts), "_count")


def rendered(families: Iterable[Family]) -> str:
    """The text."""
    lines = []
    for family in families:
        lines += [f"# HELP {family.name} {family.about}", f"# TYPE {family.name} {family.kind}"]
        lines += [
            f"{family.name}{suffix}{_named(labels)} {float(value):.15g}" for labels, value, suffix in family.samples
        ]
    return "\n".join(lines) + "\n"


def _named(labels: Labels) -> str:
    inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
