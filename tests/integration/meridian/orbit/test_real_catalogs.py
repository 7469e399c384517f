"""Every element set of the real catalogs is read, and written as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.orbit_data import catalog_text, catalogs

from meridian.orbit.catalog import read_catalog
from meridian.orbit.omm_writing import format_csv, format_json
from meridian.orbit.tle import format_tle


@pytest.mark.parametrize("path", catalogs(), ids=lambda path: path.name)
@pytest.mark.req("ORB-01")
def test_every_set_is_read_and_written_as_it_was(path: Path) -> None:
    text = catalog_text(path)
    file = read_catalog(text)
    assert file.refusals == ()
    written = [
        f"{elements.name:<24}\n{first}\n{second}"
        for elements in file.elements
        for first, second in [format_tle(elements)]
    ]
    assert written == ["\n".join(lines) for lines in zip(*[iter(text.splitlines())] * 3, strict=True)]


@pytest.mark.req("ORB-01")
def test_a_whole_catalog_survives_the_other_forms() -> None:
    file = read_catalog(catalog_text(catalogs()[0]))
    as_json, as_csv = read_catalog(format_json(file.elements)), read_catalog(format_csv(file.elements))
    assert as_json.elements == as_csv.elements
    assert [format_tle(each) for each in as_json.elements] == [format_tle(each) for each in file.elements]
