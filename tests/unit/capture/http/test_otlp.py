"""Log records of OTLP: one event each, the same from either encoding, and each stands for itself."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs, ScopeLogs

from holdfast.capture.http import otlp
from holdfast.capture.http.events import Pushed
from holdfast.capture.http.otlp import Logs
from holdfast.log.values import Appended
from holdfast.model.errors import InvalidPush, PushTooLarge

PROTOBUF, JSON = "application/x-protobuf", "application/json"
NANOS = 1_790_000_000_123_456_789


def request() -> ExportLogsServiceRequest:
    """Two resources, three scopes, four records, and every kind of value."""
    whole = ExportLogsServiceRequest()
    shop = whole.resource_logs.add(schema_url="https://schemas.example/1")
    shop.resource.attributes.add(key="service.name").value.string_value = 'Läden "A"'
    orders = shop.scope_logs.add(schema_url="https://schemas.example/2")
    orders.scope.name = "orders"
    first = orders.log_records.add(
        time_unix_nano=NANOS, severity_number=17, severity_text="ERROR", flags=1, event_name="paid",
        trace_id=bytes(range(16)), span_id=bytes(range(8)), dropped_attributes_count=2,
    )  # fmt: skip
    first.body.string_value = "Größe 😀\n"
    kinds = first.attributes.add(key="kinds").value.kvlist_value.values
    kinds.add(key="int").value.int_value = -(2**63)
    kinds.add(key="double").value.double_value = 0.1
    kinds.add(key="bool").value.bool_value = False
    kinds.add(key="bytes").value.bytes_value = b"\x00\xff"
    kinds.add(key="list").value.array_value.values.add().string_value = "x"
    orders.log_records.add(observed_time_unix_nano=NANOS + 1000)
    shop.scope_logs.add().log_records.add()
    whole.resource_logs.add().scope_logs.add().log_records.add().body.int_value = 7
    return whole


def as_json(message: ExportLogsServiceRequest) -> bytes:
    """What a sender of OTLP/JSON writes: ids in hexadecimal, an unknown field here and there."""
    fields = MessageToDict(message, use_integers_for_enums=True)
    record = fields["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    record |= {"traceId": bytes(range(16)).hex().upper(), "spanId": bytes(range(8)).hex(), "newField": {"a": 1}}
    return json.dumps(fields, indent=2).encode()


def pushed(body: bytes, content_type: str) -> Pushed:
    return Logs().decoder(content_type)(body)


@pytest.mark.req("A2")
def test_both_encodings_give_the_same_events() -> None:
    of_protobuf = pushed(request().SerializeToString(), PROTOBUF)
    assert len(of_protobuf.payloads) == 4
    assert pushed(as_json(request()), JSON) == of_protobuf


@pytest.mark.req("A2")
def test_a_payload_is_a_request_with_this_record_alone() -> None:
    payloads = pushed(request().SerializeToString(), PROTOBUF).payloads
    assert [pushed(payload, JSON).payloads for payload in payloads] == [[payload] for payload in payloads]
    whole = json.loads(payloads[0])
    assert whole["resourceLogs"][0]["resource"]["attributes"][0]["value"] == {"stringValue": 'Läden "A"'}
    scoped = whole["resourceLogs"][0]["scopeLogs"][0]
    assert (scoped["scope"]["name"], scoped["schemaUrl"]) == ("orders", "https://schemas.example/2")
    record = scoped["logRecords"][0]
    assert (record["traceId"], record["timeUnixNano"]) == (bytes(range(16)).hex(), str(NANOS))
    assert (record["severityNumber"], record["body"]["stringValue"]) == (17, "Größe 😀\n")


def test_nothing_of_a_record_is_lost() -> None:
    rebuilt = ExportLogsServiceRequest()
    for payload in pushed(request().SerializeToString(), PROTOBUF).payloads:
        rebuilt.MergeFrom(otlp._of_json(payload))
    records = [r for logs in rebuilt.resource_logs for scoped in logs.scope_logs for r in scoped.log_records]
    expected = [r for logs in request().resource_logs for scoped in logs.scope_logs for r in scoped.log_records]
    assert records == expected


def test_the_time_of_an_event_is_when_it_happened_or_was_seen() -> None:
    assert pushed(request().SerializeToString(), PROTOBUF).times == [NANOS // 1000, NANOS // 1000 + 1, None, None]


@pytest.mark.req("A3")
@pytest.mark.parametrize(("body", "content_type"), [(b"", PROTOBUF), (b"{}", JSON), (b'{"resourceLogs": []}', JSON)])
def test_a_request_without_records_holds_no_event(body: bytes, content_type: str) -> None:
    assert pushed(body, content_type) == Pushed([], [])


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        (b"\x0a\xff", PROTOBUF, "protobuf"),
        (b'{"resourceLogs": [', JSON, r"line 1 column 19"),
        (b'{"resourceLogs": [{"scopeLogs": 7}]}', JSON, "scopeLogs"),
        (b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "xyz"}]}]}]}', JSON, "JSON"),
        (b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": 7}]}]}]}', JSON, "JSON"),
        (b"[1]", JSON, "JSON"),
        (b"7", JSON, "JSON"),
        (b'"\xff"', JSON, "JSON"),
    ],
)
def test_what_is_no_request_is_refused(body: bytes, content_type: str, why: str) -> None:
    with pytest.raises(InvalidPush, match=why):
        pushed(body, content_type)


def test_more_records_than_memory_can_take_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_VALUES", 3)
    with pytest.raises(PushTooLarge, match="4 log records"):
        pushed(request().SerializeToString(), PROTOBUF)


def test_the_answers_are_those_of_otlp() -> None:
    door = Logs()
    error = InvalidPush("It is wrong.", remedy="Mend it.")
    assert (door.done(PROTOBUF, Appended(1, 2)), door.done(JSON, Appended(1, 2))) == (b"", b"{}")
    assert Status.FromString(door.refused(PROTOBUF, error)).message == str(error)
    assert json.loads(door.refused(JSON, error)) == {"message": str(error)}
    assert [door.speaks(kind) for kind in (PROTOBUF, JSON, "text/plain")] == [PROTOBUF, JSON, JSON]


def test_groups_without_a_resource_or_scope_are_taken() -> None:
    bare = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs()])])
    bare.resource_logs[0].scope_logs[0].log_records.add().body.string_value = "x"
    (payload,) = pushed(bare.SerializeToString(), PROTOBUF).payloads
    assert payload == b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}'


@pytest.mark.parametrize("where", ["record", "value"])
def test_a_key_that_comes_twice_is_refused(where: str) -> None:
    """Otherwise the last one would win, and another program may have taken the first."""
    body = '{"stringValue": "a", "stringValue": "b"}' if where == "value" else '{"stringValue": "a"}, "body": {}'
    with pytest.raises(InvalidPush, match="comes twice in one object"):
        pushed(f'{{"resourceLogs": [{{"scopeLogs": [{{"logRecords": [{{"body": {body}}}]}}]}}]}}'.encode(), JSON)
