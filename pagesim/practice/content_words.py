"""The law *content*, and what to say of it: whose K and V lie where a sequence's own should.

Knows nothing about who plays.
"""

from collections.abc import Mapping, Sequence

from pagesim.core import laws
from pagesim.core.errors import LawBrokenError
from pagesim.core.memory import KVCacheManager
from pagesim.core.shadow import Prefixes, PrefixId, ShadowMemory
from pagesim.core.types import SeqId
from pagesim.practice.block_book import broken


def check_content(
    manager: KVCacheManager,
    shadow: ShadowMemory,
    prefixes: Prefixes,
    paths: Mapping[SeqId, Sequence[PrefixId]],
) -> None:
    """As ``laws.check_content``; the sentence names tokens, not numbers of prefixes."""
    try:
        laws.check_content(manager, shadow, paths)
    except LawBrokenError:
        for seq, path in paths.items():
            _say(manager, shadow, prefixes, seq, path)
        raise


def _say(
    manager: KVCacheManager,
    shadow: ShadowMemory,
    prefixes: Prefixes,
    seq: SeqId,
    path: Sequence[PrefixId],
) -> None:
    table, block_size = manager.table(seq), manager.geometry.block_size
    for position, own in enumerate(path[: len(table) * block_size]):
        found = shadow.read(table, position)
        if found != own:
            there = "nothing was ever written" if found is None else f"{_named(prefixes, found)} is"
            broken(
                "content",
                f"sequence {seq} reads its position {position} in block {table[position // block_size]}, slot "
                f"{shadow.slot(table, position)}, where {there}; its own is {_named(prefixes, own)}",
            )


def _named(prefixes: Prefixes, prefix: PrefixId) -> str:
    *before, token = prefixes.tokens(prefix)
    return f"token {token} after {before}" if before else f"token {token} at the very start"
