"""Lists as people type them: with spaces, commas, brackets and "and".

Knows nothing about answers.
"""

import re

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
