"""What it would mean to run another document instead of this one. Pure: it touches nothing that runs.

Sources and sinks are compared by their names, not by their places in a list, so one that is removed is removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum

from holdfast.config.document import Document
from holdfast.config.fields import Block
from holdfast.config.problems import Path
from holdfast.config.showing import shown, shown_key
from holdfast.config.sinks import SinkBlock


class Effect(IntEnum):
    """What a change asks of a pipeline that runs; a greater one takes in the smaller."""

    LIVE = 0
    """It is made while the pipeline runs."""
    RESTART = 1
    """The pipeline is drained and started again, and goes on where it was."""
    REFUSED = 2
    """It cannot be made."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """One thing that differs."""

    what: str
    """`sinks.cache`, or `batch.max_events`."""
    before: str | None
    """As it is written, without secrets; None when it is added."""
    after: str | None
    """None when it is removed."""
    effect: Effect
    means: str
    """What comes of it, in whole sentences."""

    def __str__(self) -> str:
        if self.before is None:
            difference = f"+ {self.what}: {self.after}"
        elif self.after is None:
            difference = f"- {self.what}: {self.before}"
        else:
            difference = f"~ {self.what}: {self.before} -> {self.after}"
        return f"{difference}\n    {_EFFECTS[self.effect]} {self.means}"


@dataclass(frozen=True, slots=True)
class Change:
    """Everything that differs between what a pipeline is and what it is to be."""

    pipeline: str
    alterations: tuple[Alteration, ...]

    @property
    def effect(self) -> Effect:
        """What the change as a whole asks for."""
        return max((alteration.effect for alteration in self.alterations), default=Effect.LIVE)

    def __str__(self) -> str:
        if not self.alterations:
            return f"{self.pipeline}: nothing changes."
        count = "one change" if len(self.alterations) == 1 else f"{len(self.alterations)} changes"
        lines = "\n".join(f"  {alteration}" for alteration in self.alterations)
        return f"{self.pipeline}: {count}. {_EFFECTS[self.effect]}\n{lines}"


def compare(old: Document, new: Document) -> Change:
    """What differs, and what each difference means for a running pipeline."""
    return Change(
        old.name,
        (
            *_keys((), _Side(old, (), old.values), _Side(new, (), new.values), skip=("spec",)),
            *_named("sources", _sources(old), _sources(new)),
            *_steps(old, new),
            *_named("sinks", _sinks(old), _sinks(new)),
            *_keys((), _Side(old, ("spec",), old.values.spec), _Side(new, ("spec",), new.values.spec), skip=_LISTS),
        ),
    )


_LISTS = ("source", "sources", "process", "sinks")
_EFFECTS = {Effect.LIVE: "Live.", Effect.RESTART: "Needs a restart.", Effect.REFUSED: "Refused."}

_STATE = "State that the steps kept is used as far as Spark can, and otherwise the start is refused."

_MEANINGS: Mapping[str, tuple[Effect, str]] = {
    "metadata": (Effect.REFUSED, "All that a pipeline remembers is under its name: start another under the new one."),
    "directory": (Effect.REFUSED, "All that a pipeline remembers lies there: stop it, move the directory, start it."),
    "+sources": (Effect.RESTART, "It is read from its beginning. From two sources on, `before` and `after` are JSON."),
    "-sources": (Effect.RESTART, "Its inbox stays; what is not processed waits until a source of this name is back."),
    "sources": (Effect.RESTART, "It goes on behind what was captured."),
    "sources.type": (Effect.REFUSED, "Its inbox holds positions of the other kind: give the new one a new name."),
    "process": (Effect.RESTART, f"What was published stays; the fingerprint of the steps changes. {_STATE}"),
    "output_mode": (Effect.RESTART, _STATE),
    "+sinks": (Effect.LIVE, "Its lane begins at its `start`."),
    "-sinks": (Effect.LIVE, "Its lane ends and holds nothing back any more; what the sink has stays there."),
    "sinks": (Effect.RESTART, "Its lane goes on from its cursor."),
    "sinks.start": (Effect.LIVE, "Nothing comes of it: only a lane that was never there before looks at it."),
    "sinks.place": (Effect.RESTART, "Its lane goes on from its cursor; under a new name, it begins at its `start`."),
    "commit": (Effect.LIVE, "What is committed follows the new policy, and never falls."),
    "batch": (Effect.RESTART, "The next batch is cut by the new limits."),
    "quotas": (Effect.RESTART, "Nothing is deleted: who feeds a log that is too large waits."),
    "keep": (Effect.RESTART, "What was forgotten does not come back; from now on so much is kept."),
    "points": (Effect.RESTART, "The next point is made so; those that are too old by then go."),
    "checkpoint": (Effect.RESTART, "The next cursors are written so."),
    "checkpoint.store": (
        Effect.RESTART,
        "The start is refused until the checkpoints are moved: `holdfast checkpoints export`, then `import`.",
    ),
    "checkpoint.dsn": (Effect.RESTART, "The start is refused unless that server has the pipeline's checkpoints."),
    "checkpoint.remote": (Effect.RESTART, "Everything is copied there; what the store before has stays there."),
    "dead_letters": (Effect.RESTART, "Entries beyond the new bounds go, or make new ones wait, as `overflow` says."),
    "isolation": (Effect.RESTART, "The next batch that fails is looked into within the new bounds."),
    "restarts": (Effect.RESTART, "Failures that are remembered count against the new budget."),
    "spark": (Effect.RESTART, "Spark is started anew."),
}
"""By the first key of what differs; `+` and `-` for what is added and removed."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A block of one of the two documents."""

    document: Document
    path: Path
    block: Block

    def whole(self) -> str:
        return shown(self.document.tree, self.path, self.block)

    def key(self, key: str) -> str:
        return shown_key(self.document.tree, self.path, self.block, key)

    def below(self, key: str) -> _Side | None:
        value = getattr(self.block, key)
        return _Side(self.document, (*self.path, key), value) if isinstance(value, Block) else None


