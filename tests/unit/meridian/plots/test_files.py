"""Pictures as files: the same bytes, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from tests.support.pictures import PICTURES
from tests.support.seen import conjunction

from meridian.plots.encounter import encounter
from meridian.plots.errors import PictureNotWritten
from meridian.plots.files import Form, rendered, save


@pytest.mark.parametrize("form", Form)
def test_the_same_values_give_the_same_bytes(form: Form) -> None:
    assert rendered(encounter(conjunction()), form) == rendered(encounter(conjunction()), form)


def test_another_process_gives_the_same_bytes() -> None:
    code = (
        "import sys\nfrom tests.support.seen import conjunction\nfrom meridian.plots.encounter import encounter\n"
        "from meridian.plots.files import Form, rendered\n"
        "sys.stdout.buffer.write(rendered(encounter(conjunction()), Form.SVG))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == rendered(encounter(conjunction()), Form.SVG)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_the_name_says_the_form(tmp_path: Path, name: str, start: bytes) -> None:
    count = save(encounter(conjunction()), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert len(content) == count


def test_a_file_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(PictureNotWritten) as caught:
        save(encounter(conjunction()), tmp_path / "nowhere" / "a.png")
    assert "exists" in caught.value.remedy


def test_what_was_there_stays_when_the_picture_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"before")

    def half(figure: Figure, file: object, **how: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise MemoryError

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(MemoryError):
        save(encounter(conjunction()), path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"before"


def test_what_was_there_stays_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"before")
    write = Path.write_bytes

    def short(self: Path, content: bytes) -> int:
        write(self, content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", short)
    with pytest.raises(PictureNotWritten, match="No space left on device"):
        save(encounter(conjunction()), path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("name", ["encounter.svg", "screen.svg"])
def test_the_pictures_of_the_docs_are_small(name: str) -> None:
    assert 1_000 < (PICTURES / name).stat().st_size < 120_000
