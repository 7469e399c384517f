"""Whether everything that fusion writes can be told from what comes again: looked at before anything runs. Pure.

A row comes again after every crash between its effect and the note of it. So every output names the column by which a
row is recognised, and every sink is given that column, and either keeps its own cursor beside the rows or sends a key
with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast import Http, SinkSpec
from holdfast.deliver.contract import Tier
from holdfast.model.errors import InvalidPipeline
from meridian.fusion.outputs import OUTPUTS, Output
from meridian.fusion.subscriber.lane import Prompt


def keyed(sinks: Iterable[SinkSpec], outputs: Sequence[Output] = OUTPUTS) -> list[SinkSpec]:
    """The same sinks; `InvalidPipeline` when one of them, or an output, has nothing to recognise its rows by."""
    by_route = {output.route: output for output in outputs}
    for output in outputs:
        if not {output.key, output.newer_by} <= set(output.schema.names):
            raise _refused(f"The output {output.route!r} has no column {output.key!r} or {output.newer_by!r}.")
    return [_keyed(spec, None if spec.only is None else by_route.get(spec.only)) for spec in sinks]


def _keyed(spec: SinkSpec, output: Output | None) -> SinkSpec:
    if output is None:
        raise _refused(f"The sink {spec.name!r} takes rows of {spec.only or 'every route'}, which have no key.")
    if output.key not in (output.columns if spec.columns is None else spec.columns):
        raise _refused(f"The sink {spec.name!r} is not given {output.key!r}, the key of its rows.")
    if spec.sink.tier is Tier.AT_LEAST_ONCE and not isinstance(spec.sink, Http | Prompt):
        raise _refused(f"The sink {spec.name!r} keeps no cursor beside its rows, and sends no key with them.")
    return spec


def _refused(what: str) -> InvalidPipeline:
    return InvalidPipeline(
        f"{what} A row that comes again could not be told from a new one.",
        remedy="Declare the key of the output, and give the sink one route and its key.",
    )
