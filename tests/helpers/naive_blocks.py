"""Paged memory written as plainly as can be: lists, whole token prefixes, everything looked at each time.

An oracle for ``BlockManager``: too slow to ship, too plain to be wrong in the same way. It takes tokens, not
contents: a cached block is remembered under ``(salt, adapter, every token up to its end)``.
"""

from copy import deepcopy
from dataclasses import dataclass, field

from pagesim.core.types import Copy, Grant, SwapGrant

Prefix = tuple[str, str, tuple[int, ...]]


@dataclass
class Holding:
    """``known``: how many leading blocks came from the cache or went into it."""

    blocks: list[int]
    writable: int
    known: int


@dataclass
class NaiveBlocks:
    num_blocks: int
    block_size: int
    caching: bool
    keep_unkeyed_first: bool
    num_host_blocks: int = 0
    host_queue: list[int] = field(default_factory=list)
    free_queue: list[int] = field(default_factory=list)
    holdings: dict[int, Holding] = field(default_factory=dict)
    cache: list[tuple[int, Prefix]] = field(default_factory=list)  # in order of registration

    def __post_init__(self):
        self.free_queue = list(range(self.num_blocks))
        self.host_queue = [self.num_blocks + n for n in range(self.num_host_blocks)]

    # -- questions -----------------------------------------------------------------------------------

    def count(self, block):
        return sum(block in holding.blocks for holding in self.holdings.values())

    def cached_blocks(self):
        return [block for block, _ in self.cache]

    def whole_blocks(self, length):
        return (length + self.block_size - 1) // self.block_size

    def hits(self, tokens, salt, adapter, reads_cache):
        found: list[int] = []
        while self.caching and reads_cache:
            end = (len(found) + 1) * self.block_size
            if end > len(tokens) - 1:  # the last token is always computed
                break
            prefix = (salt, adapter, tuple(tokens[:end]))
            holders = [block for block, held in self.cache if held == prefix]
            if not holders:
                break
            found.append(holders[0])
        return found

    # -- commands ------------------------------------------------------------------------------------

    def allocate(self, seq, tokens, salt, adapter, reads_cache, room):
        hits = self.hits(tokens, salt, adapter, reads_cache)
        needed = max(self.whole_blocks(max(room.now, room.present)) - len(hits), 0)
        free_hits = [block for block in hits if block in self.free_queue]
        if needed + len(free_hits) + room.keep_free > len(self.free_queue):
            return None
        for block in free_hits:
            self.free_queue.remove(block)
        taken, evicted = self.take(max(self.whole_blocks(room.now) - len(hits), 0))
        blocks = hits + taken
        writable = len(blocks) * self.block_size
        self.holdings[seq] = Holding(blocks, writable, len(hits))
        return Grant(
            writable,
            taken,
            tuple(hits),
            evicted,
            cached_tokens=len(hits) * self.block_size,
        )

    def extend(self, seq, to):
        holding = self.holdings[seq]
        if to <= holding.writable:
            return Grant(holding.writable)
        position, filled = divmod(holding.writable, self.block_size)
        is_shared = filled > 0 and self.count(holding.blocks[position]) > 1
        more = max(self.whole_blocks(to) - len(holding.blocks), 0)
        if more + is_shared > len(self.free_queue):
            return None
        taken, evicted = self.take(more + is_shared)
        dropped, copies = (), ()
        if is_shared:
            old, new = holding.blocks[position], taken[0]
            holding.blocks[position] = new
            holding.known = min(holding.known, position)
            dropped, copies = (old,), (Copy(old, new, filled),)
        holding.blocks += taken[is_shared:]
        holding.writable = len(holding.blocks) * self.block_size
        return Grant(holding.writable, taken, (), evicted, dropped, copies)

    def take(self, number):
        taken, self.free_queue = self.free_queue[:number], self.free_queue[number:]
        evicted = [block for block in taken if block in self.cached_blocks()]
        self.cache = [entry for entry in self.cache if entry[0] not in evicted]
        return taken, evicted

    def publish(self, seq, tokens, salt, adapter, num_tokens):
        holding = self.holdings[seq]
        published = []
        for position in range(holding.known, num_tokens // self.block_size if self.caching else 0):
            holding.known = position + 1
            block = holding.blocks[position]
            if block not in self.cached_blocks():
                end = (position + 1) * self.block_size
                self.cache.append((block, (salt, adapter, tuple(tokens[:end]))))
                published.append(block)
        return published

    def withdraw(self, seq, num_tokens):
        holding = self.holdings[seq]
        first = num_tokens // self.block_size
        withdrawn = [b for b in holding.blocks[first : holding.known] if b in self.cached_blocks()]
        self.cache = [entry for entry in self.cache if entry[0] not in withdrawn]
        holding.known = min(holding.known, first)
        return withdrawn

    def fork(self, parent, child, num_tokens):
        source = self.holdings[parent]
        shared = source.blocks[: self.whole_blocks(num_tokens)]
        known = min(source.known, num_tokens // self.block_size)
        self.holdings[child] = Holding(shared, num_tokens, known)
        if num_tokens % self.block_size:
            source.writable = min(source.writable, num_tokens)
        return Grant(num_tokens, shared=tuple(shared)), source.writable

    def swap_out(self, unit):
        """Each block that holds some of the tokens goes to a host block of its own, once."""
        slots = {}
        for seq, length in unit:
            for position in range(length):
                block = self.holdings[seq].blocks[position // self.block_size]
                slots[block] = max(slots.get(block, 0), position % self.block_size + 1)
        if len(slots) > len(self.host_queue):
            return None
        hosts = {block: self.host_queue.pop(0) for block in slots}
        tables = []
        for seq, length in unit:
            blocks = self.holdings[seq].blocks[: self.whole_blocks(length)]
            self.free(seq)
            self.holdings[seq] = Holding([hosts[block] for block in blocks], length, 0)
            tables.append((seq, tuple(self.holdings[seq].blocks)))
        copies = tuple(Copy(block, hosts[block], number) for block, number in slots.items())
        return SwapGrant(tuple(tables), copies)

    def swap_in(self, targets, keep_free):
        """Tried on a copy of everything: does it fit, and could all then be extended?"""
        trial = deepcopy(self)
        done = trial.bring_back([seq for seq, _ in targets])
        if done is None:
            return None
        after = deepcopy(trial)
        if any(after.extend(seq, to) is None for seq, to in targets):
            return None
        if len(after.free_queue) < keep_free:
            return None
        self.__dict__.update(trial.__dict__)
        return done

    def bring_back(self, seqs):
        slots = {}
        for seq in seqs:
            for position in range(self.holdings[seq].writable):
                block = self.holdings[seq].blocks[position // self.block_size]
                slots[block] = max(slots.get(block, 0), position % self.block_size + 1)
        if len(slots) > len(self.free_queue):
            return None
        taken, evicted = self.take(len(slots))
        new = dict(zip(slots, taken, strict=True))
        tables = []
        for seq in seqs:
            holding = self.holdings[seq]
            self.free(seq)
            blocks = [new[block] for block in holding.blocks]
            self.holdings[seq] = Holding(blocks, holding.writable, 0)
            tables.append((seq, tuple(blocks)))
        copies = tuple(Copy(block, new[block], number) for block, number in slots.items())
        return SwapGrant(tuple(tables), copies, evicted)

    def free(self, seq):
        blocks = self.holdings.pop(seq).blocks
        released = [block for block in reversed(blocks) if not self.count(block)]
        if blocks and blocks[0] >= self.num_blocks:
            self.host_queue += released
            return released
        keyed = [block for block in released if block in self.cached_blocks()]
        plain = [block for block in released if block not in keyed]
        if self.keep_unkeyed_first:
            self.free_queue = plain + self.free_queue + keyed
        else:
            self.free_queue += released
        return released

    def reset_cache(self):
        if any(block < self.num_blocks for h in self.holdings.values() for block in h.blocks):
            return False
        self.cache = []
        return True
