"""Every error that Holdfast raises, as one tree.

HoldfastError
├── MissingExtra                 HF-001
├── ModelError
│   ├── InvalidPosition          HF-101
│   ├── IncomparablePositions    HF-102
│   └── UnknownFormat            HF-103
├── LedgerError
│   ├── UnknownSource            HF-201
│   ├── UnknownLane              HF-202
│   ├── UnknownBatch             HF-203
│   ├── TicketUsed               HF-204
│   ├── PhaseRefused             HF-205
│   ├── NotDrained               HF-206
│   ├── InvalidPolicy            HF-207
│   ├── BatchNotNew              HF-208
│   ├── PositionWentBack         HF-209
│   ├── RollbackRefused          HF-210
│   ├── NotRetained              HF-211
│   ├── LaneExists               HF-212
│   ├── CursorAhead              HF-213
│   └── InvalidLane              HF-214
├── CheckpointError
│   ├── Fenced                   HF-301
│   ├── RequirementFailed        HF-302
│   ├── CommitStateUnknown       HF-303
│   ├── CheckpointDamaged        HF-304
│   ├── StoreUnavailable         HF-305
│   ├── StoreFull                HF-306
│   ├── StoreReadOnly            HF-307
│   ├── UnknownKey               HF-308
│   ├── UnknownVersion           HF-309
│   ├── ForeignFile              HF-310
│   ├── InvalidKey               HF-311
│   ├── BarrierTimeout           HF-312
│   ├── InvalidCommit            HF-313
│   ├── UnknownEpoch             HF-314
│   ├── StoreClosed              HF-315
│   ├── InvalidFlow              HF-316
│   ├── StoreChanged             HF-317
│   └── CheckpointsMissing       HF-318
├── DeliveryError
│   ├── Transient                HF-401
│   ├── Throttled                HF-402
│   ├── Poison                   HF-403
│   ├── Rejected                 HF-404
│   ├── Fatal                    HF-405
│   ├── SinkFenced               HF-406
│   ├── CommitUnknown            HF-407
│   └── CursorMoved              HF-408
├── DeadLetterError
│   ├── DeadLettersFull          HF-410
│   ├── EntryDamaged             HF-411
│   └── UnknownEntry             HF-412
├── LogError
│   ├── LogDamaged               HF-501
│   ├── LogFenced                HF-502
│   ├── LogFull                  HF-503
│   ├── LogReadOnly              HF-504
│   ├── LogMissing               HF-505
│   ├── LogQuota                 HF-506
│   ├── NotInLog                 HF-507
│   ├── ForeignLog               HF-508
│   ├── BatchDiverged            HF-509
│   ├── LogClosed                HF-510
│   ├── InvalidAppend            HF-511
│   ├── LogUnavailable           HF-512
│   └── LogInDoubt               HF-513
├── CaptureError
│   ├── SourceUnavailable        HF-601
│   ├── SourceGap                HF-602
│   ├── InvalidSource            HF-603
│   ├── SourceFailed             HF-604
│   └── PushRefused
│       ├── InvalidPush          HF-651
│       ├── PushTooLarge         HF-652
│       ├── UnsupportedPush      HF-653
│       ├── PushNotAllowed       HF-654
│       ├── PushTooSlow          HF-655
│       ├── ReceiverBusy         HF-656
│       ├── ReceiverStopping     HF-657
│       └── UnknownPath          HF-658
├── ProcessError
│   ├── InvalidStep              HF-701
│   ├── NotDeterministic         HF-703
│   ├── RowFailed                HF-704
│   ├── NoRowFailsAlone          HF-705
│   └── IsolationExhausted       HF-706
├── RunError
│   ├── PipelineBusy             HF-801
│   ├── PipelineFenced           HF-802
│   ├── PipelineFailed           HF-803
│   ├── PipelineDiverged         HF-804
│   ├── InvalidPipeline          HF-805
│   ├── LifecycleRefused         HF-806
│   ├── RestartsExhausted        HF-807
│   ├── SparkUnavailable         HF-808
│   ├── SinkDetached             HF-809
│   ├── SparkDied                HF-810
│   └── StepRefused              HF-811
├── FlowError
│   ├── InvalidFlowPolicy        HF-851
│   ├── InvalidGraph             HF-852
│   ├── EdgeClosed               HF-853
│   ├── BatchTooLarge            HF-854
│   ├── RetriesExhausted         HF-855
│   ├── PermanentFailure         HF-856
│   └── AuditFailed              HF-857
├── DocumentError
│   ├── InvalidDocument          HF-901
│   ├── DocumentUnreadable       HF-902
│   └── PathInWorkingDirectory   HF-903
└── ControlError
    ├── NotRunning               HF-951
    ├── ControlUnavailable       HF-952
    ├── ControlMismatch          HF-953
    └── InvalidRequest           HF-954

Codes by area: 1 values, 2 ledger, 3 checkpoints, 4 delivery and dead letters, 5 logs, 6 capture, 7 processing, 8
running and, from 851 on, flow, 9 documents and, from 951 on, control.

A code never changes its meaning and is never used again. The reference page of the codes is generated from the
docstrings below, so each of them says *when* the error is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class HoldfastError(Exception):
    """The root of every error that Holdfast raises on purpose.

    :param what: what happened, a whole sentence.
    :param remedy: what to do next, a whole sentence.
    :param kept: what is still safe after it; the default is right for a refusal.
    :param context: where it happened (pipeline, lane, key, position …), for logs and for callers.
    """

    code: ClassVar[str] = "HF-000"

    def __init__(self, what: str, *, remedy: str, kept: str = "Nothing was changed.", **context: object) -> None:
        super().__init__(what)
        self.what = what
        self.kept = kept
        self.remedy = remedy
        self.context = context

    def __str__(self) -> str:
        return f"[{self.code}] {self.what} {self.kept} {self.remedy}"


class MissingExtra(HoldfastError):
    """Raised when a client library that is an extra is not installed."""

    code = "HF-001"


class ModelError(HoldfastError):
    """A value does not mean anything: the input is wrong, not the state of the pipeline."""


class InvalidPosition(ModelError):
    """Raised when text, JSON or parts do not form a position of the named kind."""

    code = "HF-101"


class IncomparablePositions(ModelError):
    """Raised when two positions must be ordered and neither is before the other."""

    code = "HF-102"


class UnknownFormat(ModelError):
    """Raised when a stored value says it was written by a newer format than this version reads."""

    code = "HF-103"


class LedgerError(HoldfastError):
    """The ledger refuses an operation because it would break one of its invariants."""


class UnknownSource(LedgerError):
    """Raised when a batch carries a position of a source that the ledger was not told about."""

    code = "HF-201"


class UnknownLane(LedgerError):
    """Raised when an operation names a lane that does not exist, or no longer does."""

    code = "HF-202"


class UnknownBatch(LedgerError):
    """Raised when an answer names a batch that the lane is not waiting for."""

    code = "HF-203"


class TicketUsed(LedgerError):
    """Raised when a ticket is used a second time, or after the ledger took it back."""

    code = "HF-204"


class PhaseRefused(LedgerError):
    """Raised when an operation is not allowed in the ledger's phase, as creating a batch while draining."""

    code = "HF-205"


