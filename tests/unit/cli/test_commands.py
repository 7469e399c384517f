"""What holds of every command: help with examples, `--output`, and a line in the list."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from tests.support.commands_page import every_command

from holdfast.cli.commands import _ABOUT, holdfast
from holdfast.cli.output import table

COMMANDS = dict(every_command(holdfast, click.Context(holdfast)))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_help_examples_and_output(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    examples = (command.epilog or "").split("\n")[2:]
    assert examples
    assert all("holdfast " in line for line in examples)
    (form,) = [each for each in command.params if each.name == "form"]
    assert form.opts == ["--output"]
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


@pytest.mark.parametrize("name", _ABOUT)
def test_the_list_names_what_there_is(name: str) -> None:
    command = holdfast.get_command(click.Context(holdfast), name)
    assert command is not None
    assert command.name == name


def test_the_help_of_the_whole_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom holdfast.cli import main\n"
        "sys.argv = ['holdfast', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('pyarrow', 'numpy', 'pydantic', 'pyspark', 'sqlite3', 'rich', 'yaml')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(f"  {name} " in done.stdout for name in _ABOUT)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_asks_the_command(shell: str) -> None:
    done = CliRunner().invoke(holdfast, ["completion", shell, "--output", "json"])
    assert done.exit_code == 0
    assert "_HOLDFAST_COMPLETE" in json.loads(done.stdout)["script"]


def test_completion_completes_a_command() -> None:
    from click.shell_completion import ShellComplete

    found = ShellComplete(holdfast, {}, "holdfast", "_HOLDFAST_COMPLETE").get_completions(["checkpoints"], "pr")
    assert [item.value for item in found] == ["prune"]


def test_a_table_puts_numbers_to_the_right_and_counts_no_colour() -> None:
    drawn = table(("name", "n"), [(click.style("a", fg="red"), 5), ("long", 1234)])
    assert click.unstyle(drawn).splitlines() == ["name      n", "a         5", "long  1,234"]
