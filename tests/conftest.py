"""What every test can have: the run's real servers, and a place of its own on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.notes import NotesPlugin, note
from tests.support.requirements import RequirementsPlugin
from tests.support.servers import Run, Servers
from tests.support.skips import NoSkipsInCi

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.servers import Bucket

__all__ = ["note"]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

_RUN = pytest.StashKey[Run]()
_WORKER_KEY = "holdfast_run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make crash` kills as often as is promised; `make test`, which has to be quick, less often."""
    parser.addoption("--long", action="store_true", help="kill as often as `make crash` does")


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    """Whether there is time for as many kills as are promised."""
    return bool(pytestconfig.getoption("--long"))


def pytest_configure(config: pytest.Config) -> None:
    """The controller owns the run; a worker of xdist is told where it is."""
    config.pluginmanager.register(RequirementsPlugin())
    config.pluginmanager.register(NotesPlugin())
    config.pluginmanager.register(NoSkipsInCi())
    if not hasattr(config, "workerinput"):
        config.stash[_RUN] = Run()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a new worker of xdist where the run's servers are written down."""
    node.workerinput[_WORKER_KEY] = str(node.config.stash[_RUN].directory)  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers; this also runs after Ctrl-C."""
    if run := config.stash.get(_RUN, None):
        run.end()


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Servers:
    """The real servers of this run; each starts when it is first asked for."""
    told = getattr(pytestconfig, "workerinput", {}).get(_WORKER_KEY)
    return Servers(Path(told) if told else pytestconfig.stash[_RUN].directory)


@pytest.fixture(scope="session")
def postgres_dsn(servers: Servers) -> str:
    """The DSN of a real PostgreSQL server. Use a namespace of your own in it."""
    return servers.postgres()


@pytest.fixture
def s3(servers: Servers) -> Bucket:
    """An empty bucket on a real HTTP server that speaks S3."""
    return servers.fresh_bucket()


@pytest.fixture
def spark() -> SparkSession:
    """A Spark session, with the settings that pipelines run under.

    The tests of one worker share a JVM, which ends with the worker. One that a test has killed is started again.
    """
    from holdfast.runtime.session import SparkSettings, spark_session

    return spark_session(SparkSettings(master="local[2]"))