class NotDrained(LedgerError):
    """Raised when a graceful stop is asked for while batches are still unresolved."""

    code = "HF-206"


class InvalidPolicy(LedgerError):
    """Raised when a commit policy can never be met by the lanes there are."""

    code = "HF-207"


class BatchNotNew(LedgerError):
    """Raised when a batch number is not above every number used before; an oseq is never used again."""

    code = "HF-208"


class PositionWentBack(LedgerError):
    """Raised when a batch ends before the batch in front of it, for the same source."""

    code = "HF-209"


class RollbackRefused(LedgerError):
    """Raised when a rollback names a target that cannot be reached from here."""

    code = "HF-210"


class NotRetained(LedgerError):
    """Raised when a lane must be given batches that are no longer kept."""

    code = "HF-211"


class LaneExists(LedgerError):
    """Raised when a lane is added under a name that is taken."""

    code = "HF-212"


class CursorAhead(LedgerError):
    """Raised when a stored cursor, or a sink's own, is ahead of everything the outbox ever published."""

    code = "HF-213"


class InvalidLane(LedgerError):
    """Raised when a lane's specification makes no sense: no name, or no batch allowed in flight."""

    code = "HF-214"


class CheckpointError(HoldfastError):
    """A checkpoint store could not do what was asked."""


class Fenced(CheckpointError):
    """Raised when a write carries an older epoch than the store has seen: another owner has taken over."""

    code = "HF-301"


