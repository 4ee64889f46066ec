"""The laws of prefix hashing, and how a broken one is told."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.drawing import for_all, for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, Subject, items, wholes
from pagesim.practice.reading import shown
from pagesim.replay.phrases import counted

LEAST_BYTES = 16
DIGITS = 4
"""So many bytes of a key are shown."""


class Made(NamedTuple):
    """How a content is made."""

    tokens: list[int]
    size: int
    salt: str = ""
    adapter: str = ""

    @property
    def num_full(self) -> int:
        return len(self.tokens) // self.size

    def block(self, at: int) -> list[int]:
        return self.tokens[at * self.size : (at + 1) * self.size]

    def named(self) -> str:
        """Its salt and adapter, in words."""
        salt = f"salt {self.salt!r}" if self.salt else "no salt"
        return f"{salt} and {f'adapter {self.adapter!r}' if self.adapter else 'no adapter'}"


class Twins(NamedTuple):
    """Two contents, and what it may be if the keys of block ``at`` are equal."""

    one: Made
    other: Made
    at: int
    why: str


# -- calling -------------------------------------------------------------------------------------------------


def _make(learner: Learner, variable: str, made: Made) -> Subject:
    options = {
        name: text for name, text in (("salt", made.salt), ("adapter", made.adapter)) if text
    }
    return learner.make(variable, "Content", made.tokens, made.size, **options)


def _keys(content: Subject) -> list[bytes]:
    """What keys() gives. It is written down with the first digits of each key."""
    given = items(content.call("keys"), "what keys() gave")
    keys = [_key(at, key) for at, key in enumerate(given)]
    told = ", ".join([f"{key.hex()[: 2 * DIGITS]}.." for key in keys])
    content.learner.lines[-1] = (
        f"{content.variable}.keys()  # gave {counted(len(keys), 'key')}: {told}"
    )
    if not keys:
        content.learner.lines[-1] = f"{content.variable}.keys()  # gave no key"
    return keys


def _key(at: int, key: object) -> bytes:
    wanted = "and a key is bytes, a digest of what the block holds"
    if isinstance(key, str):
        raise Fault(
            f"key {at} is the text {shown(key)}, and a key is bytes: digest(), not hexdigest()",
            law="digest",
        )
    if isinstance(key, int):
        raise Fault(
            f"key {at} is the number {key}, {wanted}; is it of Python's hash()?", law="digest"
        )
    if not isinstance(key, bytes | bytearray):
        raise Fault(f"key {at} is {shown(key)}, {wanted}", law="digest")
    return bytes(key)


def _all_keys(learner: Learner, *contents: Made) -> list[list[bytes]]:
    """The keys of new contents, which are called a, b, ..."""
    names = "ab" if len(contents) > 1 else ["content"]
    return [_keys(_make(learner, name, made)) for name, made in zip(names, contents, strict=True)]


# -- keys ----------------------------------------------------------------------------------------------------


def digest(learner: Learner) -> None:
    """Bytes, enough of them, as many for each block, and not of hash()."""
    used: list[object] = []

    def spy(value: object) -> int:
        used.append(value)
        return hash(value)

    def examine(made: Made) -> None:
        (keys,) = _all_keys(learner, made)
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
        (keys,) = _all_keys(learner, made)
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
        one, other = _all_keys(learner, made, made)
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
        content = _make(learner, "content", Made(list(range(10, 10 + start)), size))
        before = _keys(content)
        for token in range(more):
            content.call("append", 50 + token)
            keys = _keys(content)
            _compare_grown(before, keys, start + token + 1, size)
            before = keys
        tokens = [*range(10, 10 + start), *range(50, 50 + more)]
        fresh = _keys(_make(learner, "fresh", Made(tokens, size)))
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


OWN = (
    Twins(Made([5, 6], 2), Made([5, 9], 2), 0, "their last token differs"),
    Twins(Made([5, 6], 2), Made([8, 6], 2), 0, "their first token differs"),
    Twins(Made([5, 6], 2), Made([6, 5], 2), 0, "the order counts, too"),
    Twins(
        Made([1, 23], 2),
        Made([12, 3], 2),
        0,
        "are the numbers written one behind the other, with nothing between them?",
    ),
    Twins(Made([7, 260], 2), Made([7, 4], 2), 0, "is only the last byte of each number used?"),
    Twins(
        Made([7, 65_540], 2),
        Made([7, 4], 2),
        0,
        "are only the last two bytes of each number used?",
    ),
)
PARENTS = (
    Twins(
        Made([1, 2, 5, 6], 2),
        Made([3, 4, 5, 6], 2),
        1,
        "what comes before them differs, and K and V depend on that: the parent's key must be in a block's key",
    ),
    Twins(
        Made([1, 2, 3, 4, 5, 6], 2),
        Made([9, 2, 3, 4, 5, 6], 2),
        2,
        "they differ two blocks before: the parent's *key* must be in a block's key, not only the parent's tokens",
    ),
    Twins(
        Made([1, 2, 3, 4, 5, 6], 2),
        Made([3, 4, 1, 2, 5, 6], 2),
        2,
        "the blocks before come in another order: does your way to join a key and its parent keep the order?",
    ),
)
SALTS = [
    Twins(Made([5, 6, 7, 8], 2, *one), Made([5, 6, 7, 8], 2, *other), at, why)
    for one, other, why in (
        (("red", ""), ("", ""), "with a salt, no key may be that of a content without"),
        (("red", ""), ("blue", ""), "the salts differ"),
        (("", "x"), ("", ""), "with an adapter, the same tokens have other K and V"),
        (("", "x"), ("", "y"), "the adapters differ"),
        (
            ("ab", "c"),
            ("a", "bc"),
            "are salt and adapter written one behind the other, with nothing between them?",
        ),
        (("red", ""), ("", "red"), "a salt is no adapter"),
    )
    for at in (0, 1)
]


def _never_equal(cases: Sequence[Twins], learner: Learner) -> None:
    def examine(twins: Twins) -> None:
        one, other, at, why = twins
        a, b = _all_keys(learner, one, other)
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


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Made, Made]:
    """Two contents that often begin alike."""
    size = draw(st.integers(1, 4))
    token = st.sampled_from([1, 2, 3, 12, 21, 260])
    tokens = draw(st.lists(token, min_size=1, max_size=12))
    begin = tokens[: draw(st.integers(0, len(tokens)))]
    other = begin + draw(st.lists(token, min_size=0 if begin else 1, max_size=6))
    salts, adapters = st.sampled_from(["", "s"]), st.sampled_from(["", "x"])
    one_more = (draw(salts), draw(adapters))
    same_more = draw(st.booleans())
    other_more = one_more if same_more else (draw(salts), draw(adapters))
    return Made(tokens, size, *one_more), Made(other, size, *other_more)


def exactly(learner: Learner) -> None:
    def examine(pair: tuple[Made, Made]) -> None:
        one, other = pair
        a, b = _all_keys(learner, one, other)
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


class Lookup(NamedTuple):
    """A content of ``length`` tokens, and an index that has ``blocks`` for its keys, ``None``: not this one."""

    length: int
    size: int
    blocks: list[int | None]

    @property
    def right(self) -> list[int]:
        found = []
        for block in self.blocks[: (self.length - 1) // self.size]:
            if block is None:
                break
            found.append(block)
        return found


def _find(learner: Learner, lookup: Lookup) -> list[int]:
    """What find gives. Written down with names in place of keys."""
    content = _make(learner, "content", Made(list(range(10, 10 + lookup.length)), lookup.size))
    given = items(content.call("keys"), "what keys() gave")
    learner.lines[-1] = "keys = content.keys()"
    there = [
        (at, _key(at, key), block)
        for at, (key, block) in enumerate(zip(given, lookup.blocks, strict=False))
        if block is not None
    ]
    index = {key: block for _, key, block in there}
    told = f"content.find({{{', '.join([f'keys[{at}]: {block}' for at, _, block in there])}}})"
    answer: object = None
    try:
        answer = content.call("find", index)
    finally:
        learner.lines[-1] = told
    learner.lines[-1] = f"{told}  # gave {shown(answer)}"
    return wholes(answer, "what find gave")


def unbroken(learner: Learner) -> None:
    def examine(lookup: Lookup) -> None:
        found = _find(learner, lookup)
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
        found, right = _find(learner, lookup), lookup.right
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


@st.composite
def lookups(draw: st.DrawFn) -> Lookup:
    size, length = draw(st.integers(1, 4)), draw(st.integers(1, 14))
    full = length // size
    ids = draw(st.permutations(range(full)))
    there = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=full, max_size=full))
    return Lookup(length, size, [b if kept else None for b, kept in zip(ids, there, strict=True)])


def found_all(learner: Learner) -> None:
    def examine(lookup: Lookup) -> None:
        found = _find(learner, lookup)
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
