"""The pipeline of a document on a scratch directory, so that it can be measured without touching anything of its own.

Sources are read as the document says; those that cannot be read twice are refused. Sinks are made anew below the
scratch directory where that is possible, and otherwise keep nothing, unless the real ones are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.config.document import Document
from holdfast.config.pipeline import KeepBlock, Spec
from holdfast.config.problems import Problem, invalid
from holdfast.config.sinks.files import FilesBlock
from holdfast.config.sinks.sqlite import SqliteBlock
from holdfast.config.sources.files import LogFilesBlock
from holdfast.config.sources.generator import GeneratorBlock, PaceBlock
from holdfast.sinks.nothing import Nothing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.config.sinks import AnySink
    from holdfast.config.sources import AnySource
    from holdfast.runtime.plan import Plan

_INBOX = 64 << 20
"""How many bytes of events may wait: more would only make latencies look long."""


class Sinks(Enum):
    """Where the rows of a measurement go."""

    SCRATCH = "scratch"
    REAL = "real"


@dataclass(frozen=True, slots=True)
class Scratch:
    """What is to be measured."""

    plan: Plan
    sinks: Mapping[str, str]
    """What stands for each sink: `scratch files`, `nothing`, or its kind when it is the real one."""


def scratched(
    document: Document, directory: Path, *, rate: float | None = None, sinks: Sinks = Sinks.SCRATCH
) -> Scratch:
    """The same pipeline, everything it writes below the directory.

    :param rate: events a second of made-up sources; as many as can be without one, whatever the document says.
    """
    _refuse_pushes(document)
    spec = document.values.spec
    changed = spec.model_copy(
        update={
            **_sources(spec, rate),
            "sinks": [_sink(block, directory, sinks) for block in spec.sinks],
            "directory": str(directory / "pipeline"),
            "quotas": spec.quotas.model_copy(update={"inbox": _INBOX}),
            "keep": KeepBlock(),
        }
    )
    values = document.values.model_copy(update={"spec": changed})
    plan = Document(document.file, values, document.tree, document.folder).plan()
    stand_ins = {block.label: _stand_in(block, sinks) for block in spec.sinks}
    return Scratch(
        replace(
            plan,
            name=f"bench-{plan.name}"[:63],
            sinks=[
                replace(sink, sink=Nothing()) if stand_ins[sink.name] == Nothing.kind else sink for sink in plan.sinks
            ],
        ),
        stand_ins,
    )


def _refuse_pushes(document: Document) -> None:
    problems = [
        Problem(
            document.tree.spot(path).place,
            f"Events of the type `{block.type}` come when somebody sends them, so there is nothing to measure with.",
            "Let it read a file of such events (`type: files`), or made-up ones (`type: generator`).",
            path,
        )
        for path, block in zip(document.source_paths(), document.values.spec.all_sources, strict=True)
        if not isinstance(block, GeneratorBlock | LogFilesBlock)
    ]
    if problems:
        raise invalid(document.file, problems)


def _sources(spec: Spec, rate: float | None) -> dict[str, object]:
    blocks = [_source(block, rate) for block in spec.all_sources]
    return {"source": blocks[0]} if spec.source else {"sources": blocks}


def _source(block: AnySource, rate: float | None) -> AnySource:
    if isinstance(block, GeneratorBlock):
        return block.model_copy(update={"pace": None if rate is None else PaceBlock(rate=rate)})
    return block


def _sink(block: AnySink, directory: Path, sinks: Sinks) -> AnySink:
    if sinks is Sinks.SCRATCH and isinstance(block, FilesBlock):
        return block.model_copy(update={"directory": str(directory / block.label)})
    if sinks is Sinks.SCRATCH and isinstance(block, SqliteBlock):
        return block.model_copy(update={"path": str(directory / f"{block.label}.db")})
    return block


def _stand_in(block: AnySink, sinks: Sinks) -> str:
    if sinks is Sinks.REAL:
        return block.type
    return f"scratch {block.type}" if isinstance(block, FilesBlock | SqliteBlock) else Nothing.kind