class RequirementFailed(CheckpointError):
    """Raised when a commit's requirement does not hold, for instance another version is the newest."""

    code = "HF-302"


class CommitStateUnknown(CheckpointError):
    """Raised when the connection broke during a commit, so it may or may not have happened. Read back, then decide."""

    code = "HF-303"


class CheckpointDamaged(CheckpointError):
    """Raised when a stored checkpoint does not match its checksum or cannot be parsed."""

    code = "HF-304"


class StoreUnavailable(CheckpointError):
    """Raised when the store's server or directory cannot be reached."""

    code = "HF-305"


class StoreFull(CheckpointError):
    """Raised when the disk or quota behind the store is full."""

    code = "HF-306"


class StoreReadOnly(CheckpointError):
    """Raised when the store cannot be written: a read-only disk, directory, database or account."""

    code = "HF-307"


class UnknownKey(CheckpointError):
    """Raised when an operation needs a key that is not in the store."""

    code = "HF-308"


class UnknownVersion(CheckpointError):
    """Raised when an operation names a version that the key does not have, or no longer has."""

    code = "HF-309"


class ForeignFile(CheckpointError):
    """Raised when the store's place holds something that is not a checkpoint store of ours."""

    code = "HF-310"


class InvalidKey(CheckpointError):
    """Raised when a key is empty, too long, or holds characters that not every backend can keep."""

    code = "HF-311"


class BarrierTimeout(CheckpointError):
    """Raised when an aligned snapshot was given up because an input's barrier did not arrive in time."""

    code = "HF-312"


class InvalidCommit(CheckpointError):
    """Raised when no store could apply a commit or a prune: one key in two updates, a rollback to version 0, keep 0."""

    code = "HF-313"


class UnknownEpoch(CheckpointError):
    """Raised when a write carries an epoch the store never handed out, as after it was restored from an older copy."""

    code = "HF-314"


class StoreClosed(CheckpointError):
    """Raised when a store is used after `close`, or in a child process that inherited it by a fork."""

    code = "HF-315"


class InvalidFlow(CheckpointError):
    """Raised when a flow of operators cannot run: a cycle, two links of one name, a missing operator, a torn state."""

    code = "HF-316"


class StoreChanged(CheckpointError):
    """Raised when a pipeline is started with another kind of checkpoint store than the one with its checkpoints."""

    code = "HF-317"


class CheckpointsMissing(CheckpointError):
    """Raised when the checkpoint store holds nothing of a pipeline that has published batches: rows could double."""

    code = "HF-318"


class DeliveryError(HoldfastError):
    """A sink did not take a batch. The class decides what the lane does next; an error of no class counts as poison."""


class Transient(DeliveryError):
    """Raised when a sink failed for a passing reason: the batch is retried and the cursor waits."""

    code = "HF-401"


class Throttled(DeliveryError):
    """Raised when a sink asks for less: the batch is retried when the sink said, or later."""

    code = "HF-402"


class Poison(DeliveryError):
    """Raised when rows of a batch can never be written as they are: they are isolated and go to the dead letters."""

    code = "HF-403"


class Rejected(DeliveryError):
    """Raised when a sink refuses a batch for its data: it is bisected down to the rows that are refused alone."""

    code = "HF-404"


class Fatal(DeliveryError):
    """Raised when trying again cannot help until somebody acts, as when access was revoked: the lane is
    frozen, the others go on, and the batch is tried again now and then."""

    code = "HF-405"


class SinkFenced(DeliveryError):
    """Raised when a sink has seen a newer owner: this process must not write to it any more."""

    code = "HF-406"


class CommitUnknown(DeliveryError):
    """Raised when a sink may or may not have the batch: its own cursor is read back before anything is sent again."""

    code = "HF-407"


class CursorMoved(DeliveryError):
    """Raised when a sink is not where its lane left it, as after a restore: the lane must begin where the sink is."""

    code = "HF-408"


class DeadLetterError(HoldfastError):
    """The dead letters cannot do what was asked."""


class DeadLettersFull(DeadLetterError):
    """Raised when there are as many dead letters as may be, and the policy is to wait: the row is not passed over."""

    code = "HF-410"


class EntryDamaged(DeadLetterError):
    """Raised when the payload of a dead letter does not match its checksum; it names the entry."""

    code = "HF-411"