def _sources(document: Document) -> dict[str, _Side]:
    blocks = zip(document.source_paths(), document.values.spec.all_sources, strict=True)
    return {block.label: _Side(document, path, block) for path, block in blocks}


def _sinks(document: Document) -> dict[str, _Side]:
    blocks = enumerate(document.values.spec.sinks)
    return {block.label: _Side(document, ("spec", "sinks", number), block) for number, block in blocks}


def _named(kind: str, old: Mapping[str, _Side], new: Mapping[str, _Side]) -> Iterator[Alteration]:
    for name, side in old.items():
        if name not in new:
            yield Alteration(f"{kind}.{name}", side.whole(), None, *_MEANINGS[f"-{kind}"])
        elif type(side.block) is type(new[name].block):
            yield from _keys((kind, name), side, new[name], skip=("name",))
        else:
            label = (kind, name, "type")
            yield Alteration(".".join(label), side.key("type"), new[name].key("type"), *_meaning(label))
    for name, side in new.items():
        if name not in old:
            yield Alteration(f"{kind}.{name}", None, side.whole(), *_MEANINGS[f"+{kind}"])


def _keys(above: tuple[str, ...], old: _Side, new: _Side, skip: Collection[str] = ()) -> Iterator[Alteration]:
    """The keys whose values differ, those of blocks below too."""
    for key in type(old.block).model_fields:
        if key in skip or getattr(old.block, key) == getattr(new.block, key):
            continue
        label = (*above, key)
        before, after = old.below(key), new.below(key)
        if before and after:
            yield from _keys(label, before, after)
        else:
            yield Alteration(".".join(label), old.key(key), new.key(key), *_meaning(label))


def _meaning(label: tuple[str, ...]) -> tuple[Effect, str]:
    if label[0] == "sinks" and (label[2] == "type" or label[2] not in SinkBlock.model_fields):
        return _MEANINGS["sinks.place"]
    return _MEANINGS.get(f"{label[0]}.{label[-1]}", _MEANINGS[label[0]])


def _steps(old: Document, new: Document) -> Iterator[Alteration]:
    before, after = ([step.model_dump_json() for step in side.values.spec.process] for side in (old, new))
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            for number in range(start, end):
                yield Alteration(f"process[{number}]", _step(old, number), None, *_MEANINGS["process"])
            for number in range(new_start, new_end):
                yield Alteration(f"process[{number}]", None, _step(new, number), *_MEANINGS["process"])


def _step(document: Document, number: int) -> str:
    return shown(document.tree, ("spec", "process", number), document.values.spec.process[number])
