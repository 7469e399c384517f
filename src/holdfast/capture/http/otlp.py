"""Finds the log records in an OTLP export request, in either of its encodings. Pure. Needs the extra `http`.

One event is one log record. Its payload is an export request with this one record, in OTLP's JSON encoding: it says
what resource and scope the record belongs to, any collector takes it as it is, and both encodings of a request give the
same bytes. Instants stay decimal text and ids stay hexadecimal, as OTLP has it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from holdfast.capture.http.doors import JSON, Decoder, Door
from holdfast.capture.http.events import Pushed
from holdfast.capture.http.jsons import MAX_VALUES
from holdfast.model.errors import InvalidPush, PushTooLarge

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

    from holdfast.log.values import Appended
    from holdfast.model.errors import HoldfastError

_PROTOBUF = "application/x-protobuf"
_IDS = {"traceId", "spanId"}
"""Protobuf's JSON has bytes as base64, OTLP's has these two as hexadecimal text."""


class Logs(Door):
    """OTLP's path for logs."""

    path = "/v1/logs"
    decoders: ClassVar[Mapping[str, Decoder]] = {
        _PROTOBUF: lambda body: _pushed(_of_protobuf(body)),
        JSON: lambda body: _pushed(_of_json(body)),
    }

    def speaks(self, content_type: str) -> str:
        """As it is spoken to."""
        return _PROTOBUF if content_type == _PROTOBUF else JSON

    def done(self, content_type: str, appended: Appended) -> bytes:
        """An empty response: all records were taken."""
        return self._written(ExportLogsServiceResponse(), content_type)

    def refused(self, content_type: str, error: HoldfastError) -> bytes:
        """A status with the error as its message."""
        return self._written(Status(message=str(error)), content_type)

    def _written(self, message: Message, content_type: str) -> bytes:
        is_protobuf = self.speaks(content_type) == _PROTOBUF
        return message.SerializeToString() if is_protobuf else _text(message).encode()


def _of_protobuf(body: bytes) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError as error:
        raise _invalid("protobuf", error) from error
    return request


def _of_json(body: bytes) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    try:
        ParseDict(json.loads(body.decode(), object_pairs_hook=_with_base64_ids), request, ignore_unknown_fields=True)
    except (ValueError, ParseError, RecursionError, AttributeError, TypeError) as error:
        raise _invalid("JSON", error) from error
    return request


def _invalid(encoding: str, error: Exception) -> InvalidPush:
    return InvalidPush(
        f"The body is no OTLP export request in {encoding}: {error}.", remedy="Send an ExportLogsServiceRequest."
    )


def _pushed(request: ExportLogsServiceRequest) -> Pushed:
    scopes = [(logs, scoped) for logs in request.resource_logs for scoped in logs.scope_logs]
    count = sum(len(scoped.log_records) for _, scoped in scopes)
    if count > MAX_VALUES:
        raise PushTooLarge(
            f"The body holds {count} log records, more than {MAX_VALUES}.", remedy="Send them in several requests."
        )
    payloads: list[bytes] = []
    times: list[int | None] = []
    for logs, scoped in scopes:
        before, after = _around(logs, scoped)
        payloads += [f"{before}{_text(record)}{after}".encode() for record in scoped.log_records]
        times += [_micros(record) for record in scoped.log_records]
    return Pushed(payloads, times)


def _micros(record: LogRecord) -> int | None:
    """When it happened; when it was seen, if its sender does not know."""
    nanos = record.time_unix_nano or record.observed_time_unix_nano
    return nanos // 1000 if nanos else None


def _around(logs: ResourceLogs, scoped: ScopeLogs) -> tuple[str, str]:
    """The text before and after a record: what all records of a scope share is written once."""
    resource = f'"resource":{_text(logs.resource)},' if logs.HasField("resource") else ""
    scope = f'"scope":{_text(scoped.scope)},' if scoped.HasField("scope") else ""
    return (
        f'{{"resourceLogs":[{{{resource}"scopeLogs":[{{{scope}"logRecords":[',
        f"]{_schema_url(scoped)}}}]{_schema_url(logs)}}}]}}",
    )


def _schema_url(group: ResourceLogs | ScopeLogs) -> str:
    return f',"schemaUrl":{json.dumps(group.schema_url)}' if group.schema_url else ""


def _text(message: Message) -> str:
    fields = MessageToDict(message, use_integers_for_enums=True)
    for name in _IDS & fields.keys():
        fields[name] = b64decode(fields[name]).hex()
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _with_base64_ids(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)[:60]!r} comes twice in one object")
    for name in _IDS & fields.keys():
        fields[name] = b64encode(bytes.fromhex(fields[name])).decode()
    return fields
