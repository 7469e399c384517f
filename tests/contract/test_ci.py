"""What CI runs: `.ci/run` says that it is CI, runs the two commands and nothing else, and no test is skipped there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SKIPS = {
    "a test that skips itself": "import pytest\ndef test_it(): pytest.skip('no server')\n",
    "a mark": "import pytest\n@pytest.mark.skip(reason='no server')\ndef test_it(): pass\n",
    "a condition": "import pytest\n@pytest.mark.skipif(True, reason='no server')\ndef test_it(): pass\n",
    "a fixture": "import pytest\n@pytest.fixture\ndef it(): pytest.skip('no server')\ndef test_it(it): pass\n",
    "a module": "import pytest\npytest.skip('no server', allow_module_level=True)\n",
    "a library": "import pytest\npytest.importorskip('no_server')\n",
}


def run_tests(directory: Path, text: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests under the project's own configuration and plugins, in a process of its own."""
    file = directory / "test_skipping.py"
    file.write_text(text)
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "-q"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(directory), str(file)],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS.keys())
def test_a_test_that_is_skipped_in_ci_has_failed(tmp_path: Path, text: str) -> None:
    ran = run_tests(tmp_path, text, ci="true")
    assert ran.returncode != 0, ran.stdout
    assert "with CI=true no test may be" in ran.stdout
    assert "no server" in ran.stdout or "no_server" in ran.stdout, "the reason is told"


def test_elsewhere_it_is_skipped_with_the_reason(tmp_path: Path) -> None:
    ran = run_tests(tmp_path, SKIPS["a fixture"], ci="")
    assert ran.returncode == 0, ran.stdout
    assert "1 skipped" in ran.stdout
    assert "no server" in ran.stdout


def test_ci_says_that_it_is_ci_and_runs_the_two_commands() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "export CI=true", "make check", "make test"]
