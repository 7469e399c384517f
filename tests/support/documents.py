"""A document that says everything there is to say, and ways to walk through it and change it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import yaml
from urllib3 import PoolManager

from holdfast.config.schema import Node, kinds, resolved, schema_of_values

Path = tuple[str | int, ...]

COMMON = {
    "required": False,
    "start": "earliest",
    "only": "large",
    "columns": ["n", "m"],
    "retry": {"base": "200ms", "cap": "1m", "attempts": 5, "elapsed": "10m"},
    "breaker": {"window": 10, "minimum": 4, "failure_rate": 0.25, "cool_down": "5s", "within": "1m"},
    "on_exhausted": "hold",
    "on_quota": "detach",
    "poison_unit": "row",
}
UPSERT = {"key": ["n"], "newer_by": "seq"}
GENERATOR = {
    "type": "generator",
    "name": "orders",
    "events": 1000,
    "transactions": [1, 3],
    "pace": {"rate": 100, "burst": 2.0, "every": "20s"},
    "chunk": 64,
    "padding": 8,
}
LOG_FILES = {
    "type": "files",
    "name": "logs",
    "paths": ["logs/*.log"],
    "encoding": "latin-1",
    "first_line": "[0-9]",
    "max_bytes": "64KiB",
    "idle": "1s",
    "follow": "to the end",
    "fingerprint": 512,
    "forget_after": "2m",
    "max_open": 10,
}
HTTP_PUSH = {
    "type": "http",
    "name": "pushes",
    "host": "localhost",
    "port": 9000,
    "token": "secret",
    "headers": ["x-trace"],
    "max_body": "1MiB",
    "patience": "10s",
    "max_connections": 100,
    "linger": "20ms",
    "keys_kept": 1000,
}
STDIN = {"type": "stdin", "name": "pipe", "encoding": "latin-1", "max_bytes": "64KiB"}
RELAY = {"type": "relay", "name": "theirs", "directory": "theirs/inbox"}
_FULL: dict[str, Any] = {
    "apiVersion": "holdfast/v1",
    "kind": "Pipeline",
    "metadata": {"name": "orders"},
    "spec": {
        "directory": "data/orders",
        "source": GENERATOR,
        "process": [
            {"sql": "SELECT * FROM events"},
            {"python": "tests.support.documents:unchanged"},
            {"filter": "seq > 0"},
            {"flatten": {"column": "after", "prefix": "after_"}},
            {"route": {"routes": {"large": "n > 10", "small": "n > 1"}, "otherwise": "rest"}},
            {"parse": {"format": "regex", "fields": "n STRING", "pattern": "(?<n>.+)", "encoding": "latin-1"}},
            {"rows": {"function": "tests.support.documents:unchanged", "fields": "n BIGINT"}},
            {"batches": {"function": "tests.support.documents:unchanged", "fields": "n BIGINT"}},
        ],
        "output_mode": "append",
        "sinks": [
            {
                "type": "files",
                "name": "archive",
                "directory": "out",
                "format": "parquet",
                "rotate_at": "32MiB",
                "max_inflight": 2,
                **COMMON,
            },
            {"type": "sqlite", "name": "local", "path": "orders.db", "table": "orders", "upsert": UPSERT, **COMMON},
            {"type": "postgres", "name": "remote", "dsn": "dbname=a", "table": "orders", "upsert": UPSERT, **COMMON},
            {
                "type": "http",
                "name": "web",
                "url": "http://host/a",
                "body": "lines",
                "headers": {"x-key": "one"},
                "max_rows": 100,
                "max_bytes": "1MiB",
                "timeout": "10s",
                "ca_file": "ca.pem",
                **COMMON,
            },
            {"type": "console", "name": "screen", "form": "table", "max_rows": 10, **COMMON},
        ],
        "commit": {"policy": "quorum", "quorum": 2},
        "batch": {
            "max_events": 1000,
            "max_bytes": "1MiB",
            "max_ms": 50,
            "respect_source_tx": True,
            "max_partitions": 3,
            "partition_bytes": "4MiB",
        },
        "quotas": {"inbox": "1GiB", "outbox": "unlimited", "detach_after": "20s"},
        "keep": {"age": "1h", "size": "100MiB", "delivered": "64MiB"},
        "points": {"every": "1m", "kept": "2h"},
        "checkpoint": {
            "store": "sqlite",
            "remote": {"type": "file", "directory": "backup"},
            "replicate_every": "1m",
            "cadence": "500ms",
            "keep_versions": 50,
        },
        "dead_letters": {"max_entries": 500, "max_age": "7d", "overflow": "block"},
        "restarts": {"failures": 3, "within": "1h"},
        "isolation": {"max_rows": 50, "max_probes": 500, "max_time": "5m"},
        "spark": {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 4}},
    },
}
FULL: dict[str, Any] = json.loads(json.dumps(_FULL))
"""Every key of the schema, once for each kind; no two values are the same object."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A value of a document and the schema for it."""

    path: Path
    node: Node
    is_required: bool = True
    block: str = ""
    """The kind of block it stands in."""

    @property
    def key(self) -> str | int:
        return self.path[-1] if self.path else ""

    @property
    def holds_blocks(self) -> bool:
        """Whether its keys or items are keys of the schema."""
        items = resolved(self.node.get("items", {}))
        return "properties" in self.node or "properties" in items or bool(kinds(items))


