"""The laws of prefix hashing, and how a broken one is told."""

from collections.abc import Sequence

from pagesim.practice.drawing import for_all, for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner
from pagesim.practice.reading import shown
from pagesim.replay.phrases import counted
from pagesim_lessons.exercises.prefix_hashing.script import (
    OWN,
    PARENTS,
    SALTS,
    Lookup,
    Made,
    Twins,
    all_keys,
    find,
    keys_of,
    lookups,
    make,
    pairs,
)

LEAST_BYTES = 16


# -- keys ----------------------------------------------------------------------------------------------------


def digest(learner: Learner) -> None:
    """Bytes, enough of them, as many for each block, and not of hash()."""
    used: list[object] = []

    def spy(value: object) -> int:
        used.append(value)
        return hash(value)

    def examine(made: Made) -> None:
        (keys,) = all_keys(learner, made)
        if used:
            raise Fault(
                f"keys() calls Python's hash() with {shown(used[0])}: for a text its value differs from process to "
                "process, and collisions are easily made"
            )
        lengths = [len(key) for key in keys]
        for at, length in enumerate(lengths):
            if length != lengths[0]:
                raise Fault(
                    f"key 0 has {lengths[0]} bytes and key {at} has {length}: a digest is as long for one block as for "
                    "another, however many come before it"
                )
        if lengths and lengths[0] < LEAST_BYTES:
            raise Fault(
                f"a key has {counted(lengths[0], 'byte')}, and a digest has at least {LEAST_BYTES}: with fewer, "
                "different blocks soon get equal keys"
            )

    names = vars(learner.module)
    own = "hash" in names
    if not own:
        names["hash"] = spy
    try:
        for_each(learner, [Made([5, 8, 7, 9, 1, 1], 2), Made([5, 8, 7], 2, "s", "x")], examine)
    finally:
        if not own:
            names.pop("hash", None)


def full_blocks(learner: Learner) -> None:
    def examine(made: Made) -> None:
        (keys,) = all_keys(learner, made)
        count, rest = divmod(len(made.tokens), made.size)
        if len(keys) == count:
            return
        fill = f"{counted(len(made.tokens), 'token')} fill {counted(count, 'block')} of {made.size}"
        if len(keys) > count and rest:
            raise Fault(
                f"{fill}, and keys() gave {counted(len(keys), 'key')}: block {count} has {rest} of {made.size} "
                "tokens, and what is not full has no key"
            )
        raise Fault(f"{fill}, so there are as many keys, and keys() gave {len(keys)}")

    lengths = (5, 4, 8, 3, 1, 9, 11)
    for_each(learner, [Made(list(range(10, 10 + n)), 4) for n in lengths], examine)


def same(learner: Learner) -> None:
    """Made alike, equal keys."""

    def examine(made: Made) -> None:
        one, other = all_keys(learner, made, made)
        for at, (key, again) in enumerate(zip(one, other, strict=False)):
            if key != again:
                raise Fault(
                    f"a and b are made alike, and their keys of block {at} differ: a key depends on tokens, salt and "
                    "adapter only"
                )

    for_each(learner, [Made([7, 8, 9, 1], 2), Made([7, 8], 1, "s", "x")], examine)


def grown(learner: Learner) -> None:
    """keys() between appends: what is known of a full block stays, and new blocks come."""

    def examine(case: tuple[int, int, int]) -> None:
        start, more, size = case
        content = make(learner, "content", Made(list(range(10, 10 + start)), size))
        before = keys_of(content)
        for token in range(more):
            content.call("append", 50 + token)
            keys = keys_of(content)
            _compare_grown(before, keys, start + token + 1, size)
            before = keys
        tokens = [*range(10, 10 + start), *range(50, 50 + more)]
        fresh = keys_of(make(learner, "fresh", Made(tokens, size)))
        for at, (key, right) in enumerate(zip(before, fresh, strict=False)):
            if key != right:
                raise Fault(
                    f"block {at} of content has another key than block {at} of fresh, which has the same "
                    f"{len(tokens)} tokens from its beginning: was the key made before the block was full?"
                )

    for_each(learner, [(1, 1, 2), (2, 2, 2), (3, 3, 2), (3, 6, 3)], examine)


def _compare_grown(before: list[bytes], keys: list[bytes], length: int, size: int) -> None:
    full = length // size
    if len(keys) < full and len(before) == len(keys):
        raise Fault(
            f"content has {counted(length, 'token')} now, so {counted(full, 'block')} of {size} "
            f"{'is' if full == 1 else 'are'} full, and keys() gave the old {counted(len(keys), 'key')} once more: keys "
            "that are kept must be added to when a block becomes full"
        )
    if len(keys) != full:
        raise Fault(
            f"content has {counted(length, 'token')} now, which fill {counted(full, 'block')} of {size}, and keys() "
            f"gave {counted(len(keys), 'key')}"
        )
    for at, (old, new) in enumerate(zip(before, keys, strict=False)):
        if old != new:
            raise Fault(
                f"with token {length} block {at} gets another key: it was full before, and what is full does not "
                "change any more"
            )


def _never_equal(cases: Sequence[Twins], learner: Learner) -> None:
    def examine(twins: Twins) -> None:
        one, other, at, why = twins
        a, b = all_keys(learner, one, other)
        if at < min(len(a), len(b)) and a[at] == b[at]:
            raise Fault(
                f"block {at} of a, tokens {one.block(at)}{_with(one, other)}, and block {at} of b, tokens "
                f"{other.block(at)}{_with(other, one)}, have equal keys: {why}"
            )

    for_each(learner, cases, examine)


