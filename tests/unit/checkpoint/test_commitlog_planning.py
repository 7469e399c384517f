"""What the log of commit documents decides, without a disk: numbers, owners, requirements, and the damage rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.checkpoint.commitlog import planning
from holdfast.checkpoint.commitlog.model import GENESIS, Document, Draft, Stamp, View
from holdfast.checkpoint.commitlog.planning import INLINE_UP_TO, REIGNS, TRAIL
from holdfast.checkpoint.contract import Commit, Delete, Origin, Put, RollBack, Update, VersionIs
from holdfast.checkpoint.envelope import Encoding, Sealed
from holdfast.model.errors import CheckpointDamaged, Fenced, RequirementFailed, UnknownEpoch

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stamp(nonce: str = "n") -> Stamp:
    return Stamp(NOW, nonce)


def owned(epoch: int = 1) -> View:
    return View(planning.plan_take_over(View(GENESIS), epoch, stamp()).document)


def sealed(size: int = 3) -> Sealed:
    return Sealed(b"x" * size, Encoding.PLAIN, size, 7)


def draft(view: View, *updates: Update, size: int = 3, needs: tuple[VersionIs, ...] = ()) -> Draft:
    contents = {update.key: sealed(size) for update in updates if not isinstance(update, Delete)}
    return planning.plan(view, Commit(view.document.epoch, updates, needs), contents, stamp())


def after(view: View, *updates: Update) -> View:
    return View(draft(view, *updates).document)


def after_puts(count: int, key: str = "k") -> View:
    view = owned()
    for _ in range(count):
        view = after(view, Put(key, b""))
    return view


def lost(view: View, count: int = 1) -> View:
    """The same store, with further commits that nobody can read."""
    return View(view.document, tuple(range(view.newest + 1, view.newest + 1 + count)))


def taken_over(view: View) -> View:
    return View(planning.plan_take_over(view, 0, stamp()).document)


def numbers(document: Document, key: str = "k") -> list[int]:
    return [record.number for record in document.chains[key].trail]


# Numbers, owners, requirements


def test_a_document_takes_the_number_after_the_newest() -> None:
    assert [after_puts(0).document.number, after_puts(1).document.number] == [1, 2]


def test_an_older_epoch_is_fenced() -> None:
    view = taken_over(owned())
    with pytest.raises(Fenced):
        planning.plan(view, Commit(1, [Delete("k")]), {}, stamp())


def test_an_epoch_that_was_never_given_is_unknown() -> None:
    with pytest.raises(UnknownEpoch):
        planning.plan(owned(), Commit(2, [Delete("k")]), {}, stamp())


def test_a_new_owner_is_not_below_what_it_asked_for() -> None:
    assert planning.plan_take_over(owned(), 40, stamp()).document.epoch == 40


@pytest.mark.parametrize("needed", [0, 1, 3])
def test_a_requirement_names_exactly_the_newest_version(needed: int) -> None:
    with pytest.raises(RequirementFailed):
        draft(after_puts(2), Put("k", b""), needs=(VersionIs("k", needed),))


def test_versions_go_on_counting_after_a_delete() -> None:
    view = after(after(after_puts(3), Delete("k")), Put("k", b""))
    assert numbers(view.document) == [4]


def test_a_document_names_the_newest_few_versions() -> None:
    assert numbers(after_puts(TRAIL + 2).document) == [5, 4, 3]


def test_a_document_describes_keys_it_did_not_write() -> None:
    view = after(after_puts(1), Put("other", b""))
    assert view.present() == {"k": 1, "other": 1}
    assert [record.version.key for record in view.document.written()] == ["other"]


def test_a_rollback_says_where_it_came_from() -> None:
    version = after(after_puts(2), RollBack("k", 1)).trail("k")[0].version
    assert (version.number, version.origin, version.restored_from) == (3, Origin.ROLLBACK, 1)


@pytest.mark.parametrize(("size", "in_document"), [(INLINE_UP_TO, True), (INLINE_UP_TO + 1, False)])
def test_a_large_payload_lies_beside_the_document(size: int, in_document: bool) -> None:
    made = draft(owned(), Put("k", b""), size=size)
    assert ("k" in made.document.payloads) is in_document
    assert bool(made.blobs) is not in_document
    assert made.document.chains["k"].trail[0].blob == next(iter(made.blobs), None)


def test_a_blob_is_named_by_the_commit_it_waits_for() -> None:
    assert list(draft(owned(), Put("k", b""), size=INLINE_UP_TO + 1).blobs) == ["blobs/00000000000000000002-n-0"]


# Late documents


def test_a_document_of_an_older_owner_under_a_newer_ones_number_is_ruled_out() -> None:
    late = after_puts(3).document
    newest = taken_over(after_puts(1)).document
    assert (newest.number, late.number) == (3, 4)
    assert newest.rules_out(late)


def test_what_an_owner_committed_before_it_was_followed_is_not_ruled_out() -> None:
    assert not taken_over(after_puts(3)).document.rules_out(after_puts(3).document)


def test_the_list_of_owners_does_not_grow_for_ever() -> None:
    view = owned()
    for _ in range(REIGNS + 5):
        view = taken_over(view)
    assert [reign.epoch for reign in view.document.reigns] == list(range(7, REIGNS + 7))


# Pruning


def pruned(view: View, *kept: int, keep: int) -> Document:
    records = {record.number: record for record in view.trail("k")}
    return planning.plan_prune(view, "k", [records[number] for number in kept], keep, stamp()).document


def test_a_prune_forgets_below_its_floor() -> None:
    chain = pruned(after_puts(3), 2, 3, keep=2).chains["k"]
    assert [number for number in range(5) if chain.keeps(number)] == [2, 3, 4]


def test_a_prune_can_spare_one_version_below_its_floor() -> None:
    chain = pruned(after_puts(3), 1, 3, keep=1).chains["k"]
    assert [number for number in range(4) if chain.keeps(number)] == [1, 3]


def test_nothing_of_a_deleted_key_is_kept() -> None:
    chain = after(after_puts(2), Delete("k")).document.chains["k"]
    assert not any(chain.keeps(number) for number in range(5))


# The damage rule


def test_a_lost_document_puts_every_key_in_doubt_also_absent_ones() -> None:
    view = lost(after_puts(1))
    for key in ("k", "never-seen"):
        with pytest.raises(CheckpointDamaged):
            planning.check_certain(view, key)


def test_the_doubt_is_part_of_the_documents_that_follow() -> None:
    view = taken_over(taken_over(lost(after_puts(1))))
    assert view.in_doubt("k") == (3,)


@pytest.mark.parametrize("update", [Put("k", b""), Delete("k"), RollBack("k", 1, Origin.FALLBACK)])
def test_writing_a_key_settles_it_and_no_other(update: Update) -> None:
    view = taken_over(lost(after(after_puts(1), Put("other", b""))))
    view = after(view, update)
    assert not view.in_doubt("k")
    assert view.in_doubt("other")


def test_further_damage_puts_a_settled_key_in_doubt_again() -> None:
    view = after(taken_over(lost(after_puts(1))), Put("k", b""))
    assert lost(view).in_doubt("k") == (3, 6)


def test_nobody_may_write_on_damage_before_taking_over() -> None:
    view = lost(after_puts(1))
    with pytest.raises(Fenced, match="Take over again"):
        draft(view, RollBack("k", 1, Origin.FALLBACK))


def test_epochs_that_lost_documents_may_have_given_are_left_out() -> None:
    assert taken_over(lost(owned(), count=2)).document.epoch == 4


def test_version_numbers_that_lost_documents_may_have_used_are_left_out() -> None:
    view = after(taken_over(lost(after_puts(2), count=3)), RollBack("k", 2, Origin.FALLBACK))
    assert numbers(view.document) == [6, 2, 1]
    assert numbers(after(view, Put("k", b"")).document) == [7, 6, 2]


def test_a_key_that_was_never_seen_starts_above_the_lost_versions() -> None:
    assert numbers(after(taken_over(lost(owned())), Put("new", b"")).document, "new") == [2]


def test_a_requirement_on_a_key_in_doubt_cannot_be_checked() -> None:
    view = taken_over(lost(after_puts(1)))
    with pytest.raises(CheckpointDamaged):
        draft(view, Put("k", b""), needs=(VersionIs("k", 1),))


def test_a_fallback_may_require_the_version_it_saw() -> None:
    view = taken_over(lost(after_puts(1)))
    made = draft(view, RollBack("k", 1, Origin.FALLBACK), needs=(VersionIs("k", 1),))
    assert made.keys == {"k"}


def test_a_loss_is_not_accepted_while_a_known_key_is_in_doubt() -> None:
    view = taken_over(lost(after_puts(1)))
    with pytest.raises(CheckpointDamaged, match="'k'"):
        planning.plan_acceptance(view, view.document.epoch, stamp())


def test_an_accepted_loss_makes_unknown_keys_absent() -> None:
    view = after(taken_over(lost(after_puts(1))), Put("k", b""))
    accepted = View(planning.plan_acceptance(view, view.document.epoch, stamp()).document)
    assert not accepted.in_doubt("never-seen")


def test_a_migration_is_marked_as_one() -> None:
    made = planning.plan_migration(View(GENESIS), [Put("k", b"")], {"k": sealed()}, stamp())
    assert made.document.chains["k"].trail[0].version.origin is Origin.MIGRATION
    assert replace(made.document, number=0).epoch == 0
