"""What a page of the docs shows: its fenced blocks, and a script of its commands beside what they are said to print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_REDIRECTION = re.compile(r"\d?>+ ?[\w./&~-]+| #.*")
_COMMAND = re.compile(r"(?:^|[;&|(]|\b(?:until|while|do|if)\b) *((?:holdfast|meridian) [^;&|()#]+)")
_MENTION = re.compile(r"`((?:holdfast|meridian) [a-z-][^`|…]+)`")
_MARK = "-- block"
_SHIM = '#!/bin/sh\nexec "{python}" -m {module} "$@"\n'


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    kind: str
    """What stands behind the fence: `sh`, `text`, `yaml` …"""
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(kind, block) for kind, block in BLOCK.findall(text)]


def commands(text: str) -> Iterator[str]:
    """Every call of `holdfast` and of `meridian` in the blocks of a page."""
    for block in blocks(text):
        for line in block.text.replace("\\\n", " ").splitlines():
            yield from (found.strip() for found in _COMMAND.findall(_REDIRECTION.sub("", line)))


def mentions(text: str) -> Iterator[str]:
    """Every command that is named between back-ticks, outside of blocks."""
    yield from (" ".join(found.split()) for found in _MENTION.findall(BLOCK.sub("", text)))


def programs(directory: Path) -> str:
    """A path to search for commands, on which `meridian`, `holdfast` and `python` are those of these tests.

    :param directory: is made for the first two.
    """
    directory.mkdir()
    for name in ("meridian", "holdfast"):
        shim = directory / name
        shim.write_text(_SHIM.format(python=sys.executable, module=f"{name}.cli"))
        shim.chmod(0o755)
    return os.pathsep.join([str(directory), str(Path(sys.executable).parent), os.environ["PATH"]])


def run_text(text: str, directory: Path, *, environment: Mapping[str, str], timeout: float) -> None:
    """Run the `sh` blocks of a page as one script, and compare each with the `text` block behind it.

    Whatever the script has started is ended with it.
    """
    shown = blocks(text)
    script = ["set -eu -o pipefail"]
    for number, block in enumerate(shown):
        if block.kind == "sh":
            script += [f"echo '{_MARK} {number}'", block.text]
    process = subprocess.Popen(
        ["bash", "-c", "\n".join(script)],
        cwd=directory,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=timeout)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert process.returncode == 0, printed
    answers = dict(_answers(printed))
    for number, block in enumerate(shown):
        if block.kind == "text" and number - 1 in answers:
            assert is_as_shown(answers[number - 1], block.text), f"shown is\n{block.text}\nbut it was\n{printed}"


def _answers(printed: str) -> Iterator[tuple[int, str]]:
    for part in re.split(rf"^{_MARK} (?=\d+$)", printed, flags=re.MULTILINE)[1:]:
        number, _, text = part.partition("\n")
        yield int(number), text


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether the lines that are shown come in this order, `…` standing for anything; others may come between."""
    patterns = [".*".join(map(re.escape, _evened(line).split("…"))) for line in shown.splitlines() if line.strip()]
    lines = iter(printed.splitlines())
    return all(any(re.fullmatch(pattern, _evened(line)) for line in lines) for pattern in patterns)


def _evened(line: str) -> str:
    return " ".join(line.split())
