"""Two writers on one log of commit documents: the older owner is refused, whenever it wakes up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.checkpoint.commitlog.store import LogStore, random_nonce
from holdfast.checkpoint.contract import Commit, Put, VersionIs
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.objects import ObjectStore
from holdfast.model.errors import Fenced, RequirementFailed
from tests.support.racer import KEYS, open_place
from tests.support.servers import Servers

PROJECT = Path(__file__).resolve().parents[3]

Open = Callable[..., LogStore]


@pytest.fixture(params=["file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Where the store lies, as the arguments of a racer."""
    if request.param == "file":
        return [str(tmp_path / "store")]
    servers: Servers = request.getfixturevalue("servers")
    bucket = servers.fresh_bucket()
    return [bucket.endpoint, bucket.name]


@pytest.fixture
def open_store(place: list[str]) -> Open:
    def open_store(nonces: Callable[[], str] = random_nonce) -> LogStore:
        if len(place) == 1:
            return FileStore(place[0], nonces=nonces)
        from tests.support.servers import Bucket

        return ObjectStore(Bucket(*place).connect(), "race", nonces=nonces)

    return open_store


class Sleeper:
    """A writer's source of nonces that lets others act between its decision to commit and its publishing."""

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []

    def __call__(self) -> str:
        while self.meanwhile:
            self.meanwhile.pop()()
        return random_nonce()


# A writer that wakes up between reading and publishing


@pytest.mark.req("D3", "X11")
def test_an_owner_that_sleeps_through_a_take_over_is_fenced(open_store: Open) -> None:
    sleeper = Sleeper()
    old, new = open_store(sleeper), open_store()
    epoch = old.take_over()
    old.put_raw("k", b"old", epoch=epoch)
    sleeper.meanwhile.append(new.take_over)
    with pytest.raises(Fenced):
        old.put_raw("k", b"late", epoch=epoch)
    assert [version.epoch for version in new.versions("k")] == [epoch]


def test_a_writer_that_sleeps_through_a_commit_is_asked_for_its_requirement_again(open_store: Open) -> None:
    sleeper = Sleeper()
    one, other = open_store(sleeper), open_store()
    epoch = one.take_over()
    one.put_raw("k", b"1", epoch=epoch)
    sleeper.meanwhile.append(lambda: other.put_raw("k", b"2", epoch=epoch))
    with pytest.raises(RequirementFailed):
        one.commit(Commit(epoch, [Put("k", b"late")], [VersionIs("k", 1)]))
    assert [stored.number for stored in one.versions("k")] == [1, 2]


def live_on_and_sweep(store: LogStore) -> None:
    """Take over, commit and prune until the next number of a writer that sleeps meanwhile is free again."""
    epoch = store.take_over()
    for number in range(10):
        store.put_raw("k", b"new %d" % number, epoch=epoch)
    store.prune("k", keep=1, epoch=epoch)


@pytest.mark.req("D3", "X11")
def test_an_owner_that_sleeps_until_its_number_is_free_again_is_fenced(open_store: Open) -> None:
    sleeper = Sleeper()
    old, new = open_store(sleeper), open_store()
    epoch = old.take_over()
    old.put_raw("k", b"old", epoch=epoch)
    sleeper.meanwhile.append(lambda: live_on_and_sweep(new))
    with pytest.raises(Fenced):
        old.put_raw("k", b"late", epoch=epoch)
    for store in (new, open_store()):
        stored = store.get_raw("k")
        assert stored is not None
        assert stored.payload == b"new 9"


@pytest.mark.req("D3", "X11")
def test_a_reader_that_slept_through_a_sweep_finds_the_newest(open_store: Open) -> None:
    reader, writer = open_store(), open_store()
    writer.put_raw("k", b"old", epoch=writer.take_over())
    assert reader.get_raw("k") is not None
    for _ in range(3):
        live_on_and_sweep(writer)
    stored = reader.get_raw("k")
    assert stored is not None
    assert stored.payload == b"new 9"


def test_a_commit_that_others_built_on_before_it_looked_back_stands(open_store: Open) -> None:
    """The writer publishes, others commit at once; it still learns that its own commit is part of the log."""
    one, other = open_store(), open_store()
    epoch = one.take_over()
    newest = one._medium.newest

    def others_first(known: int) -> int:
        if known == 2:
            one._medium.newest = newest  # type: ignore[method-assign]
            other.put_raw("k", b"2", epoch=epoch)
        return newest(known)

    one._medium.newest = others_first  # type: ignore[method-assign]
    assert one.put_raw("k", b"1", epoch=epoch) == 1
    assert [version.number for version in one.versions("k")] == [1, 2]


# Two processes


class Racer:
    """A process of `tests.support.racer`."""

    def __init__(self, mode: str, commits: int, place: list[str]) -> None:
        command = [sys.executable, "-m", "tests.support.racer", mode, str(commits), *place]
        self._process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        self.told()

    def told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line: dict[str, Any] = json.loads(self._process.stdout.readline())
        return line

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def race(place: list[str]) -> Iterator[Callable[[str, int], Racer]]:
    with ExitStack() as racers:

        def start(mode: str, commits: int) -> Racer:
            racer = Racer(mode, commits, place)
            racers.callback(racer.stop)
            return racer

        yield start


@pytest.mark.req("D3", "X11")
def test_a_second_process_ends_the_first_and_their_commits_do_not_mix(
    place: list[str], race: Callable[[str, int], Racer]
) -> None:
    first = race("own", 1_000_000)
    second = race("own", 30)
    ended, finished = first.told(), second.told()
    assert (ended["end"], finished["end"]) == ("Fenced", "finished")
    store = open_place(place)
    for key in KEYS:
        epochs = [version.epoch for version in store.versions(key)]
        assert epochs == [ended["epoch"]] * ended["done"] + [finished["epoch"]] * 30
    state, offset = (store.get_raw(key) for key in KEYS)
    assert state is not None
    assert offset is not None
    assert state.payload == offset.payload


def test_no_increment_of_a_shared_counter_is_lost_between_processes(
    open_store: Open, race: Callable[[str, int], Racer]
) -> None:
    store = open_store()
    store.take_over()
    racers = [race("count", 25) for _ in range(3)]
    for racer in racers:
        racer.told()
    stored = store.get_raw("counter")
    assert stored is not None
    assert (stored.payload, stored.version.number) == (b"75", 75)
