"""What an exception means: a table, and nothing unknown is dropped or blamed on the wrong side."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest

from holdfast.deliver.classify import (
    Verdict,
    classify,
    classify_durable,
    classify_opening,
    describe,
    pause_asked_for,
    reason_of,
)
from holdfast.model import errors


def ours(kind: type[errors.HoldfastError], **context: object) -> errors.HoldfastError:
    return kind("It happened.", remedy="Do something.", **context)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ours(errors.Transient), Verdict.LATER),
        (ours(errors.Throttled), Verdict.LATER),
        (ours(errors.CommitUnknown), Verdict.UNKNOWN),
        (ours(errors.Rejected), Verdict.REFUSED),
        (ours(errors.Poison), Verdict.REFUSED),
        (ours(errors.Fatal), Verdict.HELD),
        (ours(errors.MissingExtra), Verdict.HELD),
        (ours(errors.CursorMoved), Verdict.FATAL),
        (ours(errors.SinkFenced), Verdict.FENCED),
        (ValueError("a bad row"), Verdict.REFUSED),
        (KeyError("gone"), Verdict.REFUSED),
        (MemoryError(), Verdict.UNKNOWN),
        (ConnectionResetError(), Verdict.UNKNOWN),
        (TimeoutError(), Verdict.UNKNOWN),
        (OSError(errno.ENOSPC, "no space"), Verdict.UNKNOWN),
        (PermissionError(errno.EACCES, "no access"), Verdict.UNKNOWN),
        (PermissionError(errno.EPERM, "not permitted"), Verdict.UNKNOWN),
        (OSError(errno.EHOSTUNREACH, "no route"), Verdict.UNKNOWN),
        (socket.gaierror(socket.EAI_NONAME, "no such host"), Verdict.UNKNOWN),
        (ssl.SSLError("a certificate"), Verdict.UNKNOWN),
        (OSError(errno.ENAMETOOLONG, "a name made of data"), Verdict.REFUSED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_an_error_of_a_delivery_means(error: Exception, verdict: Verdict) -> None:
    assert classify(error) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ours(errors.Transient), Verdict.LATER),
        (ConnectionRefusedError(), Verdict.LATER),
        (ours(errors.SinkFenced), Verdict.FENCED),
        (ours(errors.Fatal), Verdict.LATER),
        (ours(errors.CursorMoved), Verdict.LATER),
        (ours(errors.Rejected), Verdict.LATER),
        (ValueError("a defect"), Verdict.LATER),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_an_error_of_opening_blames_no_rows(error: Exception, verdict: Verdict) -> None:
    assert classify_opening(error) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ours(errors.StoreFull), Verdict.LATER),
        (ours(errors.StoreUnavailable), Verdict.LATER),
        (ours(errors.StoreReadOnly), Verdict.LATER),
        (ours(errors.CommitStateUnknown), Verdict.LATER),
        (ours(errors.LogFull), Verdict.LATER),
        (ours(errors.LogReadOnly), Verdict.LATER),
        (ours(errors.LogUnavailable), Verdict.LATER),
        (OSError(errno.EIO, "disk"), Verdict.LATER),
        (ours(errors.Fenced), Verdict.FENCED),
        (ours(errors.LogFenced), Verdict.FENCED),
        (ours(errors.LogDamaged), Verdict.FATAL),
        (ours(errors.CheckpointDamaged), Verdict.FATAL),
        (ours(errors.UnknownEpoch), Verdict.FATAL),
        (TypeError("a defect"), Verdict.FATAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_an_error_of_our_own_disks_means(error: Exception, verdict: Verdict) -> None:
    assert classify_durable(error) is verdict


def test_every_delivery_error_has_a_verdict_of_its_own() -> None:
    kinds = [kind for kind in errors.error_types(errors.DeliveryError) if kind.__module__ == errors.__name__]
    refused = {kind.__name__ for kind in kinds if classify(ours(kind)) is Verdict.REFUSED}
    assert refused == {"Poison", "Rejected"}, "a new kind must not fall through to poison unnoticed"


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ours(errors.Throttled, retry_after=7), 7.0),
        (ours(errors.Throttled, retry_after=-1), 0.0),
        (ours(errors.Throttled), 0.0),
        (ours(errors.Throttled, retry_after="soon"), 0.0),
        (ours(errors.CommitUnknown, retry_after=7), 7.0),
        (ours(errors.Transient, retry_after=7), 0.0),
    ],
    ids=["said", "negative", "not said", "no number", "in doubt", "not throttled"],
)
def test_a_sink_that_throttles_or_leaves_a_doubt_may_ask_for_a_pause(error: Exception, seconds: float) -> None:
    assert pause_asked_for(error) == seconds


def test_a_reason_tells_the_whole_chain_and_keeps_no_traceback() -> None:
    try:
        try:
            raise KeyError("amount")
        except KeyError as cause:
            raise ours(errors.Poison) from cause
    except errors.Poison as error:
        reason = reason_of(error)
    assert (reason.kind, reason.code) == ("Poison", "HF-403")
    assert "It happened." in reason.message
    assert "caused by KeyError: 'amount'" in reason.message


def test_a_foreign_error_has_no_code_of_ours() -> None:
    assert reason_of(ValueError("x")).code == "foreign"


def test_a_chain_without_end_is_cut() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert describe(first).count("ValueError") == 10
