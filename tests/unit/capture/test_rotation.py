"""The age of rotated files, by the names that logrotate and others give them."""

from __future__ import annotations

from random import Random

import pytest

from holdfast.capture.tailing.rotation import in_order

LOGS = [
    ["/l/app.log.10.gz", "/l/app.log.9.gz", "/l/app.log.2.gz", "/l/app.log.1", "/l/app.log"],
    ["/l/app.10.log.gz", "/l/app.2.log", "/l/app.1.log", "/l/app.log"],
    ["/l/app.log-20251231.gz", "/l/app.log-20260101.gz", "/l/app.log-20261118", "/l/app.log"],
    ["/l/app-2026-09-30.log", "/l/app-2026-10-01.log", "/l/app.log"],
    ["/l/app.log.2026-11-18.2", "/l/app.log.2026-11-18.10", "/l/app.log.2026-11-19.1", "/l/app.log"],
    ["/l/app.log-2026111809.gz", "/l/app.log-2026111810.gz", "/l/app.log"],
    ["/l/app.log-20261118-1763424000", "/l/app.log-20261118-1763427600", "/l/app.log"],
    ["/l/access_log.1763424000", "/l/access_log.1763510400", "/l/access_log"],
    ["/l/access_log.1610120500", "/l/access_log.1763424000", "/l/access_log"],
    ["/l/app.log.2026-11-18_23-59", "/l/app.log.2026-11-19T00:01:02", "/l/app.log"],
    ["/l/syslog.2.gz", "/l/syslog.1", "/l/syslog"],
]


@pytest.mark.parametrize("expected", LOGS)
def test_the_oldest_file_of_a_log_comes_first_whatever_the_times_of_change_are(expected: list[str]) -> None:
    random = Random(1)
    for _ in range(5):
        mixed = random.sample(expected, len(expected))
        times = {path: random.randrange(3) for path in mixed}
        assert in_order(mixed, str, times.__getitem__) == [expected]


@pytest.mark.parametrize(
    "names",
    [("/l/app.log", "/l/web.log.1"), ("/l/app.log.1", "/k/app.log"), ("/l/app.log", "/l/app2.log"), ("/l/a", "/l/b")],
)
def test_files_of_different_logs_have_no_order(names: tuple[str, str]) -> None:
    assert sorted(map(tuple, in_order(names, str, lambda _: 0))) == sorted((name,) for name in names)


def test_a_log_with_numbers_and_dates_goes_by_the_time_of_change_and_then_by_name() -> None:
    times = {"/l/app.log.1": 5, "/l/app.log-20261118": 7, "/l/app.log.2": 7, "/l/app.log": 1}
    expected = ["/l/app.log.1", "/l/app.log-20261118", "/l/app.log.2", "/l/app.log"]
    assert in_order(times, str, times.__getitem__) == [expected]


@pytest.mark.parametrize("name", ["app.log-20261399", "v1.2026", "app.log.123456"])
def test_digits_that_are_no_date_and_no_number_are_part_of_the_name(name: str) -> None:
    assert in_order([f"/l/{name}", "/l/app.log"], str, lambda _: 0) != [[f"/l/{name}", "/l/app.log"]]


@pytest.mark.timeout(20)
def test_no_name_takes_long() -> None:
    """Digits behind a date could be split in any way: 2^200 of them with a careless expression."""
    name = f"/l/app-20261118{'1' * 200}!"
    assert in_order([name], str, lambda _: 0) == [[name]]
