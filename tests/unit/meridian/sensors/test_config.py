"""The document of the edge: what it may say, and how what it may not is refused."""

from __future__ import annotations

from math import pi
from pathlib import Path

import pytest

from holdfast.model.errors import DocumentUnreadable, InvalidDocument
from meridian.sensors.config import host_and_port, load, parse
from meridian.sensors.sources.archive_client import Mode
from meridian.sensors.validation import UnknownObjects

DOCUMENTED = """
[radar]
bind_addrs = ["0.0.0.0:7001", "0.0.0.0:7002"]

[optical]
endpoint = "http://archive.example/observations"
poll_interval_ms = 5000

[isl]
listen_addr = "0.0.0.0:7100"

[sink]
output_dir = "/var/log/sda/ingest"

[control_plane]
bind_addr = "127.0.0.1:9100"
"""


@pytest.mark.req("ING-16")
def test_the_documented_keys_say_what_they_are_documented_to() -> None:
    document = parse(DOCUMENTED)
    assert document.radar is not None
    assert document.optical is not None
    assert document.isl is not None
    assert document.radar.bind_addrs == ["0.0.0.0:7001", "0.0.0.0:7002"]
    assert document.optical.polling.interval == 5.0
    assert document.optical.polling.mode is Mode.POLL
    assert document.isl.listen_addr == "0.0.0.0:7100"
    assert document.sink.output_dir == "/var/log/sda/ingest"
    assert document.control_plane.bind_addr == "127.0.0.1:9100"


def test_a_source_without_a_table_does_not_run() -> None:
    document = parse('[isl]\nlisten_addr = "127.0.0.1:0"\n[sink]\noutput_dir = "logs"')
    assert (document.radar, document.optical) == (None, None)


@pytest.mark.req("ING-16")
@pytest.mark.parametrize(
    ("wrong", "line", "what"),
    [
        (
            DOCUMENTED.replace("bind_addrs", "bind_adrs"),
            3,
            "`radar.bind_adrs` is not known. Did you mean `bind_addrs`?",
        ),
        (DOCUMENTED.replace("[sink]", "[snik]"), 12, "`snik` is not known. Did you mean `sink`?"),
        (DOCUMENTED.replace('output_dir = "/var/log/sda/ingest"', ""), 12, "`sink.output_dir` is missing."),
        (DOCUMENTED.replace("5000", '"soon"'), 7, "`optical.poll_interval_ms`: Input should be a valid integer"),
        (DOCUMENTED.replace("5000", "0"), 7, "`optical.poll_interval_ms`"),
        (DOCUMENTED.replace("0.0.0.0:7100", "7100"), 10, "write an address and a port"),
        (DOCUMENTED.replace("0.0.0.0:7100", "0.0.0.0:71000"), 10, "write an address and a port"),
        (DOCUMENTED.replace("http://", "ftp://"), 6, "`optical.endpoint`"),
        (DOCUMENTED + "[radio]\nchannel = 1", 1, "`radio` is not known."),
    ],
)
def test_a_wrong_document_is_refused_with_the_place_and_the_remedy(wrong: str, line: int, what: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        parse(wrong)
    message = str(refused.value)
    assert what in message
    assert f"edge.toml:{line}:" in message or line == 1


def test_a_document_that_is_no_toml_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="no TOML"):
        parse("[radar")


def test_a_document_without_any_source_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="names no source"):
        parse('[sink]\noutput_dir = "logs"')


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadable, match=r"edge\.toml"):
        load(tmp_path / "edge.toml")


def test_objects_and_area_are_in_the_units_of_the_rules() -> None:
    document = parse(
        DOCUMENTED
        + '[catalog]\nknown = [5, 6]\ndecommissioned = [7]\nunknown = "accept"\n'
        + "[area]\nmax_range_km = 2000.0\nmin_elevation_deg = 18.0\n"
    )
    catalog = document.catalog.catalog
    assert (catalog.known, catalog.decommissioned) == ({5, 6}, {7})
    assert catalog.unknown is UnknownObjects.ACCEPT
    assert document.area is not None
    assert document.area.area.max_range_m == 2e6
    assert document.area.area.min_elevation_rad == pytest.approx(pi / 10)


@pytest.mark.parametrize(
    ("text", "parts"), [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:9", ("localhost", 9))]
)
def test_an_address_has_a_host_and_a_port(text: str, parts: tuple[str, int]) -> None:
    assert host_and_port(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"a = {'9' * 5_000}", id="number"),
        pytest.param("\n".join(["a = [", *["[" * 1_000] * 5]), id="deep"),
    ],
)
def test_a_text_that_breaks_the_toml_parser_is_refused(text: str) -> None:
    with pytest.raises(InvalidDocument):
        parse(text)


def test_a_very_long_line_is_refused_before_it_is_parsed() -> None:
    """A dotted key of 100 kB takes the parser minutes."""
    with pytest.raises(InvalidDocument, match=r"The line has more than 4,000 characters\.") as refused:
        parse(f"\n{'a.' * 2_000}a = 1")
    assert "edge.toml:2:1:" in str(refused.value)


@pytest.mark.parametrize("filler", ["a", "é"])
def test_a_document_of_more_than_a_megabyte_is_refused(filler: str, tmp_path: Path) -> None:
    file = tmp_path / "edge.toml"
    file.write_text(f"#{filler * 1_000}\n" * 1_100)
    with pytest.raises(InvalidDocument, match="larger than 1 MiB"):
        load(file)


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    file = tmp_path / "edge.toml"
    file.write_bytes(DOCUMENTED.replace("\n", "\r\n").encode())
    assert load(file) == parse(DOCUMENTED)
