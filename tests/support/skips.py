"""Turns every skipped test into a failure when the tests run in CI (`CI=true`), where nothing may be missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator


class NoSkipsInCi:
    """A pytest plugin. It covers `pytest.skip`, skip marks and `importorskip`, in tests, fixtures and modules."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A test that was skipped has failed."""
        report = yield
        if _is_ci() and report.skipped and not hasattr(report, "wasxfail"):
            report.outcome, report.longrepr = "failed", _reason(item.nodeid, report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A module that was skipped has failed."""
        report = yield
        if _is_ci() and report.skipped:
            report.outcome, report.longrepr = "failed", _reason(collector.nodeid, report)
        return report


def _is_ci() -> bool:
    return os.environ.get("CI") == "true"


def _reason(test: str, report: pytest.TestReport | pytest.CollectReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return f"{test} was skipped, and with CI=true no test may be. Provide what it needs: {reason}"
