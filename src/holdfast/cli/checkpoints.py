"""Commands about what a pipeline remembers. Reading works beside a running process; writing needs it stopped."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.exits import ExitCode
from holdfast.cli.output import results_width, table
from holdfast.control.place import find
from holdfast.model.errors import UnknownKey

if TYPE_CHECKING:
    from holdfast.checkpoint import Version
    from holdfast.cli.output import Output

key_argument = click.argument("key")


@click.group("checkpoints")
def checkpoints() -> None:
    """List, show, compare, prune, delete, export and import what a pipeline remembers."""


def _described(version: Version) -> dict[str, object]:
    return {
        "key": version.key,
        "version": version.number,
        "created_at": version.created_at,
        "size": version.size,
        "epoch": version.epoch,
        "origin": version.origin,
        "restored_from": version.restored_from,
    }


@command("list", examples=("holdfast checkpoints list", "holdfast checkpoints list orders.yaml --key cursors"))
@pipeline_argument
@click.option("--key", help="List the versions of this key; without it, the newest version of every key.")
def list_(out: Output, pipeline: Path, key: str | None) -> None:
    """List keys with their newest version, or the versions of one key."""
    from holdfast.control.files import reading

    with reading(find(pipeline).directory) as store:
        keys = store.keys()
        found = store.versions(key) if key else [store.versions(name)[-1] for name in keys]
        if key and not found:
            raise UnknownKey(f"There is no key {key!r}.", remedy=f"Its keys are {', '.join(keys)}.")
    head = ("key", "version", "written", "size", "epoch", "origin")
    rows = [(v.key, v.number, f"{v.created_at:%Y-%m-%d %H:%M:%S}", v.size, v.epoch, v.origin.value) for v in found]
    out.result([_described(version) for version in found], table(head, rows, results_width()))


@command(
    "show",
    examples=("holdfast checkpoints show pipeline.yaml cursors", "holdfast checkpoints show data cursors --version 7"),
)
@click.argument("pipeline", type=click.Path(path_type=Path))
@key_argument
@click.option("--version", "number", type=int, help="Which version; the newest without it.")
def show(out: Output, pipeline: Path, key: str, number: int | None) -> None:
    """Show what a key holds."""
    from holdfast.control.files import reading

    with reading(find(pipeline).directory) as store:
        stored = store.get_version(key, number) if number is not None else store.get_raw(key)
        if stored is None:
            raise UnknownKey(f"There is no key {key!r}.", remedy=f"Its keys are {', '.join(store.keys())}.")
    try:
        content = json.loads(stored.payload)
    except (ValueError, RecursionError):
        content = base64.b64encode(stored.payload).decode()
    out.result({**_described(stored.version), "content": content}, json.dumps(content, indent=2))


@command("diff", examples=("holdfast checkpoints diff pipeline.yaml cursors 3 7",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@key_argument
@click.argument("older", type=int)
@click.argument("newer", type=int)
def diff(out: Output, pipeline: Path, key: str, older: int, newer: int) -> None:
    """Tell what changed from one version of a key to another."""
    from holdfast.checkpoint.difference import Missing
    from holdfast.control.files import reading

    with reading(find(pipeline).directory) as store:
        changes = store.diff(key, older, newer)
    values = [
        {"path": c.path, "before": _or_none(c.before, Missing), "after": _or_none(c.after, Missing)} for c in changes
    ]
    out.result(values, "\n".join(map(str, changes)) or "Nothing differs.")


def _or_none(value: object, missing: type) -> object:
    return None if isinstance(value, missing) else value


@command("prune", examples=("holdfast checkpoints prune pipeline.yaml cursors --keep 10",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@key_argument
@click.option("--keep", type=click.IntRange(1), required=True, help="How many of the newest versions stay.")
def prune(out: Output, pipeline: Path, key: str, keep: int) -> None:
    """Forget old versions of a key. The newest one, and the newest that can be read, always stay."""
    from holdfast.control.files import owning

    with owning(find(pipeline).directory) as (store, epoch):
        gone = store.prune(key, keep=keep, epoch=epoch)
    out.result({"key": key, "pruned": gone}, f"{gone:,} versions of {key} are forgotten.")


@command("delete", examples=("holdfast checkpoints delete pipeline.yaml pause --yes",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@key_argument
@click.option("--yes", is_flag=True, help="Do it: without this, only what would be lost is told.")
def delete(out: Output, pipeline: Path, key: str, yes: bool) -> ExitCode | None:
    """Remove a key and all its versions."""
    from holdfast.control.files import owning, reading

    directory = find(pipeline).directory
    with reading(directory) as store:
        count = len(store.versions(key))
    if not count:
        raise UnknownKey(f"There is no key {key!r}.", remedy="See `holdfast checkpoints list`.")
    if not yes:
        out.result(
            {"key": key, "versions": count, "deleted": False}, f"{count:,} versions of {key} would be lost: add --yes."
        )
        return ExitCode.FAILED
    with owning(directory) as (store, epoch):
        store.delete(key, epoch=epoch)
    out.result({"key": key, "versions": count, "deleted": True}, f"{key} is removed.")
    return None


@command("export", examples=("holdfast checkpoints export pipeline.yaml backup.jsonl",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def export(out: Output, pipeline: Path, file: Path) -> None:
    """Write the newest version of every key into a file, one JSON object a line."""
    from holdfast.control.transfer import export_newest

    count = export_newest(find(pipeline).directory, file)
    out.result({"file": file, "keys": count}, f"{count:,} keys are in {file}.")


@command("import", examples=("holdfast checkpoints import pipeline.yaml backup.jsonl",))
@click.argument("pipeline", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def import_(out: Output, pipeline: Path, file: Path) -> None:
    """Write the keys of a file as the newest versions, all or none. The versions before them stay.

    When the document names another kind of store than the one in use, the checkpoints move there. That takes an export
    that was made after the last run.
    """
    from holdfast.control.transfer import import_into, import_newest

    place = find(pipeline)
    if place.document is None:
        count = import_newest(place.directory, file)
    else:
        from holdfast.config import load

        count = import_into(load(place.document), file)
    out.result({"file": file, "keys": count}, f"{count:,} keys are written.")


for _command in (list_, show, diff, prune, delete, export, import_):
    checkpoints.add_command(_command)
