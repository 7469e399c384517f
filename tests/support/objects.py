"""A client of an S3 server that gives up at once, so that a store above it sees every fault."""

from __future__ import annotations

from datetime import timedelta

from obstore.store import S3Store


def impatient_client(endpoint: str, bucket: str) -> S3Store:
    """A client that never tries again by itself."""
    return S3Store(
        bucket,
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="test",
        secret_access_key="test",
        client_options={"allow_http": True, "timeout": "10s"},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=1)},
    )