class UnknownEntry(DeadLetterError):
    """Raised when an operation names a dead letter that is not there, or no longer."""

    code = "HF-412"


class LogError(HoldfastError):
    """A durable log cannot do what was asked, or found itself damaged."""


class LogDamaged(LogError):
    """Raised when bytes of a log do not match their checksum; it names the file and the offset."""

    code = "HF-501"


class LogFenced(LogError):
    """Raised when a log has seen a newer owner: this process must not write to it any more."""

    code = "HF-502"


class LogFull(LogError):
    """Raised when the disk under a log is full; what was appended before is safe."""

    code = "HF-503"


class LogReadOnly(LogError):
    """Raised when a log cannot be written for want of permission or because its disk is read-only."""

    code = "HF-504"


class LogMissing(LogError):
    """Raised when a log that was there is gone, in whole or in part, or was replaced by another."""

    code = "HF-505"


class LogQuota(LogError):
    """Raised when an append waited for room under the quota for as long as it was allowed to."""

    code = "HF-506"


class NotInLog(LogError):
    """Raised when a range is asked for that the log never had or has already forgotten."""

    code = "HF-507"


class ForeignLog(LogError):
    """Raised when a directory or an index is not a log of ours, of another kind, or of a newer format."""

    code = "HF-508"


class BatchDiverged(LogError):
    """Raised when a batch that was published before comes again with other starts, ends or query."""

    code = "HF-509"


class LogClosed(LogError):
    """Raised when a log is used after it was closed, or across a fork."""

    code = "HF-510"


class InvalidAppend(LogError):
    """Raised when what is to be appended is no whole event: a wrong schema, or a position going back."""

    code = "HF-511"


class LogUnavailable(LogError):
    """Raised when a log cannot be used just now: its index is locked by another process, or its disk does not work."""

    code = "HF-512"


class LogInDoubt(LogError):
    """Raised when a commit to a log may or may not have happened; opening the log again tells."""

    code = "HF-513"


class CaptureError(HoldfastError):
    """A source cannot be read."""


class SourceUnavailable(CaptureError):
    """Raised when a source does not answer; capture tries again and resumes from the inbox."""

    code = "HF-601"


class SourceGap(CaptureError):
    """Raised when a source no longer has what comes after the last captured position."""

    code = "HF-602"


class InvalidSource(CaptureError):
    """Raised when the declaration of a source is wrong."""

    code = "HF-603"


class SourceFailed(CaptureError):
    """Raised when a source fails with an error that is none of Holdfast's; capture opens it again and resumes."""

    code = "HF-604"


class PushRefused(CaptureError):
    """What was pushed was not taken in, and nothing of it is in the inbox."""


class InvalidPush(PushRefused):
    """Raised when a pushed body is not what its content type says; the place is named."""

    code = "HF-651"


class PushTooLarge(PushRefused):
    """Raised when a pushed body is larger than the source takes, as sent or once unpacked."""

    code = "HF-652"


class UnsupportedPush(PushRefused):
    """Raised when a push has a content type or an encoding that its path does not take."""

    code = "HF-653"


class PushNotAllowed(PushRefused):
    """Raised when a push does not carry the source's token."""

    code = "HF-654"


class PushTooSlow(PushRefused):
    """Raised when the body of a push was not there in time."""

    code = "HF-655"


class ReceiverBusy(PushRefused):
    """Raised when more is being pushed at once than the source holds in memory."""

    code = "HF-656"


class ReceiverStopping(PushRefused):
    """Raised when a push comes while the pipeline is stopping."""

    code = "HF-657"


class UnknownPath(PushRefused):
    """Raised when a push goes to a path, or uses a method, that the source does not have."""

    code = "HF-658"


class ProcessError(HoldfastError):
    """The steps of a pipeline cannot be applied."""


class InvalidStep(ProcessError):
    """Raised when a step cannot be built: SQL that does not parse, a function that returns no frame."""

    code = "HF-701"


class NotDeterministic(ProcessError):
    """Raised when a replayed batch of a stateful query gave other rows than before."""

    code = "HF-703"


class RowFailed(ProcessError):
    """Raised when a step cannot take an event and the others go on; told as the code of the dead letter it becomes."""

    code = "HF-704"


class NoRowFailsAlone(ProcessError):
    """Raised when events make the steps fail together and each of them passes alone, as with a sum that overflows."""

    code = "HF-705"


