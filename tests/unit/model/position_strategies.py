"""Positions for property tests: `crowded` ones that often meet in the order, `wide` ones over the whole domain."""

from __future__ import annotations

from hypothesis import strategies as st

from holdfast.model.positions import (
    BinlogPosition,
    ChangeId,
    FilePosition,
    FilesPosition,
    Fingerprint,
    GtidSet,
    KafkaOffsets,
    LogPosition,
    Lsn,
    MysqlPosition,
    Position,
    Seq,
    SiftedPosition,
    Tsid,
)

UUIDS = ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "24da167a-0c0c-11e8-8442-00059a3c7b00")
TSIDS = (Tsid(UUIDS[0]), Tsid(UUIDS[0], "domain_1"), Tsid(UUIDS[1]))

int31 = st.integers(0, 2**31 - 1)
int63 = st.integers(0, 2**63 - 1)
int64 = st.integers(0, 2**64 - 1)
few = st.integers(0, 3)


def interval(highest: int) -> st.SearchStrategy[tuple[int, int]]:
    number = st.integers(1, highest)
    return st.tuples(number, number).map(lambda ends: (min(ends), max(ends)))


def gtid_set(tsid: st.SearchStrategy[Tsid], highest: int) -> st.SearchStrategy[GtidSet]:
    member = st.tuples(tsid, st.lists(interval(highest), max_size=4).map(tuple))
    return st.lists(member, max_size=4).map(lambda members: GtidSet(tuple(members)))


def file_position(
    digest: st.SearchStrategy[str],
    length: st.SearchStrategy[int],
    inode: st.SearchStrategy[int],
    offset: st.SearchStrategy[int],
) -> st.SearchStrategy[FilePosition]:
    return st.builds(FilePosition, st.builds(Fingerprint, digest, length), inode, offset)


def files(
    begun: st.SearchStrategy[int], number: st.SearchStrategy[int], at: st.SearchStrategy[FilePosition]
) -> st.SearchStrategy[FilesPosition]:
    found = st.tuples(begun, st.dictionaries(number, at, max_size=4))
    return found.map(lambda both: FilesPosition(max(both[0], *both[1], 0), tuple(both[1].items())))


def kafka(partition: st.SearchStrategy[int], offset: st.SearchStrategy[int]) -> st.SearchStrategy[KafkaOffsets]:
    return st.dictionaries(partition, offset, max_size=4).map(lambda found: KafkaOffsets(tuple(found.items())))


def sifted(log: st.SearchStrategy[str], seq: st.SearchStrategy[int]) -> st.SearchStrategy[SiftedPosition]:
    return st.builds(lambda of, *numbers: SiftedPosition(of, max(numbers), min(numbers)), log, seq, seq)


def binlog(
    base: st.SearchStrategy[str], number: st.SearchStrategy[int], pos: st.SearchStrategy[int]
) -> st.SearchStrategy[BinlogPosition]:
    return st.builds(lambda b, n, p: BinlogPosition(f"{b}.{n:06d}", p), base, number, pos)


_near_rollover = binlog(st.sampled_from(["mysql-bin", "other"]), st.sampled_from([2, 10, 999_999, 1_000_000]), few)
_any_binlog = binlog(st.from_regex(r"[a-zA-Z0-9._:;é-]{1,12}", fullmatch=True), int31, int64)
_few_gtids = gtid_set(st.sampled_from(TSIDS), 4)
_any_tsid = st.builds(
    Tsid, st.uuids().map(str), st.just("") | st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,31}", fullmatch=True)
)
_any_gtids = gtid_set(st.sampled_from(TSIDS) | _any_tsid, 2**63 - 1)

CROWDED: dict[str, st.SearchStrategy[Position]] = {
    "seq": few.map(Seq),
    "lsn": st.sampled_from([0, 9, 0x10, 2**32 - 1, 2**32, 2**64 - 1]).map(Lsn),
    "binlog": _near_rollover,
    "gtid_set": _few_gtids,
    "mysql": st.builds(MysqlPosition, _near_rollover, st.none() | _few_gtids),
    "change_id": few.map(ChangeId),
    "file": file_position(st.sampled_from(["aa", "bb"]), st.sampled_from([0, 1, 2]), st.integers(1, 2), few),
    "files": files(few, st.integers(1, 3), file_position(st.just("aa"), st.just(1), st.integers(1, 2), few)),
    "kafka": kafka(st.integers(0, 2), few),
    "log": st.builds(LogPosition, st.sampled_from(UUIDS), few),
    "sifted": sifted(st.sampled_from(UUIDS), few),
}

WIDE: dict[str, st.SearchStrategy[Position]] = {
    "seq": int63.map(Seq),
    "lsn": int64.map(Lsn),
    "binlog": _any_binlog,
    "gtid_set": _any_gtids,
    "mysql": st.builds(MysqlPosition, _any_binlog, st.none() | _any_gtids),
    "change_id": int63.map(ChangeId),
    "file": file_position(st.binary(min_size=1, max_size=64).map(bytes.hex), int63, int64, int63),
    "files": files(
        int63,
        st.integers(1, 2**63 - 1),
        file_position(st.binary(min_size=1, max_size=64).map(bytes.hex), int63, int64, int63),
    ),
    "kafka": kafka(int31, int63),
    "log": st.builds(LogPosition, st.uuids().map(str), int63),
    "sifted": sifted(st.uuids().map(str), int63),
}


def of_one_kind(count: int) -> st.SearchStrategy[tuple[Position, ...]]:
    """So many crowded positions of one kind, whichever."""
    return st.sampled_from(sorted(CROWDED)).flatmap(lambda kind: st.tuples(*[CROWDED[kind]] * count))


any_crowded = st.one_of(*CROWDED.values())
any_wide = st.one_of(*WIDE.values())
