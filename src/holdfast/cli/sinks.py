"""Commands that change the sinks of a running pipeline, as its edited document declares them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command
from holdfast.control.client import ask
from holdfast.control.place import find

if TYPE_CHECKING:
    from holdfast.cli.output import Output

document_argument = click.argument("document", type=click.Path(path_type=Path))


@click.group("sinks")
def sinks() -> None:
    """Add and remove sinks while the pipeline runs."""


@command("add", examples=("holdfast sinks add pipeline.yaml cache",))
@document_argument
@click.argument("name")
def add(out: Output, document: Path, name: str) -> None:
    """Deliver to one more sink, which the document declares and the running pipeline does not have yet."""
    place = find(document)
    ask(place.directory, "add_sink", name=name, document=document.read_text(encoding="utf-8-sig"), patience=60)
    out.result({"pipeline": place.name, "added": name}, f"{place.name} delivers to {name}.")


@command("remove", examples=("holdfast sinks remove pipeline.yaml cache",))
@document_argument
@click.argument("name")
def remove(out: Output, document: Path, name: str) -> None:
    """Deliver no more to a sink that the document does not declare any more. What the sink has stays there."""
    place = find(document)
    text = document.read_text(encoding="utf-8-sig")
    record = ask(place.directory, "remove_sink", name=name, document=text, patience=60)
    out.result({"pipeline": place.name, "removed": name, "left": record}, f"{place.name} no longer delivers to {name}.")


for _command in (add, remove):
    sinks.add_command(_command)
