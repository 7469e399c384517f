"""A pipeline document that was read and found valid, and the plan it stands for. Reading and planning start nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from holdfast.config.checks import checked_together
from holdfast.config.explain import explained
from holdfast.config.naming import directory_of, text_of
from holdfast.config.pipeline import PipelineDocument
from holdfast.config.problems import Path, Problem, invalid
from holdfast.config.steps import StepBlock
from holdfast.config.syntax import Tree, parse
from holdfast.model.errors import HoldfastError, InvalidDocument
from holdfast.process.refusals import StepText
from holdfast.runtime.plan import Plan

if TYPE_CHECKING:
    from holdfast.capture.contract import Receiver, Source
    from holdfast.config.sinks import AnySink
    from holdfast.config.sources import AnySource
    from holdfast.deliver import SinkSpec

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Document:
    """What a text declares, and where each value stands."""

    file: str
    """Where it was read from."""
    values: PipelineDocument = field(repr=False)
    tree: Tree = field(repr=False, compare=False)
    folder: FilePath = FilePath()
    """Where its relative paths begin."""

    @property
    def name(self) -> str:
        """What the pipeline is called."""
        return self.values.metadata.name

    @property
    def directory(self) -> FilePath:
        """Where everything that the pipeline remembers lies."""
        return directory_of(self.name, self.values.spec.directory, self.folder)

    def plan(self) -> Plan:
        """What is to run; `InvalidDocument` with the place of everything that cannot be made.

        Functions and client libraries are imported. Nothing is opened, and nothing is written.
        """
        spec = self.values.spec
        making = _Making(self.tree)
        sources = making.all(self.source_paths(), [partial(self._source, block) for block in spec.all_sources])
        paths = _items("process", spec.process)
        steps = making.all(paths, [block.step for block in spec.process])
        sinks = making.all(_items("sinks", spec.sinks), [partial(self._sink, block) for block in spec.sinks])
        making.end()
        return Plan(
            name=self.name,
            directory=self.directory,
            sources=sources,
            steps=steps,
            sinks=sinks,
            policy=spec.commit.rule(),
            batch=spec.batch.limits(),
            quotas=spec.quotas.quotas(),
            keep=spec.keep.keep(),
            keep_delivered=spec.keep.delivered,
            points=spec.points.points(),
            checkpoint=spec.checkpoint.located(self.folder).checkpointing(),
            dead_letters=spec.dead_letters.limits(),
            restarts=spec.restarts.budget(),
            isolation=spec.isolation.limits(),
            spark=spec.spark.settings(),
            output_mode=spec.output_mode,
            step_texts=[self._step_text(path, block) for path, block in zip(paths, spec.process, strict=True)],
        )

    def _source(self, block: AnySource) -> Source | Receiver:
        return block.located(self.folder).source()

    def _sink(self, block: AnySink) -> SinkSpec:
        return block.located(self.folder).spec()

    def _step_text(self, path: Path, block: StepBlock) -> StepText:
        (kind,) = block.model_fields_set
        place = self.tree.spot((*path, kind)).place
        return StepText(place.file, place.line, place.column, self.tree.text_from(place))

    def source_paths(self) -> list[Path]:
        """Where the sources stand."""
        return [("spec", "source")] if self.values.spec.source else _items("sources", self.values.spec.all_sources)


def _items(key: str, blocks: Sequence[object]) -> list[Path]:
    return [("spec", key, number) for number, _ in enumerate(blocks)]


class _Making:
    """Makes what blocks stand for, and collects what is refused."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._problems: list[Problem] = []

    def all(self, paths: Sequence[Path], makes: Sequence[Callable[[], _Made]]) -> list[_Made]:
        made = []
        for path, make in zip(paths, makes, strict=True):
            try:
                made.append(make())
            except HoldfastError as error:
                what, remedy = self._tree.redacted(error.what), self._tree.redacted(error.remedy)
                self._problems.append(Problem(self._tree.spot(path).place, what, remedy, path))
        return made

    def end(self) -> None:
        if self._problems:
            raise invalid(self._tree.file, self._problems)


def load(
    source: FilePath | str, *, folder: FilePath | None = None, environment: Mapping[str, str] = os.environ
) -> Document:
    """Read a document from a file, or from a text; `InvalidDocument` with all its problems, each with its place.

    :param folder: where its relative paths begin; that of the file, and of a text the working directory.
    :param environment: what `${NAME}` stands for.
    """
    if folder is None:
        folder = source.parent if isinstance(source, FilePath) else FilePath()
    file, text = (str(source), text_of(source)) if isinstance(source, FilePath) else ("document", source)
    tree = parse(text, file, environment)
    if not tree.spots:
        raise invalid(file, tree.problems)
    values, found = None, []
    try:
        values = PipelineDocument.model_validate(tree.root)
    except ValidationError as error:
        found = list(explained(error, tree))
    problems = _once([*tree.problems, *found, *checked_together(tree)])
    if values is None or problems:
        raise invalid(file, problems)
    return Document(file, values, tree, folder)


def find_problems(source: FilePath | str, *, environment: Mapping[str, str] = os.environ) -> tuple[Problem, ...]:
    """Everything that keeps a document from being run, as far as it can be told without running it."""
    try:
        load(source, environment=environment).plan()
    except InvalidDocument as error:
        problems: tuple[Problem, ...] = error.context["problems"]  # type: ignore[assignment]
        return problems
    return ()


def _once(problems: list[Problem]) -> list[Problem]:
    """One problem a value: the first says why, and the others follow from it."""
    by_path = {problem.path: problem for problem in reversed(problems) if problem.path is not None}
    return [problem for problem in problems if problem.path is None or by_path[problem.path] is problem]
