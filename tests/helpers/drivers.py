"""Drivers of the memories that come with pagesim; paged memory is compared with the plain one all the way."""

from naive_blocks import NaiveBlocks

from pagesim.core.block_manager import BlockManager
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.practice.driver import LONGEST, Driver


class BesideNaive:
    """Meets ``KVCacheManager``: every command goes to both, and what they return must be the same."""

    can_share = True

    def __init__(self, memory: BlockManager, naive: NaiveBlocks):
        self.memory, self.naive = memory, naive
        self.geometry, self.can_cache, self.can_swap = (
            memory.geometry,
            memory.can_cache,
            memory.can_swap,
        )
        self.pool, self.host_pool, self.index = memory.pool, memory.host_pool, memory.index
        for question in (
            "cached_tokens",
            "admission",
            "never_fits",
            "can_extend",
            "swap_size",
            "table",
            "usage",
        ):
            setattr(self, question, getattr(memory, question))

    def allocate(self, seq, content, room):
        grant = self.memory.allocate(seq, content, room)
        tokens = [*content.prompt, *content.outputs]
        expected = self.naive.allocate(seq, tokens, content.seed, "", content.reads_cache, room)
        return same("the grant", grant, expected)

    def extend(self, seq, to):
        return same("the grant", self.memory.extend(seq, to), self.naive.extend(seq, to))

    def publish(self, seq, content, num_tokens):
        published = self.memory.publish(seq, content, num_tokens)
        tokens = [*content.prompt, *content.outputs]
        expected = self.naive.publish(seq, tokens, content.seed, "", num_tokens)
        return same("what is published", list(published), expected)

    def withdraw(self, seq, num_tokens):
        withdrawn = self.memory.withdraw(seq, num_tokens)
        return same("what is withdrawn", list(withdrawn), self.naive.withdraw(seq, num_tokens))

    def fork(self, parent, child, num_tokens):
        fork = self.memory.fork(parent, child, num_tokens)
        same("the fork", tuple(fork), self.naive.fork(parent, child, num_tokens))
        return fork

    def swap_out(self, unit):
        return same("the swap", self.memory.swap_out(unit), self.naive.swap_out(unit))

    def swap_in(self, targets, keep_free):
        swap = self.memory.swap_in(targets, keep_free)
        return same("the swap", swap, self.naive.swap_in(targets, keep_free))

    def free(self, seq):
        return same("what is released", list(self.memory.free(seq)), self.naive.free(seq))

    def reset_cache(self):
        return same("the reset", self.memory.reset_cache(), self.naive.reset_cache())

    def compare_all(self, seqs, probes):
        naive, manager = self.naive, self.memory
        queue = list(manager.pool.free_queue())
        same("the free queue", queue, naive.free_queue)
        host_queue = [naive.num_blocks + block for block in manager.host_pool.free_queue()]
        same("the host queue", host_queue, naive.host_queue)
        tables = {seq: list(manager.table(seq)) for seq in seqs}
        same("tables", tables, {s: h.blocks for s, h in naive.holdings.items()})
        counts = [naive.count(block) for block in range(naive.num_blocks)]
        same("counts", manager.pool.ref_counts, counts)
        keyed = [block for block, key in enumerate(manager.index.keys) if key is not None]
        same("cached blocks", keyed, sorted(naive.cached_blocks()))
        cached = sum(block in queue for block in keyed)
        usage = (naive.num_blocks - len(queue), len(queue), cached, len(queue))
        same("usage", manager.usage()[:4], usage)
        for probe in probes:
            content = probe.content
            expected = naive.hits(list(probe.tokens), content.seed, "", content.reads_cache)
            same(f"a lookup of {probe.tokens}", manager._hits(content), expected)


class OracleDriver(Driver):
    """Compares everything after every operation, too."""

    def check(self):
        super().check()
        self.manager.compare_all(self.held, self.probes)


def same(what, got, expected):
    """``got``, if it is as expected. What a law says comes first: this is for what the rules decide."""
    assert plain(got) == plain(expected), (
        f"oracle: {what} is {got}, and {expected} by the plain manager"
    )
    return got


def plain(value):
    """Lists and tuples made alike."""
    return tuple([plain(v) for v in value]) if isinstance(value, list | tuple) else value


def paged_driver(
    num_blocks, block_size, *, caching=True, keep_unkeyed_first=True, num_host_blocks=5
):
    manager = BlockManager(
        num_blocks,
        block_size,
        prefix_caching=caching,
        keep_unkeyed_first=keep_unkeyed_first,
        num_host_blocks=num_host_blocks,
    )
    naive = NaiveBlocks(num_blocks, block_size, caching, keep_unkeyed_first, num_host_blocks)
    return OracleDriver(BesideNaive(manager, naive))


def contiguous_driver(num_slots, placer="first-fit", reservation="oracle"):
    rule = RESERVATIONS[reservation](LONGEST)
    manager = ContiguousManager(PLACERS[placer](num_slots), rule, reservation)
    return Driver(manager, longest=LONGEST)