def several_sources() -> dict[str, Any]:
    """The full document, with a source of each kind."""
    document = copy.deepcopy(FULL)
    document["spec"]["sources"] = [document["spec"].pop("source"), *copy.deepcopy([LOG_FILES, STDIN, HTTP_PUSH, RELAY])]
    return document


def several_stores() -> list[dict[str, Any]]:
    """The full document, with each other kind of checkpoint store and of remote store."""
    s3 = {
        "type": "s3",
        "url": "s3://backup/orders",
        "region": "eu-north-1",
        "endpoint": "http://localhost:9000",
        "access_key_id": "key",
        "secret_access_key": "secret",
    }
    remote = ("spec", "checkpoint", "remote")
    on_a_server = {"store": "postgres", "dsn": "dbname=a"}
    return [
        with_value(FULL, ("spec", "checkpoint"), on_a_server),
        with_value(FULL, remote, {"type": "postgres", "dsn": "dbname=a"}),
        with_value(FULL, remote, s3),
    ]


def walk(
    value: Any, node: Node | None = None, path: Path = (), is_required: bool = True, block: str = ""
) -> Iterator[Spot]:
    """Every value of a document with its schema, blocks before what is in them."""
    node = resolved(schema_of_values() if node is None else node)
    if kinds(node):
        node = kinds(node)[value["type"]]
    yield Spot(path, node, is_required, block)
    if "properties" in node:
        for key, item in value.items():
            yield from walk(item, node["properties"][key], (*path, key), key in node.get("required", ()), node["title"])
    elif "items" in node:
        for number, item in enumerate(value):
            yield from walk(item, node["items"], (*path, number), block=f"{block}.{path[-1]}")


def at(document: Any, path: Path) -> Any:
    """The value at a path."""
    for part in path:
        document = document[part]
    return document


def with_value(document: Any, path: Path, value: object) -> Any:
    """A copy with another value at a path."""
    changed = copy.deepcopy(document)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def without(document: Any, path: Path) -> Any:
    """A copy without the value at a path."""
    changed = copy.deepcopy(document)
    del at(changed, path[:-1])[path[-1]]
    return changed


def text_of(document: object) -> str:
    """The document as YAML, a key a line."""
    return yaml.dump(document, Dumper=_WithoutAliases, sort_keys=False, width=1000)


def state(value: object) -> object:
    """Everything of ours that a value is made of, so that two can be compared that know no equality."""
    if isinstance(value, dict):
        return [(state(key), state(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [state(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.shape  # room for bytes, not yet filled
    if isinstance(value, PoolManager):
        return state(value.connection_pool_kw)
    if isinstance(value, Enum) or not type(value).__module__.startswith("holdfast."):
        return getattr(value, "__qualname__", re.sub(r" at 0x\w+", "", repr(value)))
    names = [field.name for field in fields(value)] if is_dataclass(value) else list(vars(value))
    return type(value).__qualname__, [(name, state(getattr(value, name))) for name in names]


def unchanged(frame: object) -> object:
    """A step that does nothing."""
    return frame


class _WithoutAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True
