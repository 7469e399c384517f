"""What must hold between the blocks of a document. Looks at the values as they were read, so it finds such problems
also in a document that has others."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.problems import Path, Problem, dotted
from holdfast.config.syntax import Tree, Value
from holdfast.ledger import All, Policy, Quorum, Required
from holdfast.ledger.policy import check_policy
from holdfast.model.errors import InvalidPolicy


def checked_together(tree: Tree) -> Iterator[Problem]:
    """The problems."""
    spec = _block(_block(tree.root).get("spec"))
    yield from _one_way_to_name_sources(tree, spec)
    for key in ("sources", "sinks"):
        yield from _names_of_their_own(tree, key, _blocks(spec.get(key)))
    yield from _policy_that_can_be_met(tree, spec)


def _one_way_to_name_sources(tree: Tree, spec: dict[str, Value]) -> Iterator[Problem]:
    if "source" in spec and "sources" in spec:
        path: Path = ("spec", "sources")
        what = "A pipeline declares its sources in one place, and here is both `source` and `sources`."
        yield Problem(tree.spot(path).key or tree.spot(path).place, what, "Put all of them below `sources`.", path)
    elif spec and "source" not in spec and "sources" not in spec:
        what = "`spec` has no `source`, so nothing would ever be read."
        yield Problem(tree.spot(("spec",)).place, what, "Add `source`: where events come from.", ("spec", "source"))


def _names_of_their_own(tree: Tree, key: str, blocks: dict[int, dict[str, Value]]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for number, block in blocks.items():
        name = block.get("name") or block.get("type")
        if isinstance(name, str) and first.setdefault(name, number) != number:
            path: Path = ("spec", key, number, "name")
            other = dotted(("spec", key, first[name]))
            yield Problem(
                tree.spot(path).place, f"`{other}` is named {name!r} too.", "Give each a `name` of its own.", path
            )


def _policy_that_can_be_met(tree: Tree, spec: dict[str, Value]) -> Iterator[Problem]:
    sinks, commit = spec.get("sinks"), _block(spec.get("commit"))
    policy = _policy(commit)
    if not isinstance(sinks, list) or not sinks or policy is None:
        return
    try:
        check_policy(policy, [_block(sink).get("required") is not False for sink in sinks])
    except InvalidPolicy as error:
        path: Path = ("spec", "commit") if commit else ("spec", "sinks")
        yield Problem(tree.spot(path).place, error.what, error.remedy, path)


def _policy(commit: dict[str, Value]) -> Policy | None:
    quorum = commit.get("quorum")
    match commit.get("policy", "required"):
        case "required":
            return Required()
        case "all":
            return All()
        case "quorum" if isinstance(quorum, int):
            return Quorum(quorum)
        case _:
            return None


def _block(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _blocks(value: Value) -> dict[int, dict[str, Value]]:
    items = value if isinstance(value, list) else []
    return {number: item for number, item in enumerate(items) if isinstance(item, dict)}
