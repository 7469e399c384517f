"""The checkpoint stores of pipelines in tests: on the run's own servers, and cut off from them."""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.config.checkpoint import CheckpointBlock
from holdfast.runtime.layout import Layout
from tests.support.cutting import Relay
from tests.support.local_pipelines import pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast import Generator, Pipeline
    from tests.support.servers import Bucket, Servers


def fresh_schema(servers: Servers) -> str:
    """The DSN of an empty schema: pipelines of one name in different tests do not meet."""
    import psycopg

    dsn, schema = servers.postgres(), f"checkpoints_{uuid.uuid4().hex}"
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {schema}")  # type: ignore[arg-type]
    return f"{dsn} options='-csearch_path={schema}'"


@contextmanager
def relayed(dsn: str) -> Iterator[tuple[str, Relay]]:
    """The same database through a relay that can be cut."""
    import psycopg

    parameters = psycopg.conninfo.conninfo_to_dict(dsn)
    with Relay(str(parameters["host"]), int(str(parameters["port"]))) as relay:
        yield psycopg.conninfo.make_conninfo(dsn, host="127.0.0.1", port=str(relay.port)), relay


def s3_remote(bucket: Bucket) -> dict[str, str]:
    """The block `remote` for a bucket."""
    return {
        "type": "s3",
        "url": f"s3://{bucket.name}/orders",
        "region": bucket.region,
        "endpoint": bucket.endpoint,
        "access_key_id": bucket.access_key,
        "secret_access_key": bucket.secret_key,
    }


def with_checkpoints(directory: Path, source: Generator, block: dict[str, object]) -> Pipeline:
    """The pipeline of orders, with the block `spec.checkpoint` of a document."""
    return pipeline(directory, source).checkpoint(CheckpointBlock.model_validate(block).checkpointing())


def lose_local_store(directory: Path) -> None:
    """Remove what the local checkpoint store has on disk, of either kind."""
    layout = Layout(directory / "pipeline")
    there = [path for path in layout.root.glob("checkpoints*") if path.exists()]
    assert there, "there was no store to lose"
    for path in there:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
