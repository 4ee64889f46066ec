"""Contents as data, pairs of them that differ in one thing, and how a learner's content is made and asked."""

from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.exercise import Fault
from pagesim.practice.learner import Learner, Subject, items, wholes
from pagesim.practice.reading import shown
from pagesim.replay.phrases import counted

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


# -- pairs whose keys of one block are never equal ------------------------------------------------------------

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


# -- calling -------------------------------------------------------------------------------------------------


def make(learner: Learner, variable: str, made: Made) -> Subject:
    options = {
        name: text for name, text in (("salt", made.salt), ("adapter", made.adapter)) if text
    }
    return learner.make(variable, "Content", made.tokens, made.size, **options)


def keys_of(content: Subject) -> list[bytes]:
    """What keys() gives. It is written down with the first digits of each key."""
    given = items(content.call("keys"), "what keys() gave")
    keys = [read_key(at, key) for at, key in enumerate(given)]
    told = ", ".join([f"{key.hex()[: 2 * DIGITS]}.." for key in keys])
    content.learner.lines[-1] = (
        f"{content.variable}.keys()  # gave {counted(len(keys), 'key')}: {told}"
    )
    if not keys:
        content.learner.lines[-1] = f"{content.variable}.keys()  # gave no key"
    return keys


def read_key(at: int, key: object) -> bytes:
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


def all_keys(learner: Learner, *contents: Made) -> list[list[bytes]]:
    """The keys of new contents, which are called a, b, ..."""
    names = "ab" if len(contents) > 1 else ["content"]
    return [keys_of(make(learner, name, made)) for name, made in zip(names, contents, strict=True)]


# -- looking up ------------------------------------------------------------------------------------------


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


def find(learner: Learner, lookup: Lookup) -> list[int]:
    """What find gives. Written down with names in place of keys."""
    content = make(learner, "content", Made(list(range(10, 10 + lookup.length)), lookup.size))
    given = items(content.call("keys"), "what keys() gave")
    learner.lines[-1] = "keys = content.keys()"
    there = [
        (at, read_key(at, key), block)
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


@st.composite
def lookups(draw: st.DrawFn) -> Lookup:
    size, length = draw(st.integers(1, 4)), draw(st.integers(1, 14))
    full = length // size
    ids = draw(st.permutations(range(full)))
    there = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=full, max_size=full))
    return Lookup(length, size, [b if kept else None for b, kept in zip(ids, there, strict=True)])
