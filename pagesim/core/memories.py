"""Memories by name, and the settings that one is made from: for the simulator and the engine alike.

Literal tables; knows nothing about running.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pagesim.core.block_manager import BlockManager
from pagesim.core.buddy import Buddy
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.errors import InputError
from pagesim.core.memory import KVCacheManager
from pagesim.core.placers import BestFit, FirstFit, Placer
from pagesim.core.reservations import (
    Reservation,
    ReserveExact,
    ReserveMax,
    ReservePowerOfTwo,
)

MOST_BLOCKS = 10_000_000
PLACERS: dict[str, Callable[[int], Placer]] = {
    "buddy": Buddy,
    "first-fit": FirstFit,
    "best-fit": BestFit,
}
RESERVATIONS: dict[str, Callable[[int], Reservation]] = {
    "max": ReserveMax,
    "pow2": ReservePowerOfTwo,
    "oracle": ReserveExact,
}


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The memory of a run: ``num_slots`` token slots, in blocks of ``block_size`` if paged.

    ``host_slots`` more lie on the host for swapping; only paged memory uses them.
    """

    num_slots: int
    block_size: int = 16
    max_model_len: int = 2048
    placer: str = "buddy"
    prefix_caching: bool = False
    keep_unkeyed_first: bool = True
    host_slots: int = 0


def build_memory(
    allocator: str, settings: MemorySettings, free_order: Sequence[int] | None = None
) -> KVCacheManager:
    """A fresh manager; ``free_order`` is a paged memory's first free queue.

    Raises InputError for an unknown name, or a memory smaller than one block.
    """
    if settings.block_size < 1:
        raise InputError(f"block size {settings.block_size} was given; it must be 1 or more")
    if allocator == "paged":
        num_blocks = settings.num_slots // settings.block_size
        if num_blocks < 1:
            raise InputError(
                f"a KV memory of {settings.num_slots} tokens is smaller than one block of {settings.block_size}; "
                "give it more memory or a smaller block size"
            )
        for slots, where in ((settings.num_slots, "KV"), (settings.host_slots, "host")):
            if slots // settings.block_size > MOST_BLOCKS:
                raise InputError(
                    f"a {where} memory of {slots:,} tokens is {slots // settings.block_size:,} blocks of "
                    f"{settings.block_size}; at most {MOST_BLOCKS:,} are simulated: give it less memory or larger "
                    "blocks"
                )
        return BlockManager(
            num_blocks,
            settings.block_size,
            prefix_caching=settings.prefix_caching,
            keep_unkeyed_first=settings.keep_unkeyed_first,
            free_order=free_order,
            num_host_blocks=settings.host_slots // settings.block_size,
        )
    if settings.num_slots < 1:
        raise InputError("the KV memory holds not even one token; give it more memory")
    reservation = known(allocator, RESERVATIONS, "allocator", ("paged",))(settings.max_model_len)
    placer = known(settings.placer, PLACERS, "placer")(settings.num_slots)
    return ContiguousManager(placer, reservation, allocator)


T = TypeVar("T")


def known(name: str, table: dict[str, T], what: str, others: tuple[str, ...] = ()) -> T:
    found = table.get(name)
    if found is None:
        raise InputError(f"{name!r} is no {what}; the {what}s are {', '.join((*others, *table))}")
    return found
