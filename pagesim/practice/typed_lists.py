"""Lists as people type them: with spaces, commas, brackets, "and", and names before or behind the numbers.

Knows nothing about answers.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

NOTHING = ("none", "nothing", "empty", "nobody", "-", "[]", "()")
BETWEEN = ("and", "then", "&")
MOST_CHARACTERS = 10_000


def listed(typed: str) -> list[str] | None:
    """Words between spaces, commas, brackets, "and"; empty for a word that says so; ``None``: nothing was typed."""
    text = typed.strip()
    if not text or len(text) > MOST_CHARACTERS:
        return None
    if text.casefold() in NOTHING:
        return []
    parts = re.sub(r"[\s,;\[\]()]+", " ", text).split()
    return [part for part in parts if part.casefold() not in BETWEEN]


def words_of(*texts: str) -> frozenset[str]:
    """The words of texts, singular and plural: "block ids" gives block, blocks, id and ids."""
    words = [word for text in texts for word in re.findall("[a-z]+", text.casefold())]
    single = [word.removesuffix("s") for word in words]
    return frozenset((*words, *single, *(f"{word}s" for word in single)))


def by_name(parts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Parts, each of which a name stands before or behind, in the order of the names; else as they are.

    ``internal 51 reserved 9`` is ``9 51`` where the names are reserved and internal.
    """
    known = [words_of(name) for name in names]
    places = [[at for at, words in enumerate(known) if part.casefold() in words] for part in parts]
    labels = [at[0] for at in places if len(at) == 1]
    values = [part for part, at in zip(parts, places, strict=True) if not at]
    turns = [bool(at) for at in places]
    alternate = all(one is not other for one, other in pairwise(turns))
    if not alternate or sorted(labels) != list(range(len(names))) or len(values) != len(names):
        return list(parts)
    return [value for _, value in sorted(zip(labels, values, strict=True))]
