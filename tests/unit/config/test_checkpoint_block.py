"""`spec.checkpoint`: which store and which remote copy a document may name, and what does not go together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.config import find_problems, load
from holdfast.runtime.checkpoints.settings import FileSettings, PostgresSettings, S3Settings, SqliteSettings
from holdfast.runtime.plan import Checkpointing

DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {{name: orders}}
spec:
  source: {{type: generator}}
  checkpoint: {checkpoint}
  sinks:
    - {{type: console}}
"""
PLACE = (6, 15)
"""Line and column of the block."""


def checkpointing(checkpoint: str) -> Checkpointing:
    return load(DOCUMENT.format(checkpoint=checkpoint), environment={"DSN": "dbname=a"}).plan().checkpoint


def test_without_keys_checkpoints_are_in_sqlite_and_are_not_copied() -> None:
    assert checkpointing("{}") == Checkpointing()
    assert (Checkpointing().store, Checkpointing().remote) == (SqliteSettings(), None)


@pytest.mark.parametrize(
    ("written", "settings"),
    [
        ("{store: sqlite}", SqliteSettings()),
        ("{store: file}", FileSettings()),
        ("{store: postgres, dsn: '${DSN}'}", PostgresSettings("dbname=a")),
    ],
)
def test_each_kind_of_store(written: str, settings: object) -> None:
    assert checkpointing(written).store == settings


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("{type: file, directory: /backup}", FileSettings),
        ("{type: postgres, dsn: '${DSN}'}", PostgresSettings),
        ("{type: s3, url: 's3://backup/orders'}", S3Settings),
    ],
)
@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_each_kind_of_remote_store(store: str, written: str, kind: type) -> None:
    found = checkpointing(f"{{store: {store}, remote: {written}, replicate_every: 10s}}")
    assert isinstance(found.remote, kind)
    assert found.replicate_every == timedelta(seconds=10)


def test_copies_are_made_every_30_seconds_unless_the_document_says_otherwise() -> None:
    assert checkpointing("{remote: {type: file, directory: /backup}}").replicate_every == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("{store: postgres}", "`store: postgres` needs a `dsn`."),
        ("{dsn: dbname=a}", "`store: sqlite` has no `dsn`."),
        ("{store: file, dsn: dbname=a}", "`store: file` has no `dsn`."),
        ("{replicate_every: 10s}", "`replicate_every` needs a `remote`."),
        (
            "{store: postgres, dsn: dbname=a, remote: {type: file, directory: /backup}}",
            "A checkpoint store in PostgreSQL has no `remote`: it is on a server already.",
        ),
        (
            "{remote: {type: file, directory: /backup}, replicate_every: 0s}",
            "Checkpoints cannot be copied every 0 s.",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_place(written: str, what: str) -> None:
    (problem,) = find_problems(DOCUMENT.format(checkpoint=written))
    assert problem.what == what
    assert (problem.place.line, problem.place.column) == PLACE
    assert problem.remedy


def test_a_store_that_is_not_known_is_refused_with_the_nearest_one() -> None:
    (problem,) = find_problems(DOCUMENT.format(checkpoint="{store: postgress}"))
    assert problem.remedy == "Did you mean `postgres`?"
    (problem,) = find_problems(DOCUMENT.format(checkpoint="{store: memory}"))
    assert "must be one of `sqlite`, `file`, `postgres`" in problem.what


def test_an_address_that_is_not_one_of_s3_is_refused() -> None:
    (problem,) = find_problems(DOCUMENT.format(checkpoint="{remote: {type: s3, url: 'https://backup'}}"))
    assert "`spec.checkpoint.remote.url` must be text that fits" in problem.what


def test_no_secret_is_shown() -> None:
    found = checkpointing("{store: postgres, dsn: 'password=hidden'}")
    assert "hidden" not in repr(found)
    remote = "{type: s3, url: 's3://a/b', secret_access_key: hidden}"
    assert "hidden" not in repr(checkpointing(f"{{remote: {remote}}}"))