class IsolationExhausted(ProcessError):
    """Raised when the events that make a batch fail were not all found within the bounds of the search."""

    code = "HF-706"


class RunError(HoldfastError):
    """A pipeline cannot start, or cannot go on."""


class PipelineBusy(RunError):
    """Raised when another living process owns the pipeline's directory."""

    code = "HF-801"


class PipelineFenced(RunError):
    """Raised when another process took the pipeline over: this one has stopped writing."""

    code = "HF-802"


class PipelineFailed(RunError):
    """Raised when a pipeline stopped because something failed that trying again cannot mend."""

    code = "HF-803"


class PipelineDiverged(RunError):
    """Raised when Spark's checkpoint and the logs do not belong together."""

    code = "HF-804"


class InvalidPipeline(RunError):
    """Raised when the declaration of a pipeline is wrong."""

    code = "HF-805"


class LifecycleRefused(RunError):
    """Raised when a pipeline is asked for something that its present state does not allow."""

    code = "HF-806"


class RestartsExhausted(RunError):
    """Raised when a pipeline crashed more often than its restart budget allows, also across processes."""

    code = "HF-807"


class SparkUnavailable(RunError):
    """Raised when Spark cannot be started: no Java, or a master that does not answer."""

    code = "HF-808"


class SinkDetached(RunError):
    """Raised when a sink that was detached is declared as required: it misses what went by meanwhile."""

    code = "HF-809"


class SparkDied(RunError):
    """Raised when Spark's JVM, or a Python worker of it, was killed or ended by itself; it is started again."""

    code = "HF-810"


class StepRefused(RunError):
    """Raised when Spark refuses a step before any data is read: a column, function or table that does not exist."""

    code = "HF-811"


class FlowError(HoldfastError):
    """What runs in one event loop, between the outside and the logs, is declared wrongly or cannot go on."""


class InvalidFlowPolicy(FlowError):
    """Raised when the numbers of a flow policy, a burst profile, a retry or a breaker make no sense together."""

    code = "HF-851"


class InvalidGraph(FlowError):
    """Raised when a graph of operators cannot be built: a cycle, an end that hangs loose, a name or a policy amiss."""

    code = "HF-852"


class EdgeClosed(FlowError):
    """Raised when something is sent on an edge whose other end has ended."""

    code = "HF-853"


class BatchTooLarge(FlowError):
    """Raised when a batch has more items than its edge could ever hold."""

    code = "HF-854"


class RetriesExhausted(FlowError):
    """Raised when a call failed as often, or for as long, as its retry policy allows."""

    code = "HF-855"


class PermanentFailure(FlowError):
    """Raised when a call failed in a way that trying again cannot mend, or that nobody classified."""

    code = "HF-856"


class AuditFailed(FlowError):
    """Raised when a graph could lose events or grow without bound where nobody has decided it."""

    code = "HF-857"


class DocumentError(HoldfastError):
    """A pipeline document cannot be used. Whatever runs goes on as it is."""


class InvalidDocument(DocumentError):
    """Raised when a document says something that cannot be; it lists every problem with file, line and column."""

    code = "HF-901"


class DocumentUnreadable(DocumentError):
    """Raised when the file of a document cannot be read."""

    code = "HF-902"


class PathInWorkingDirectory(DocumentError):
    """Raised when a relative path of a document leads to something in the working directory alone.

    Such paths begin at the folder of the document; earlier versions took them from the working directory.
    """

    code = "HF-903"


class ControlError(HoldfastError):
    """A pipeline cannot be asked, or does not do what it was asked for."""


class NotRunning(ControlError):
    """Raised when a command needs a process that runs the pipeline, and there is none."""

    code = "HF-951"


class ControlUnavailable(ControlError):
    """Raised when the control socket of a pipeline cannot be made, cannot be reached, or does not answer in time."""

    code = "HF-952"


class ControlMismatch(ControlError):
    """Raised when a command and the process that runs the pipeline do not understand each other."""

    code = "HF-953"


class InvalidRequest(ControlError):
    """Raised when a pipeline is asked for something that it does not know, or that makes no sense."""

    code = "HF-954"


def error_types(root: type[HoldfastError] = HoldfastError) -> Iterator[type[HoldfastError]]:
    """Every class of the tree below `root`, parents before children, in the order of definition."""
    for child in root.__subclasses__():
        yield child
        yield from error_types(child)
