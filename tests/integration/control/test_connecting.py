"""`holdfast validate --connect`: every kind of source, sink and store, when it answers and when it does not."""

from __future__ import annotations

import io
import json
import socket
from typing import TYPE_CHECKING

import pytest

from holdfast import Console, Pipeline
from holdfast.checkpoint import SqliteStore
from holdfast.config import load
from holdfast.control.connecting import try_connections
from holdfast.log import Inbox
from holdfast.testing import Script
from tests.support.checkpoint_stores import fresh_schema, s3_remote
from tests.support.command_line import holdfast, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers

DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {{name: tried}}
spec:
  directory: {directory}/pipeline
  source: {source}
  sinks:
    - {sink}
"""
GENERATOR = "{type: generator, name: made}"
CONSOLE = "{name: shown, type: console}"


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that another process listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def problems(directory: Path, *, source: str = GENERATOR, sink: str = CONSOLE) -> dict[str, str]:
    """What `--connect` finds: by the component, what it says."""
    text = DOCUMENT.format(directory=directory, source=source, sink=sink)
    return {found.component: found.what for found in try_connections(load(text).plan()).unreachable}


# Sources


def test_a_generator_is_always_there(tmp_path: Path) -> None:
    assert problems(tmp_path) == {}


def test_a_script_is_always_there(tmp_path: Path) -> None:
    plan = Pipeline("tried", directory=tmp_path).read(Script([{"n": 1}])).write(Console(out=io.StringIO())).plan()
    assert try_connections(plan).unreachable == ()


def test_standard_input(tmp_path: Path) -> None:
    text = DOCUMENT.format(directory=tmp_path, source="{type: stdin}", sink=CONSOLE)
    (tmp_path / "pipeline.yaml").write_text(text)
    asked = ("validate", "--connect", "--output", "json")
    assert holdfast(*asked, directory=tmp_path, stdin="a pipe").json["problems"] == []
    (problem,) = holdfast(*asked, directory=tmp_path, stdin=None).json["problems"]
    assert "standard input is closed" in problem["what"]


def test_log_files(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert problems(tmp_path, source=f'{{type: files, paths: ["{tmp_path}/logs/*.log"]}}') == {}, "they may come later"
    (tmp_path / "logs" / "a.log").write_text("a line\n")
    assert problems(tmp_path, source=f'{{type: files, paths: ["{tmp_path}/logs/*.log"]}}') == {}


def test_log_files_in_a_directory_that_is_not_there(tmp_path: Path) -> None:
    found = problems(tmp_path, source=f'{{type: files, paths: ["{tmp_path}/lgs/**/*.log"]}}')
    assert f"{tmp_path}/lgs does not exist" in found["source files"]


def test_a_log_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").symlink_to(tmp_path / "a.log")  # also root cannot open this
    found = problems(tmp_path, source=f'{{type: files, paths: ["{tmp_path}/a.log"]}}')
    assert "a.log" in found["source files"]


def test_a_relay(tmp_path: Path) -> None:
    source = f"{{type: relay, directory: {tmp_path}/log}}"
    assert "There is no log" in problems(tmp_path, source=source)["source relay"]
    Inbox.open(tmp_path / "log", name="other", epoch=1).close()
    assert problems(tmp_path, source=source) == {}


def test_an_http_source_whose_address_is_free(tmp_path: Path, closed_port: int) -> None:
    assert problems(tmp_path, source=f"{{type: http, port: {closed_port}}}") == {}
    with socket.create_server(("127.0.0.1", closed_port)):
        """It was given up again."""


def test_an_http_source_whose_address_another_process_has(tmp_path: Path, taken_port: int) -> None:
    found = problems(tmp_path, source=f"{{type: http, port: {taken_port}}}")
    assert "cannot listen" in found["source http"]
    assert f"127.0.0.1:{taken_port}" in found["source http"]


def test_an_http_source_whose_address_the_running_pipeline_itself_has(tmp_path: Path, closed_port: int) -> None:
    text = DOCUMENT.format(
        directory=tmp_path,
        source=f"{{type: http, port: {closed_port}}}",
        sink="{name: archive, type: files, directory: files}",
    )
    with running(tmp_path, text=text) as pipeline:
        wait_until(lambda: pipeline.ask("status").json["snapshot"]["sources"][0]["state"] == "reading")
        checked = pipeline.ask("validate", "--connect")
        assert (checked.code, checked.json["problems"]) == (0, [])
        (note,) = checked.json["notes"]
        assert "source http" in note
        assert str(pipeline.process.pid) in note


# Sinks


def test_a_console(tmp_path: Path) -> None:
    assert problems(tmp_path) == {}
    closed = io.StringIO()
    closed.close()
    plan = Pipeline("tried", directory=tmp_path).read(Script([{"n": 1}])).write(Console(out=closed)).plan()
    (found,) = try_connections(plan).unreachable
    assert (found.component, "is closed" in found.what) == ("sink console", True)


def test_files(tmp_path: Path) -> None:
    assert problems(tmp_path, sink=f"{{name: archive, type: files, directory: {tmp_path}/out}}") == {}
    (tmp_path / "blocked").write_text("a file, so no directory can be there")
    found = problems(tmp_path, sink=f"{{name: archive, type: files, directory: {tmp_path}/blocked}}")
    assert "blocked" in found["sink archive"]


def test_sqlite(tmp_path: Path) -> None:
    assert problems(tmp_path, sink=f"{{name: table, type: sqlite, path: {tmp_path}/a.db, table: t}}") == {}
    found = problems(tmp_path, sink=f"{{name: table, type: sqlite, path: {tmp_path}/no/a.db, table: t}}")
    assert "sink table" in found


def test_postgres(tmp_path: Path, postgres_dsn: str, closed_port: int) -> None:
    sink = '{{name: table, type: postgres, dsn: "{}", table: tried_by_validate}}'
    assert problems(tmp_path, sink=sink.format(postgres_dsn)) == {}
    away = f"host=127.0.0.1 port={closed_port} user=me password=hush dbname=x connect_timeout=5"
    found = problems(tmp_path, sink=sink.format(away))
    assert "sink table" in found
    assert "hush" not in found["sink table"]


def test_http(tmp_path: Path, servers: Servers, closed_port: int) -> None:
    room = servers.fresh_room()
    assert problems(tmp_path, sink=f'{{name: hook, type: http, url: "{room.url}"}}') == {}
    assert room.look().requests == [], "nothing was sent"
    found = problems(tmp_path, sink=f'{{name: hook, type: http, url: "http://127.0.0.1:{closed_port}/rows"}}')
    assert "cannot be reached" in found["sink hook"]


# Checkpoint stores


STORED = DOCUMENT.replace("  sinks:", "  checkpoint: {checkpoint}\n  sinks:")


def store_problems(directory: Path, checkpoint: str) -> dict[str, str]:
    text = STORED.format(directory=directory, source=GENERATOR, sink=CONSOLE, checkpoint=checkpoint)
    return {found.component: found.what for found in try_connections(load(text).plan()).unreachable}


def away(port: int) -> str:
    return f"host=127.0.0.1 port={port} user=me password=hush dbname=x connect_timeout=5"


@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_a_store_of_files(tmp_path: Path, store: str) -> None:
    assert store_problems(tmp_path, f"{{store: {store}}}") == {}
    assert not (tmp_path / "pipeline").exists(), "a pipeline that never ran stays so"
    (tmp_path / "pipeline").mkdir()
    there = tmp_path / "pipeline" / ("checkpoints.db" if store == "sqlite" else "checkpoint-store.json")
    there.write_text("something else" * 100)
    assert "checkpoint store" in store_problems(tmp_path, f"{{store: {store}}}")


def test_a_store_of_another_kind_than_the_one_in_use(tmp_path: Path) -> None:
    (tmp_path / "pipeline").mkdir()
    SqliteStore(tmp_path / "pipeline" / "checkpoints.db").close()
    assert "keeps its checkpoints in the sqlite store" in store_problems(tmp_path, "{store: file}")["checkpoint store"]


def test_a_store_in_postgres(tmp_path: Path, servers: Servers, closed_port: int) -> None:
    assert store_problems(tmp_path, f'{{store: postgres, dsn: "{fresh_schema(servers)}"}}') == {}
    found = store_problems(tmp_path, f'{{store: postgres, dsn: "{away(closed_port)}"}}')
    assert "PostgreSQL store 'tried' failed" in found["checkpoint store"]
    assert "hush" not in found["checkpoint store"]


def test_a_remote_store_in_a_directory(tmp_path: Path) -> None:
    remote = f"{{remote: {{type: file, directory: {tmp_path}/backup}}}}"
    assert "does not exist" in store_problems(tmp_path, remote)["remote checkpoint store"]
    (tmp_path / "backup").mkdir()
    assert store_problems(tmp_path, remote) == {}


def test_a_remote_store_in_postgres(tmp_path: Path, servers: Servers, closed_port: int) -> None:
    assert store_problems(tmp_path, f'{{remote: {{type: postgres, dsn: "{fresh_schema(servers)}"}}}}') == {}
    found = store_problems(tmp_path, f'{{remote: {{type: postgres, dsn: "{away(closed_port)}"}}}}')
    assert "PostgreSQL store 'tried' failed" in found["remote checkpoint store"]


def test_a_remote_store_in_a_bucket(tmp_path: Path, servers: Servers) -> None:
    remote = s3_remote(servers.fresh_bucket())
    assert store_problems(tmp_path, json.dumps({"remote": remote})) == {}
    found = store_problems(tmp_path, json.dumps({"remote": {**remote, "url": "s3://no-such-bucket/orders"}}))
    assert "no-such-bucket" in found["remote checkpoint store"]