def _with(made: Made, other: Made) -> str:
    return f" with {made.named()}" if made[2:] != other[2:] else ""


def tokens_count(learner: Learner) -> None:
    _never_equal(OWN, learner)


def parent(learner: Learner) -> None:
    _never_equal(PARENTS, learner)


def salt(learner: Learner) -> None:
    _never_equal(SALTS, learner)


def exactly(learner: Learner) -> None:
    def examine(pair: tuple[Made, Made]) -> None:
        one, other = pair
        a, b = all_keys(learner, one, other)
        for at in range(min(one.num_full, other.num_full, len(a), len(b))):
            stop = (at + 1) * one.size
            alike = one.tokens[:stop] == other.tokens[:stop] and one[2:] == other[2:]
            if alike and a[at] != b[at]:
                raise Fault(
                    f"a and b have the same first {stop} tokens, salt and adapter, and their keys of block {at} differ"
                )
            if not alike and a[at] == b[at]:
                first = next((i for i in range(stop) if one.tokens[i] != other.tokens[i]), None)
                where = "salt or adapter differ" if first is None else f"token {first} differs"
                raise Fault(f"block {at} of a and of b have equal keys, and {where}")

    for_all(learner, pairs(), examine)


# -- looking up ----------------------------------------------------------------------------------------------


def unbroken(learner: Learner) -> None:
    def examine(lookup: Lookup) -> None:
        found = find(learner, lookup)
        if found == lookup.right:
            return
        miss = lookup.blocks.index(None) if None in lookup.blocks else len(lookup.blocks)
        if len(found) < len(lookup.right) and 0 in lookup.right:
            raise Fault(
                f"find gave {found}, and {lookup.right} are there: block 0 is a block like any other"
            )
        if found and found == lookup.right[: len(found)]:
            raise Fault(f"find gave {found} only, and the index has {lookup.right} for the keys")
        if len(found) > len(lookup.right):
            raise Fault(
                f"the index does not have key {miss}, so what is found ends there, with "
                f"{lookup.right}, and find gave {found}: without block {miss} what comes after it is of no use"
            )
        raise Fault(f"find gave {found}, and the blocks are {lookup.right}")

    cases = [
        Lookup(9, 2, [6, 5]),
        Lookup(9, 2, [4, 0, 3]),
        Lookup(9, 2, [7, None, 3]),
        Lookup(9, 2, [None, 8, 3]),
        Lookup(9, 2, []),
    ]
    for_each(learner, cases, examine)


def last_token(learner: Learner) -> None:
    def examine(lookup: Lookup) -> None:
        found, right = find(learner, lookup), lookup.right
        cached = lookup.size * len(found)
        if len(found) > len(right):
            raise Fault(
                f"find gave {found}, so {cached} of {lookup.length} tokens would not be computed, and the last one "
                f"always is: the next word comes out of it; right is {right}"
            )
        if len(found) < len(right):
            raise Fault(
                f"find gave {found}, so only {cached} of {lookup.length} tokens are found, and {right} may be used: "
                "tokens to compute are left all the same"
            )

    cases = [
        Lookup(8, 4, [3, 7]),
        Lookup(9, 4, [3, 7]),
        Lookup(7, 3, [1, 2]),
        Lookup(4, 4, [5]),
        Lookup(3, 1, [2, 4, 6]),
    ]
    for_each(learner, cases, examine)


def found_all(learner: Learner) -> None:
    def examine(lookup: Lookup) -> None:
        found = find(learner, lookup)
        if found != lookup.right:
            raise Fault(
                f"of {counted(lookup.length, 'token')} in blocks of {lookup.size}, {lookup.right} are found, and find "
                f"gave {found}"
            )

    for_all(learner, lookups(), examine)


EXERCISE = Exercise(
    name="prefix-hashing",
    title="Keys that name a whole prefix",
    lesson=7,
    names=("Content",),
    hints=(
        (
            "Go through the full blocks from the first, and carry one thing along: the key of the block before. What "
            "must be carried along before there is a block?"
        ),
        (
            "A digest is made of bytes. Turn a block's token ids into bytes so that no two lists become the same ones: "
            "with something between the numbers, or with as many bytes for each. The parent's digest stands before "
            "them. In find there are two limits: the first key that is missing, and the last token."
        ),
        (
            "repr() of a list, encoded, will do for the tokens; the same of the pair of salt and adapter, hashed, is "
            "the first block's parent. The number of full blocks is the length divided by the block size, rounded "
            "down. In find, leave out one token before you divide."
        ),
    ),
    checks=(
        Check(
            "digest",
            "a key is a digest: bytes, as many for each block, the same in every process",
            digest,
        ),
        Check("full-blocks", "each full block has a key, and only full ones", full_blocks),
        Check("same", "equal tokens, salt and adapter make equal keys", same),
        Check(
            "grown", "a block gets its key when it becomes full, and keeps it from then on", grown
        ),
        Check(
            "tokens", "a key depends on every token of its block, and on their order", tokens_count
        ),
        Check("parent", "a key depends on everything before its block", parent),
        Check("salt", "salt and adapter are in the keys of all blocks", salt),
        Check(
            "exactly",
            "two blocks have equal keys exactly if everything up to their end is equal",
            exactly,
        ),
        Check("unbroken", "what is found is an unbroken run of blocks from the first", unbroken),
        Check("last-token", "at least one token is left to compute", last_token),
        Check("found", "within these limits all that is there is found", found_all),
    ),
)
