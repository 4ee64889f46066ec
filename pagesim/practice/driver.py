"""Plays operations against any memory, and checks every law after each.

It keeps the protocol's contract as the scheduler does, and knows by its own books what each sequence has
written. Operations that make no sense are played, too: they must raise, and change nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from pagesim.core import laws
from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.contiguous import BeyondReservationError
from pagesim.core.errors import DuplicateSequenceError, LawBrokenError, UnknownSequenceError
from pagesim.core.memory import KVCacheManager
from pagesim.core.shadow import Prefixes, ShadowMemory
from pagesim.core.types import Admission, Grant, Room, SeqId
from pagesim.practice.block_book import plural
from pagesim.practice.content_words import check_content
from pagesim.practice.operations import (
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

LONGEST = 24  # tokens of a sequence: as long as it may become
MOST_PROBES = 12


@dataclass(slots=True)
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

    def tokens(self) -> list[int]:
        return [*self.content.prompt, *self.content.outputs]


@dataclass(frozen=True, slots=True)
class Probe:
    """A prompt that was there once: a lookup of it must find what is its own."""

    content: Content
    tokens: tuple[int, ...]
    salt: str
    adapter: str


class Driver:
    """``play`` plays a row. ``longest``: a memory that reserves refuses more tokens than these, by raising."""

    def __init__(self, manager: KVCacheManager, longest: int | None = None) -> None:
        self.manager = manager
        self.longest = longest
        self.held: dict[SeqId, Held] = {}
        self.probes: list[Probe] = []
        self.shadow = ShadowMemory(manager.geometry)
        self.prefixes = Prefixes()
        self.num_played = 0

    def play(self, operations: Iterable[Operation]) -> None:
        """All of them; then everybody is freed. Raises LawBrokenError."""
        for operation in operations:
            self.perform(operation)
        for seq in list(self.held):
            self.perform(Free(seq))
        self.check_empty()

    def check_empty(self) -> None:
        """All are freed: nothing is granted, and the cache can be reset. Raises LawBrokenError."""
        granted = self.manager.usage().granted
        if granted:
            raise LawBrokenError(f"conservation: all are freed and {granted} blocks are granted")
        if not self.manager.reset_cache():
            _unkept("all are freed and reset_cache() returned False")

    def perform(self, operation: Operation) -> None:
        """One operation, and every law after it."""
        self.num_played += 1
        if isinstance(operation, Allocate) and len(self.probes) < MOST_PROBES:
            longer, salt, adapter = (*operation.prompt, 0), operation.salt, operation.adapter
            self.probes.append(Probe(Content(longer, salt, adapter), longer, salt, adapter))
        before = self.picture()
        expected = self.error_for(operation)
        changed = False
        if expected is None:
            changed = _METHODS[type(operation)](self, operation)
        else:
            self._must_raise(operation, expected)
        if not changed:
            laws.check_none_changes_nothing(before, self.picture(), str(operation))
        self.check()

    def _must_raise(self, operation: Operation, expected: type[Exception]) -> None:
        try:
            _METHODS[type(operation)](self, operation)
        except expected:
            return
        self.check()  # names the law, if the command did harm
        _unkept(f"{operation} should raise {expected.__name__}")

    def error_for(self, operation: Operation) -> type[Exception] | None:
        """What an operation that makes no sense must raise."""
        held, can_share = self.held, self.manager.can_share
        match operation:
            case Allocate(seq=seq) if seq in held:
                return DuplicateSequenceError
            case Free(seq=seq) | Extend(seq=seq) if seq not in held:
                return UnknownSequenceError
            case Extend(seq=seq) | Fork(parent=seq) if seq in held and held[seq].on_host:
                return None
            case Extend(seq=seq, by=by) if self.longest is not None:
                if held[seq].written + by > self.longest:
                    return BeyondReservationError
            case Fork(parent=parent) if parent not in held and can_share:
                return UnknownSequenceError
            case Fork(child=child) if child in held and can_share:
                return DuplicateSequenceError
        return None

    # -- laws ------------------------------------------------------------------------------------------

    def picture(self) -> laws.Picture:
        return laws.picture(self.manager, self.held, [probe.content for probe in self.probes])

    def check(self) -> None:
        """Every law of a memory. Raises LawBrokenError."""
        manager, held = self.manager, self.held
        laws.check_conservation(manager, held)
        laws.check_refcount(manager, held)
        spans = {seq: laws.Span(book.written, book.writable) for seq, book in held.items()}
        laws.check_single_writer(manager, spans)
        paths = {
            seq: self.prefixes.path(book.tokens()[: book.written], book.salt, book.adapter)
            for seq, book in held.items()
        }
        check_content(manager, self.shadow, self.prefixes, paths)
        for probe in self.probes:
            self._check_hit(probe)

    def _check_hit(self, probe: Probe) -> None:
        """What a lookup finds must hold the right content, though nobody may hold it now.

        In which blocks, a stranger does not say: there it is seen when an allocate shares them.
        """
        cached = self.manager.cached_tokens(probe.content)
        manager = getattr(self.manager, "memory", self.manager)  # one that is only recorded
        if not cached or not isinstance(manager, BlockManager):
            return
        blocks = manager._hits(probe.content)
        path = self.prefixes.path(probe.tokens[:cached], probe.salt, probe.adapter)
        if [self.shadow.read(blocks, position) for position in range(cached)] != path:
            raise LawBrokenError(
                f"content: a lookup of {list(probe.tokens)} finds {cached} tokens in {blocks}"
            )

    # -- one function an operation; each says whether anything was changed --------------------------------

    def _allocate(self, op: Allocate) -> bool:
        content = Content(op.prompt, op.salt, op.adapter, reads_cache=op.reads_cache)
        if op.seq in self.held:
            return self.manager.allocate(op.seq, content, Room(1, 1, 2)) is not None
        return self._start(op.seq, content, op)

    def _start(self, seq: SeqId, content: Content, op: Allocate) -> bool:
        manager = self.manager
        cached = manager.cached_tokens(content)
        length = len(content)
        limit = min(len(op.prompt) + op.more, LONGEST)
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
        if (never is not None) != (admission is Admission.NEVER):
            _unkept(f"admission said {admission.name} and never_fits returned {never!r}")
        grant = manager.allocate(seq, content, room)
        # An empty memory may hold what is asked now, and not all to come.
        if admission is not Admission.NEVER and (grant is not None) != (admission is Admission.NOW):
            did = "gave none" if grant is None else "gave memory"
            _unkept(f"admission said {admission.name}, and allocate for sequence {seq} {did}")
        if grant is None:
            return False
        self._check_start(seq, content, op, room, cached, grant)
        self.held[seq] = Held(
            content, op.salt, op.adapter, room.limit, cached, grant.writable, cached
        )
        return True

    def _check_start(
        self, seq: SeqId, content: Content, op: Allocate, room: Room, cached: int, grant: Grant
    ) -> None:
        if grant.cached_tokens != cached:
            _unkept(
                f"cached_tokens said {cached} and allocate for sequence {seq} found "
                f"{grant.cached_tokens}"
            )
        if not 0 <= cached < len(content):
            _unkept(
                f"{cached} of {plural(len(content), 'token')} were found cached for sequence {seq}: the last token is "
                "always computed"
            )
        self._check_writable(f"allocate for sequence {seq}", grant, room.now)
        path = self.prefixes.path(content.prompt[:cached], op.salt, op.adapter)
        check_content(self.manager, self.shadow, self.prefixes, {seq: path})
        free = self.manager.usage().free
        if free < room.keep_free:
            raise LawBrokenError(
                f"watermark: allocate for sequence {seq} left {free} blocks free of the {room.keep_free} to keep"
            )

    def _check_writable(self, call: str, grant: Grant, to: int) -> None:
        if grant.writable < to:
            _unkept(f"{call} made {grant.writable} slots writable, and {to} were asked for")

    def _is_on_host(self, seq: SeqId) -> bool:
        return seq in self.held and self.held[seq].on_host

    def _extend(self, op: Extend) -> bool:
        if self._is_on_host(op.seq):
            return False
        book = self.held.get(op.seq)
        to = 1 if book is None else book.written + op.by
        foretold = book is not None and self.manager.can_extend([(op.seq, to)])
        grant = self.manager.extend(op.seq, to)
        if foretold != (grant is not None):
            self._check_foretold([(op.seq, to)], [grant is not None], foretold=foretold)
        if grant is None or book is None:
            return grant is not None
        self._check_writable(f"extend of sequence {op.seq}", grant, to)
        changed = grant.writable != book.writable
        book.writable = grant.writable
        self.shadow.copy(grant.copies)
        return changed or bool(grant.taken)

    def _check_foretold(
        self, targets: Sequence[tuple[SeqId, int]], done: Sequence[bool], *, foretold: bool
    ) -> None:
        if foretold != all(done):
            asked = ", ".join(f"sequence {seq} to {plural(to, 'token')}" for seq, to in targets)
            number = 0 if all(done) else done.index(False)
            did = "all could" if all(done) else f"sequence {targets[number][0]} could not"
            _unkept(f"can_extend said {foretold} of {asked}, and {did}")

    def _extend_all(self, op: ExtendAll) -> bool:
        targets = [
            (seq, self.held[seq].written + op.by)
            for seq in dict.fromkeys(op.seqs)
            if seq in self.held and not self.held[seq].on_host
        ]
        if self.longest is not None:
            targets = [(seq, to) for seq, to in targets if to <= self.longest]
        foretold = self.manager.can_extend(targets)
        done = []
        for seq, to in targets:
            book = self.held[seq]
            grant = self.manager.extend(seq, to)
            done.append(grant is not None)
            if grant is not None:
                self._check_writable(f"extend of sequence {seq}", grant, max(to, book.writable))
                book.writable = grant.writable
                self.shadow.copy(grant.copies)
        self._check_foretold(targets, done, foretold=foretold)
        return True

    def _write(self, op: Write) -> bool:
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

    def _publish(self, op: Publish) -> bool:
        book = self.held.get(op.seq)
        if book is None or book.on_host:
            return False
        return bool(self.manager.publish(op.seq, book.content, book.written))

    def _withdraw(self, op: Withdraw) -> bool:
        book = self.held.get(op.seq)
        if book is None or book.on_host:
            return False
        return bool(self.manager.withdraw(op.seq, max(book.written - op.by, book.base)))

    def _fork(self, op: Fork) -> bool:
        if self._is_on_host(op.parent):
            return False
        parent = self.held.get(op.parent)
        if self.manager.can_share:
            written = 1 if parent is None else parent.written
            if not written:
                if op.child not in self.held:
                    return False  # there is nothing to share yet
                written = 1  # it is to be refused
        else:
            if parent is None or op.child in self.held:
                return False
            written = parent.written
            prompt = tuple(parent.content.prompt)
            like = Allocate(op.child, prompt, salt=parent.salt, adapter=parent.adapter)
            if not self._start(op.child, parent.content.forked(), like):
                return False
        fork = self.manager.fork(op.parent, op.child, written)
        if fork is None:
            _unkept(f"fork of {op.parent} to {op.child} was refused, and takes no block")
        if parent is None:
            return True
        self.shadow.copy(fork.child.copies)
        parent.writable = fork.parent_writable
        self.held[op.child] = Held(
            parent.content.forked(), parent.salt, parent.adapter, parent.limit,
            written, fork.child.writable, written,
        )  # fmt: skip
        return True

    def _swap_out(self, op: SwapOut) -> bool:
        held, manager = self.held, self.manager
        seqs = [s for s in op.seqs if s in held and held[s].written and not held[s].on_host]
        unit = [(seq, held[seq].written) for seq in seqs]
        if not unit or not manager.can_swap:
            return False
        size, room = manager.swap_size(unit), manager.usage().host_free
        grant = manager.swap_out(unit)
        if (grant is not None) != (size <= room):
            did = "was refused" if grant is None else "was done"
            _unkept(
                f"swap_size said {size} host blocks of {room} free ones, and the swap of {seqs} {did}"
            )
        if grant is None:
            return False
        self.shadow.copy(grant.copies)
        for seq in seqs:
            held[seq].on_host = True
            held[seq].writable = held[seq].written
        return True

    def _swap_in(self, op: SwapIn) -> bool:
        held = self.held
        seqs = [seq for seq in op.seqs if seq in held and held[seq].on_host]
        targets = [(seq, held[seq].written + op.by) for seq in seqs]
        if not targets:
            return False
        grant = self.manager.swap_in(targets, op.keep_free)
        if grant is None:
            return False
        self.shadow.copy(grant.copies)
        for seq in seqs:
            held[seq].on_host = False
            held[seq].base = held[seq].written
        if not self.manager.can_extend(targets):
            _unkept(f"swap_in brought {seqs} back, and they cannot be extended as it promised")
        return True

    def _free(self, op: Free) -> bool:
        self.manager.free(op.seq)
        self.held.pop(op.seq, None)
        return True

    def _reset(self, _: ResetCache) -> bool:
        done = self.manager.reset_cache()
        if done != all(book.on_host for book in self.held.values()):
            _unkept(f"reset_cache() returned {done} while {len(self.held)} sequences hold memory")
        return done


def _unkept(sentence: str) -> NoReturn:
    raise LawBrokenError(f"contract: {sentence}")


_METHODS: dict[type, Callable[..., bool]] = {
    Allocate: Driver._allocate,
    Extend: Driver._extend,
    ExtendAll: Driver._extend_all,
    Write: Driver._write,
    Publish: Driver._publish,
    Withdraw: Driver._withdraw,
    Fork: Driver._fork,
    SwapOut: Driver._swap_out,
    SwapIn: Driver._swap_in,
    Free: Driver._free,
    ResetCache: Driver._reset,
}
