"""Plays operations against any memory, and checks every law after each.

It keeps the protocol's contract as the scheduler does, and knows by its own books what each sequence has
written. Operations that make no sense are played, too: they must raise, and change nothing.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from naive_blocks import NaiveBlocks
from operations import (
    Allocate,
    Extend,
    ExtendAll,
    Fork,
    Free,
    Operation,
    Publish,
    ResetCache,
    SwapIn,
    SwapOut,
    Withdraw,
    Write,
)

from pagesim.core import laws
from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.contiguous import BeyondReservationError, ContiguousManager
from pagesim.core.errors import DuplicateSequenceError, LawBrokenError, UnknownSequenceError
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.core.memory import KVCacheManager
from pagesim.core.shadow import Prefixes, ShadowMemory
from pagesim.core.types import Admission, Room

MAX_MODEL_LEN = 24  # of contiguous reservations


@dataclass
class Held:
    """The driver's own book of one sequence. ``base``: leading tokens that others computed."""

    content: Content
    salt: str
    adapter: str
    limit: int
    written: int
    writable: int
    base: int
    on_host: bool = False

    def tokens(self):
        return list(self.content.prompt) + self.content.outputs


@dataclass
class Driver:
    """Plays operations against any manager; with ``naive`` given, against that too, comparing everything."""

    manager: KVCacheManager
    naive: NaiveBlocks | None = None
    probes: list[tuple[Content, list[int], str, str]] = field(default_factory=list)
    held: dict[int, Held] = field(default_factory=dict)

    def __post_init__(self):
        self.shadow = ShadowMemory(self.manager.geometry)
        self.prefixes = Prefixes()

    def play(self, operations):
        for operation in operations:
            self.perform(operation)
        for seq in list(self.held):
            self.perform(Free(seq))
        usage = self.manager.usage()
        if usage.granted:
            raise LawBrokenError(
                f"conservation: all are freed and {usage.granted} blocks are granted"
            )
        assert self.manager.reset_cache()

    def perform(self, operation: Operation):
        """One operation, and every law after it."""
        if isinstance(operation, Allocate) and len(self.probes) < 12:
            longer = (*operation.prompt, 0)
            probe = Content(longer, operation.salt, operation.adapter)
            self.probes.append((probe, list(longer), operation.salt, operation.adapter))
        before = self.picture()
        expected = self.error_for(operation)
        if expected is None:
            changed = self.methods[type(operation)](self, operation)
        else:
            self.must_raise(operation, expected)
            changed = False
        if not changed:
            laws.check_none_changes_nothing(before, self.picture(), str(operation))
        self.check()

    def must_raise(self, operation, expected):
        try:
            self.methods[type(operation)](self, operation)
        except expected:
            return
        self.check()  # names the law, if the command did harm
        raise LawBrokenError(f"refcount: {operation} should raise {expected.__name__}")

    def error_for(self, operation):
        match operation:
            case Allocate(seq=seq) if seq in self.held:
                return DuplicateSequenceError
            case Free(seq=seq) | Extend(seq=seq) if seq not in self.held:
                return UnknownSequenceError
            case Extend(seq=seq) | Fork(parent=seq) if seq in self.held and self.held[seq].on_host:
                return None
            case Extend(seq=seq, by=by) if not self.manager.can_share:
                if self.held[seq].written + by > MAX_MODEL_LEN:
                    return BeyondReservationError
            case Fork(parent=parent) if parent not in self.held and self.manager.can_share:
                return UnknownSequenceError
            case Fork(child=child) if child in self.held and self.manager.can_share:
                return DuplicateSequenceError
        return None

    # -- laws ------------------------------------------------------------------------------------------

    def picture(self):
        return laws.picture(self.manager, self.held, [probe[0] for probe in self.probes])

    def check(self):
        manager, held = self.manager, self.held
        laws.check_conservation(manager, held)
        laws.check_refcount(manager, held)
        spans = {seq: laws.Span(book.written, book.writable) for seq, book in held.items()}
        laws.check_single_writer(manager, spans)
        paths = {
            seq: self.prefixes.path(book.tokens()[: book.written], book.salt, book.adapter)
            for seq, book in held.items()
        }
        laws.check_content(manager, self.shadow, paths)
        for content, tokens, salt, adapter in self.probes:
            self.check_hit(content, tokens, salt, adapter)
        if self.naive is not None:
            self.compare_all()

    def check_hit(self, content, tokens, salt, adapter):
        """What a lookup finds must hold the right content, though nobody may hold it now."""
        cached = self.manager.cached_tokens(content)
        if not cached:
            return
        manager = getattr(self.manager, "memory", self.manager)  # one that is only recorded
        assert isinstance(manager, BlockManager)
        blocks = manager._hits(content)
        path = self.prefixes.path(tokens[:cached], salt, adapter)
        found = [self.shadow.read(blocks, position) for position in range(cached)]
        if found != path:
            raise LawBrokenError(f"content: a lookup of {tokens} finds {cached} tokens in {blocks}")

    def compare(self, what, got, expected):
        got, expected = plain(got), plain(expected)
        assert got == expected, f"oracle: {what} is {got}, and {expected} by the plain manager"

    def compare_all(self):
        naive, manager = self.naive, self.manager
        assert isinstance(manager, BlockManager)
        assert naive is not None
        queue = list(manager.pool.free_queue())
        self.compare("the free queue", queue, naive.free_queue)
        tables = {seq: list(manager.table(seq)) for seq in self.held}
        self.compare(
            "the host queue",
            [naive.num_blocks + b for b in manager.host_pool.free_queue()],
            naive.host_queue,
        )
        self.compare("tables", tables, {s: h.blocks for s, h in naive.holdings.items()})
        counts = [naive.count(block) for block in range(naive.num_blocks)]
        self.compare("counts", manager.pool.ref_counts, counts)
        keyed = [block for block, key in enumerate(manager.index.keys) if key is not None]
        self.compare("cached blocks", keyed, sorted(naive.cached_blocks()))
        cached = sum(block in queue for block in keyed)
        self.compare(
            "usage",
            manager.usage()[:4],
            (naive.num_blocks - len(queue), len(queue), cached, len(queue)),
        )
        for content, tokens, salt, adapter in self.probes:
            expected = naive.hits(tokens, salt, adapter, content.reads_cache)
            self.compare(f"a lookup of {tokens}", manager._hits(content), expected)

    # -- one function an operation; each says whether anything was changed --------------------------------

    def _allocate(self, op: Allocate):
        content = Content(op.prompt, op.salt, op.adapter, reads_cache=op.reads_cache)
        if op.seq in self.held:
            return self.manager.allocate(op.seq, content, Room(1, 1, 2)) is not None
        return self.start(op.seq, content, op)

    def start(self, seq, content, op):
        manager = self.manager
        cached = manager.cached_tokens(content)
        length = len(content)
        limit = min(len(op.prompt) + op.more, MAX_MODEL_LEN)
        now = min(cached + op.now, length)
        room = Room(
            now=now,
            present=length if op.gate else now,
            limit=max(limit, length + 1),
            final=max(limit, length) if op.known else None,
            keep_free=op.keep_free,
        )
        admission = manager.admission(content, room)
        never = manager.never_fits(content, room)
        assert (never is not None) == (admission is Admission.NEVER)
        grant = manager.allocate(seq, content, room)
        if (
            admission is not Admission.NEVER
        ):  # an empty memory may hold what is asked now, not all to come
            assert (grant is not None) == (admission is Admission.NOW)
        if self.naive is not None:
            tokens = [*content.prompt, *content.outputs]
            expected = self.naive.allocate(
                seq, tokens, op.salt, op.adapter, content.reads_cache, room
            )
            self.compare("the grant", grant, expected)
        if grant is None:
            return False
        assert grant.cached_tokens == cached < length
        assert grant.writable >= now
        assert manager.usage().free >= op.keep_free
        self.held[seq] = Held(
            content, op.salt, op.adapter, room.limit, cached, grant.writable, cached
        )
        return True

    def is_on_host(self, seq):
        return seq in self.held and self.held[seq].on_host

    def _extend(self, op: Extend):
        if self.is_on_host(op.seq):
            return False
        book = self.held.get(op.seq)
        return self.extend(op.seq, 1 if book is None else book.written + op.by)

    def extend(self, seq, to):
        manager = self.manager
        foretold = seq in self.held and manager.can_extend([(seq, to)])
        grant = manager.extend(seq, to)
        assert foretold == (grant is not None), f"can_extend said {foretold}"
        if self.naive is not None:
            self.compare("the grant", grant, self.naive.extend(seq, to))
        if grant is None:
            return False
        assert grant.writable >= to
        changed = grant.writable != self.held[seq].writable
        self.held[seq].writable = grant.writable
        self.shadow.copy(grant.copies)
        return changed or bool(grant.taken)

    def _extend_all(self, op: ExtendAll):
        targets = [
            (s, self.held[s].written + op.by)
            for s in dict.fromkeys(op.seqs)
            if s in self.held and not self.held[s].on_host
        ]
        if not self.manager.can_share:
            targets = [(seq, to) for seq, to in targets if to <= MAX_MODEL_LEN]
        foretold = self.manager.can_extend(targets)
        done = []
        for seq, to in targets:
            before = self.held[seq].writable
            grant = self.manager.extend(seq, to)
            if self.naive is not None:
                self.compare("the grant", grant, self.naive.extend(seq, to))
            done.append(grant is not None)
            if grant is not None:
                self.held[seq].writable = grant.writable
                self.shadow.copy(grant.copies)
                assert grant.writable >= max(to, before)
        assert foretold == all(done), f"can_extend said {foretold} of {targets}: {done}"
        return True

    def _write(self, op: Write):
        book = self.held.get(op.seq)
        if book is None or book.on_host:
            return False
        for number in range(op.by):
            if book.written >= book.writable:
                break
            if book.written == len(book.content):
                book.content.outputs.append(op.tokens[number % len(op.tokens)])
            book.written += 1
            path = self.prefixes.path(book.tokens()[: book.written], book.salt, book.adapter)
            self.shadow.write(self.manager.table(op.seq), book.written - 1, path[-1])
        return False  # the manager does not know

    def _publish(self, op: Publish):
        book = self.held.get(op.seq)
        if book is None or book.on_host:
            return False
        published = self.manager.publish(op.seq, book.content, book.written)
        if self.naive is not None:
            expected = self.naive.publish(
                op.seq, book.tokens(), book.salt, book.adapter, book.written
            )
            self.compare("what is published", list(published), expected)
        return bool(published)

    def _withdraw(self, op: Withdraw):
        book = self.held.get(op.seq)
        if book is None or book.on_host:
            return False
        to = max(book.written - op.by, book.base)
        withdrawn = self.manager.withdraw(op.seq, to)
        if self.naive is not None:
            self.compare("what is withdrawn", list(withdrawn), self.naive.withdraw(op.seq, to))
        return bool(withdrawn)

    def _fork(self, op: Fork):
        if self.is_on_host(op.parent):
            return False
        parent = self.held.get(op.parent)
        if self.manager.can_share:
            written = 1 if parent is None else parent.written
            if not written and op.child not in self.held:
                return False  # there is nothing to share yet
        else:
            if parent is None or op.child in self.held:
                return False
            written = parent.written
            like = Allocate(
                op.child, tuple(parent.content.prompt), salt=parent.salt, adapter=parent.adapter
            )
            if not self.start(op.child, parent.content.forked(), like):
                return False
        fork = self.manager.fork(op.parent, op.child, written)
        assert fork is not None
        assert parent is not None
        if self.naive is not None:
            self.compare("the fork", tuple(fork), self.naive.fork(op.parent, op.child, written))
        self.shadow.copy(fork.child.copies)
        parent.writable = fork.parent_writable
        self.held[op.child] = Held(
            parent.content.forked(), parent.salt, parent.adapter, parent.limit,
            written, fork.child.writable, written,
        )  # fmt: skip
        return True

    def _swap_out(self, op: SwapOut):
        held = self.held
        seqs = [s for s in op.seqs if s in held and held[s].written and not held[s].on_host]
        unit = [(seq, held[seq].written) for seq in seqs]
        if not unit or not self.manager.can_swap:
            return False
        foretold = self.manager.swap_size(unit)
        fits = foretold <= self.manager.usage().host_free
        grant = self.manager.swap_out(unit)
        assert (grant is not None) == fits
        if self.naive is not None:
            self.compare("the swap", grant, self.naive.swap_out(unit))
        if grant is None:
            return False
        self.shadow.copy(grant.copies)
        for seq in seqs:
            held[seq].on_host = True
            held[seq].writable = held[seq].written
        return True

    def _swap_in(self, op: SwapIn):
        held = self.held
        seqs = [seq for seq in op.seqs if seq in held and held[seq].on_host]
        targets = [(seq, held[seq].written + op.by) for seq in seqs]
        if not targets:
            return False
        grant = self.manager.swap_in(targets, op.keep_free)
        if self.naive is not None:
            self.compare("the swap", grant, self.naive.swap_in(targets, op.keep_free))
        if grant is None:
            return False
        self.shadow.copy(grant.copies)
        for seq in seqs:
            held[seq].on_host = False
            held[seq].base = held[seq].written
        assert self.manager.can_extend(targets), "swap_in promised this"
        return True

    def _free(self, op: Free):
        released = self.manager.free(op.seq)
        if op.seq not in self.held:
            return True
        if self.naive is not None:
            self.compare("what is released", list(released), self.naive.free(op.seq))
        del self.held[op.seq]
        return True

    def _reset(self, _: ResetCache):
        done = self.manager.reset_cache()
        assert done == all(book.on_host for book in self.held.values())
        if self.naive is not None:
            self.compare("the reset", done, self.naive.reset_cache())
        return done

    methods: ClassVar = {
        Allocate: _allocate,
        Extend: _extend,
        ExtendAll: _extend_all,
        Write: _write,
        Publish: _publish,
        Withdraw: _withdraw,
        Fork: _fork,
        SwapOut: _swap_out,
        SwapIn: _swap_in,
        Free: _free,
        ResetCache: _reset,
    }


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
    return Driver(manager, naive)


def contiguous_driver(num_slots, placer="first-fit", reservation="oracle"):
    rule = RESERVATIONS[reservation](MAX_MODEL_LEN)
    return Driver(ContiguousManager(PLACERS[placer](num_slots), rule, reservation))
