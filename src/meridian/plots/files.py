"""Pictures as files: the same figure gives the same bytes, and a file is there whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from meridian.plots.errors import PictureNotWritten

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

_SETTINGS: dict[RcKeyType, Any] = {"svg.hashsalt": "meridian", "svg.fonttype": "path"}


class Form(Enum):
    """What a picture can be written as; the value is the ending of the file's name."""

    PNG = ".png"
    SVG = ".svg"


_NOTHING_OF_THE_MOMENT = {Form.PNG: {"Software": None}, Form.SVG: {"Date": None, "Creator": None}}


def rendered(figure: Figure, form: Form) -> bytes:
    """The picture as bytes, without a time or a version in them."""
    drawn = BytesIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(drawn, format=form.value[1:], metadata=_NOTHING_OF_THE_MOMENT[form])
    return drawn.getvalue()


def save(figure: Figure, path: Path) -> int:
    """Write the picture in the form that the name says, and return how many bytes it has."""
    content = rendered(figure, Form(path.suffix.lower()))
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise PictureNotWritten(
            f"{path} cannot be written: {error.strerror}.",
            kept="What was there before is there still.",
            remedy="Name a file in a directory that exists and that you may write to.",
        ) from error
    return len(content)
