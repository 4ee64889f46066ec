"""A person's own block manager for the simulator: loaded from FILE:Class, of either contract, in this process.

Knows nothing about what is run with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pagesim.core.errors import InputError, PagesimError
from pagesim.core.memory import KVCacheManager
from pagesim.practice.callers import Straight
from pagesim.practice.manager_contracts import FULL, check_constructor, contract_of
from pagesim.practice.simple_manager import SimpleManager
from pagesim.sim.plugin import load_named

FORM = "FILE:Class, such as my_manager.py:MyManager"
FORK, PREFIX_CACHE, SWAP = "fork", "prefix cache", "swap"
ABOUT = {FORK: "samples that fork", PREFIX_CACHE: "a prefix cache", SWAP: "swapping to the host"}
HOW = {
    FORK: "write fork(parent, child, num_tokens)",
    PREFIX_CACHE: "the full contract has one (can_cache, publish)",
    SWAP: "the full contract has it (can_swap, swap_out, swap_in)",
}


@dataclass(frozen=True, slots=True)
class OwnManager:
    """A class that makes memories. ``place`` is FILE:Class, as it was given."""

    place: str
    found: Callable[..., object]

    @property
    def name(self) -> str:
        """The class's."""
        return self.place.rpartition(":")[2]

    def make(self, num_blocks: int, block_size: int) -> KVCacheManager:
        """A fresh memory. Raises InputError where the class meets no contract or cannot be made."""
        name = self.name
        try:
            made = self.found(num_blocks, block_size)
        except PagesimError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
            raise InputError(
                f"{name}({num_blocks}, {block_size}) could not be made: {what}"
            ) from error
        met = contract_of(made, name)
        if met.contract == FULL:
            memory: KVCacheManager = made  # type: ignore[assignment]
            return memory
        return SimpleManager(Straight(made), num_blocks, block_size, forks=met.forks)


def load_manager(place: str) -> OwnManager:
    """Raises InputError: no file, no class, or one that cannot be made from (num_blocks, block_size)."""
    found = load_named(place, "class", FORM)
    name = place.rpartition(":")[2]
    check_constructor(found, name)
    return OwnManager(place, found)


def lacking(memory: KVCacheManager, needed: tuple[str, ...]) -> list[str]:
    """Of what is needed, what this memory does not have."""
    has = {
        FORK: memory.can_share,
        PREFIX_CACHE: memory.can_cache,
        SWAP: getattr(memory, "can_swap", False),
    }
    return [what for what in needed if not has[what]]
