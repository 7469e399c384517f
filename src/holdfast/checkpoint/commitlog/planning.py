"""Decides what the next commit of a store made of immutable documents is. No I/O, no clock, no randomness.

A store is a sequence of numbered documents, each published once under a name nobody may take twice. Each document
describes the whole store: for every key the newest few versions and where they lie. So the newest document is enough
to decide, and publishing the next number *is* the compare-and-swap: whoever decided on an older document finds the
number taken, reads again and decides again. That is how fencing and requirements hold without a lock.

The damage rule
---------------
A payload that does not match its checksum spoils one version of one key: that version is listed, reading it raises,
and writing the key again (`Put`, or `RollBack` with `Origin.FALLBACK`) goes on above it.

A document whose description cannot be read spoils more, because nobody can tell what it held. When the *newest* ones
are like that, the store stands on the newest whole document, and:

* every key is *in doubt*, also one that seems absent: `get_raw` raises until a commit writes or deletes that key.
  `keys`, `versions` and `get_version` answer from the newest whole document;
* a requirement on a key in doubt cannot be checked, so it raises, unless the same commit falls back to a version of it;
* the lost documents may have handed the store to another owner, so nobody may write before taking over again;
* version numbers that the lost documents may have used are left out, never used a second time; so is one epoch for
  each of them. A lost take-over that skipped ahead may have used a higher one: its owner is then refused as unknown.

The doubt is part of the documents that follow, so it survives restarts. It ends key by key; what remains (keys that
stood in nothing but the lost documents) ends when somebody accepts the loss by name, with `accept_loss`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.checkpoint.commitlog.model import Chain, Document, Draft, Record, Reign, Stamp, View, blob_name
from holdfast.checkpoint.contract import Commit, Delete, Origin, RollBack, Update, Version
from holdfast.checkpoint.envelope import Sealed
from holdfast.checkpoint.rules import check_epoch, check_requirements, next_epoch
from holdfast.model.errors import CheckpointDamaged, Fenced

TRAIL = 3
"""How many versions of a key a document names: with three, a listing gets past any document that is damaged alone."""

REIGNS = 16
"""How many owners a document names, so that an older one can be told for certain that it wrote too late."""

INLINE_UP_TO = 64 * 1024
"""Larger payloads lie beside the document, so that reading the newest document stays cheap."""


def admit(view: View, commit: Commit) -> None:
    """Raise what forbids the commit in this view."""
    check_owner(view, commit.epoch)
    falling_back = {u.key for u in commit.updates if isinstance(u, RollBack) and u.origin is Origin.FALLBACK}
    for need in commit.requirements:
        if need.key not in falling_back:
            check_certain(view, need.key)
    check_requirements(commit.requirements, view.present())


def check_owner(view: View, epoch: int) -> None:
    """Raise when the epoch may not write, or when nobody can tell whether it may."""
    check_epoch(epoch, view.document.epoch)
    if view.damaged:
        raise Fenced(
            f"Commit {view.newest} cannot be read and may have handed the store to another owner than epoch {epoch}.",
            remedy="Take over again, then fall back to the newest whole version of each key.",
            carried=epoch,
            damaged=view.damaged,
        )


def check_certain(view: View, key: str) -> None:
    """Raise when a damaged document may hold a newer version of `key`."""
    if lost := view.in_doubt(key):
        trail = view.trail(key)
        raise CheckpointDamaged(
            f"Commit {lost[-1]} cannot be read and may hold a newer version of {key!r}.",
            kept=f"Its version {trail[0].number} and those before it are kept." if trail else "No version is known.",
            remedy="Run `doctor`, which falls back to the newest whole version, or write the key anew.",
            key=key,
            commits=lost,
        )


def plan(view: View, commit: Commit, contents: Mapping[str, Sealed], stamp: Stamp) -> Draft:
    """The document that applies `commit`; `contents` holds the payloads of its puts and rollbacks by key."""
    admit(view, commit)
    return _write(view, commit.epoch, commit.updates, contents, stamp)


def plan_migration(view: View, updates: Sequence[Update], contents: Mapping[str, Sealed], stamp: Stamp) -> Draft:
    """The first document of a store that takes the place of one of an older format."""
    return _write(view, view.document.epoch, updates, contents, stamp, origin=Origin.MIGRATION)


def plan_take_over(view: View, at_least: int, stamp: Stamp) -> Draft:
    """The document that hands the store to a new owner."""
    epoch = next_epoch(view.document.epoch + len(view.damaged), at_least)
    reigns = (*view.document.reigns, Reign(epoch, since=view.newest + 1))[-REIGNS:]
    return Draft(replace(_next(view, stamp), epoch=epoch, reigns=reigns))


def plan_prune(view: View, key: str, kept: Sequence[Record], keep: int, stamp: Stamp) -> Draft:
    """The document that forgets the versions of `key` that are not in `kept`: the newest `keep`, and one to spare."""
    floor = kept[-keep:][0].number
    spared = kept[0] if kept[0].number < floor else None
    old = view.document.chains[key]
    chain = Chain(old.last, floor, spared, tuple(record for record in old.trail if record.number >= floor))
    return Draft(_next(view, stamp, chains={**view.document.chains, key: chain}))


def plan_acceptance(view: View, epoch: int, stamp: Stamp) -> Draft:
    """The document that ends the doubt about keys that stood in nothing but lost documents."""
    check_owner(view, epoch)
    for key in view.present():
        check_certain(view, key)
    return Draft(replace(_next(view, stamp), doubt=None))


def _write(
    view: View,
    epoch: int,
    updates: Iterable[Update],
    contents: Mapping[str, Sealed],
    stamp: Stamp,
    origin: Origin = Origin.PUT,
) -> Draft:
    chains, payloads, blobs = dict(view.document.chains), dict[str, bytes](), dict[str, bytes]()
    keys = frozenset(update.key for update in updates)
    for index, update in enumerate(updates):
        if isinstance(update, Delete):
            chains.update(_deleted(view, update.key))
            continue
        sealed = contents[update.key]
        blob = blob_name(view.newest + 1, stamp.nonce, index) if len(sealed.data) > INLINE_UP_TO else None
        (payloads if blob is None else blobs)[blob or update.key] = sealed.data
        version = _version(view, update, sealed, epoch, stamp, origin)
        chains[update.key] = _longer(view, Record(version, view.newest + 1, stamp.nonce, sealed.encoding, blob))
    document = replace(_next(view, stamp, chains=chains), payloads=payloads)
    if document.doubt:
        document = replace(document, doubt=replace(document.doubt, settled=document.doubt.settled | keys))
    return Draft(document, keys, blobs)


def _next(view: View, stamp: Stamp, *, epoch: int | None = None, chains: Mapping[str, Chain] | None = None) -> Document:
    return Document(
        number=view.newest + 1,
        epoch=view.document.epoch if epoch is None else epoch,
        created_at=stamp.now,
        nonce=stamp.nonce,
        chains=view.document.chains if chains is None else chains,
        doubt=view.doubt,
        reigns=view.document.reigns,
    )


def _version(view: View, update: Update, sealed: Sealed, epoch: int, stamp: Stamp, origin: Origin) -> Version:
    restored = update if isinstance(update, RollBack) else None
    return Version(
        key=update.key,
        number=_last(view, update.key) + 1,
        created_at=stamp.now,
        size=sealed.size,
        checksum=sealed.checksum,
        epoch=epoch,
        origin=restored.origin if restored else origin,
        restored_from=restored.version if restored else None,
    )


def _last(view: View, key: str) -> int:
    """The highest version number that may have been used: each lost document may have written the key once."""
    chain = view.document.chains.get(key)
    return (chain.last if chain else 0) + len(view.in_doubt(key))


def _longer(view: View, record: Record) -> Chain:
    chain = view.document.chains.get(record.version.key, Chain(last=0, floor=1))
    return replace(chain, last=record.number, trail=(record, *chain.trail)[:TRAIL])


def _deleted(view: View, key: str) -> dict[str, Chain]:
    last = _last(view, key)
    return {key: Chain(last=last, floor=last + 1)} if last else {}
