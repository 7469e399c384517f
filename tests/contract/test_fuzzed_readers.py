"""Every module that takes outside bytes apart is fuzzed, or is listed here with the reason why not.

A module counts when it calls one of the functions that turn bytes or text into values. A new one fails here until it
has a reader in `tests/fuzz`, or a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.readers import READERS

SOURCE = Path(__file__).resolve().parents[2] / "src"

PARSING = {
    *("loads", "raw_decode", "validate_json", "model_validate_json", "get_single_node", "ParserCreate", "literal_eval"),
    *("unpack", "unpack_from", "iter_unpack", "from_bytes", "frombuffer", "fromhex", "b64decode", "fromstring"),
    *("decompress", "decompressobj", "GzipFile", "open_stream", "open_file", "ParseFromString", "ParseDict"),
    *("DictReader", "fromisoformat", "strptime", "safe_load"),
}
"""Functions and methods by name."""
LOADING = {("json", "load"), ("np", "load"), ("tomllib", "load"), ("csv", "reader"), ("pickle", "load")}
"""Functions whose name alone says too little."""

OUR_OWN = "the bytes were made by this process, or by a worker or JVM that it started"
CHECKED = "the bytes lie behind a checksum, and the reader of the container is fuzzed"
TABLES = "the values are columns of a database that this program alone writes"
ONE_TIME = "one time in ISO 8601, given to `fromisoformat`; ValueError is turned into a refusal there"

NOT_FUZZED = {
    "holdfast.capture.tailing.block": "the array of one constant",
    "holdfast.checkpoint.sql.schema": TABLES,
    "holdfast.cli.checkpoints": "shows a payload as JSON, or in base64 when it is none",
    "holdfast.control.dlq": ONE_TIME,
    "holdfast.log.datasource": OUR_OWN,
    "holdfast.log.outbox_index": TABLES,
    "holdfast.runtime.gateway": OUR_OWN,
    "holdfast.runtime.processor": OUR_OWN,
    "holdfast.runtime.rollback.targets": ONE_TIME,
    "holdfast.sinks.console": OUR_OWN,
    "holdfast.testing.script": OUR_OWN,
    "meridian.cli.reprocessing": ONE_TIME,
    "meridian.cli.subscribing": "a word that the fuzzed reader of alert words has taken",
    "meridian.fusion.spark": OUR_OWN,
    "meridian.fusion.subscriber.book": TABLES,
    "meridian.hosting.running": "whether an edge that it started itself answers; anything else is no",
    "meridian.sensors.columns": "sixteen bytes of a UUID that was parsed",
    "meridian.sensors.events": CHECKED,
    "meridian.sensors.identity": OUR_OWN,
    "meridian.sensors.logs": OUR_OWN,
    "meridian.sensors.priority": CHECKED,
    "meridian.sensors.sources.radar_udp": "counters that the kernel writes",
    "meridian.service.reading": TABLES,
    "meridian.service.tracing": TABLES,
}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text())


def _parses(module: ast.Module) -> bool:
    return any(_is_parsing(node.func) for node in ast.walk(module) if isinstance(node, ast.Call))


def _is_parsing(called: ast.expr) -> bool:
    match called:
        case ast.Attribute(ast.Name(of), name) if (of, name) in LOADING:
            return True
        case ast.Attribute(attr=name) | ast.Name(name):
            return name in PARSING
    return False


def test_every_module_that_takes_bytes_apart_is_fuzzed_or_has_a_reason_not_to_be() -> None:
    parsing = {name for name, module in _modules() if _parses(module)}
    fuzzed = {name for reader in READERS.values() for name in reader.of}
    assert sorted(parsing - fuzzed - NOT_FUZZED.keys()) == []
    assert sorted(NOT_FUZZED.keys() - parsing) == [], "these take nothing apart any more"
    assert sorted(NOT_FUZZED.keys() & fuzzed) == [], "these are fuzzed"


def test_the_modules_that_readers_name_exist() -> None:
    assert {name for reader in READERS.values() for name in reader.of} <= {name for name, _ in _modules()}


def test_a_module_that_begins_to_parse_would_be_noticed() -> None:
    assert _parses(ast.parse("import json\njson.loads(data)"))
    assert _parses(ast.parse("from json import loads\nloads(data)"))
    assert _parses(ast.parse("import numpy as np\nnp.load(file)"))
    assert not _parses(ast.parse("import json\njson.dumps(load(data))"))
