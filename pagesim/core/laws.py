"""The named laws: what must hold of every memory and every run, whoever wrote them.

Pure questions: each function looks and returns, or raises ``LawBrokenError`` with one sentence that starts
with the law's name. They ask only what the protocols offer; a manager built on ``BlockPool`` and
``PrefixIndex`` is looked at more closely. Knows nothing about what is being tested.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NoReturn

from pagesim.core import events as ev
from pagesim.core.block_pool import BlockPool
from pagesim.core.content import Content
from pagesim.core.errors import LawBrokenError
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan
from pagesim.core.prefix_index import PrefixIndex
from pagesim.core.sequence import SequenceState
from pagesim.core.shadow import PrefixId, ShadowMemory
from pagesim.core.types import BlockId, SeqId, Usage

LAWS: dict[str, str] = {
    "conservation": "Granted and free blocks add up to the pool, and no block is both free and in a table.",
    "refcount": "Each block's count equals the number of live tables that list it.",
    "single-writer": "What a sequence may still write, no other sequence may write or has written.",
    "content": "A sequence's table leads back to exactly its own tokens, each after all those before it.",
    "none-changes-nothing": "A command that was refused or raised has changed nothing.",
    "contract": "A call returns what its contract says, and a command does what the question before it foretold.",
    "fold": "The state told by the events equals the memory's own after every step.",
    "progress": "A step with work computes something, the oldest sequence first of all, and every run ends.",
    "clock": "Time never goes back, and step numbers rise by one.",
    "budget": "A step computes at least one token for each of its sequences, and no more than the budget.",
    "order": "The waiting queue is in the order asked for: under first come, first served, that of arrival.",
    "atomic": "A group starts, grows, gives way and comes back whole.",
    "held-back": "Nobody is admitted in a step that preempted, nor while anybody is swapped out.",
    "watermark": "An admission while others run leaves the watermark's blocks free.",
    "rejects-the-impossible": "What cannot fit an empty memory, and only that, is refused, with both sizes.",
    "same-log": "The same input gives the same events, in every process.",
}


class Span(NamedTuple):
    """How far a sequence has written, and how far it may write without asking; absolute, in tokens.

    ``ready`` is set, and less than ``written``, while it waits for somebody who has yet to compute what they
    share: a forked sample that comes back lists prompt blocks that its leader fills again.
    """

    written: int
    writable: int
    ready: int | None = None


class Picture(NamedTuple):
    """All of a manager that can be seen; ``ref_counts`` and ``free_queue`` only where it has a pool."""

    usage: Usage
    tables: dict[SeqId, tuple[BlockId, ...]]
    ref_counts: tuple[int, ...]
    free_queue: tuple[BlockId, ...]
    findable: tuple[int, ...]


# -- laws of a memory ------------------------------------------------------------------------------------


def check_conservation(manager: KVCacheManager, seqs: Iterable[SeqId]) -> None:
    """``seqs`` are all sequences that hold memory."""
    num_blocks = manager.geometry.num_blocks
    usage = manager.usage()
    if usage.granted < 0 or usage.free < 0 or usage.granted + usage.free != num_blocks:
        _broken(
            "conservation", f"{usage.granted} granted and {usage.free} free of {num_blocks} blocks"
        )
    if not (0 <= usage.cached <= usage.free and 0 <= usage.largest_hole <= usage.free):
        _broken(
            "conservation",
            f"{usage.cached} cached and a hole of {usage.largest_hole} among {usage.free} free blocks",
        )
    held: dict[BlockId, SeqId] = {}
    in_all = manager.geometry.num_blocks_in_all
    for seq in seqs:
        table = manager.table(seq)
        if len(set(table)) < len(table):
            _broken("conservation", f"sequence {seq} lists a block twice: {list(table)}")
        for block in table:
            if not 0 <= block < in_all:
                _broken("conservation", f"sequence {seq} lists block {block} of {in_all}")
            held[block] = seq
    on_host = {block - num_blocks: seq for block, seq in held.items() if block >= num_blocks}
    if len(on_host) + usage.host_free != manager.geometry.num_host_blocks:
        _broken(
            "conservation",
            f"{len(on_host)} host blocks are in tables and {usage.host_free} free of "
            f"{manager.geometry.num_host_blocks}",
        )
    pool, host_pool = _pool(manager), _pool(manager, "host_pool")
    if pool is not None:
        _check_free_queue(pool, {block: seq for block, seq in held.items() if block < num_blocks})
    if host_pool is not None:
        _check_free_queue(host_pool, on_host)


def _check_free_queue(pool: BlockPool, held: Mapping[BlockId, SeqId]) -> None:
    queue = list(pool.free_queue())
    if len(set(queue)) != len(queue) or len(queue) != pool.num_free:
        _broken("conservation", f"{pool.num_free} blocks are free and the free queue is {queue}")
    for block in queue:
        if block in held:
            _broken(
                "conservation", f"block {block} is free and in the table of sequence {held[block]}"
            )
    if len(queue) + len(held) != pool.num_blocks:
        _broken(
            "conservation",
            f"{len(queue)} blocks are free, {len(held)} in tables, and {pool.num_blocks} present",
        )


def check_refcount(manager: KVCacheManager, seqs: Iterable[SeqId]) -> None:
    """``seqs`` are all sequences that hold memory."""
    listed: Counter[BlockId] = Counter()
    for seq in seqs:
        listed.update(manager.table(seq))
    pool, host_pool = _pool(manager), _pool(manager, "host_pool")
    if pool is not None:
        counts = pool.ref_counts + ([] if host_pool is None else host_pool.ref_counts)
        for block, count in enumerate(counts):
            if count != listed[block]:
                _broken(
                    "refcount", f"block {block} counts {count} and {listed[block]} tables list it"
                )
        return
    num_blocks = manager.geometry.num_blocks
    listed = Counter({block: count for block, count in listed.items() if block < num_blocks})
    granted = manager.usage().granted
    if manager.can_share and granted != len(listed):
        _broken("refcount", f"{granted} blocks are granted and tables list {len(listed)} blocks")
    if not manager.can_share and granted < listed.total():
        _broken("refcount", f"{granted} slots are granted and runs list {listed.total()}")


def check_single_writer(manager: KVCacheManager, spans: Mapping[SeqId, Span]) -> None:
    """``spans`` has an entry for every sequence that holds memory."""
    block_size = manager.geometry.block_size
    claims: dict[int, list[SeqId]] = {}  # who wrote a slot, or may
    tables = {seq: manager.table(seq) for seq in spans}
    for seq, (written, writable, ready) in spans.items():
        table = tables[seq]
        if max(written, writable) > len(table) * block_size:
            _broken(
                "single-writer",
                f"sequence {seq} may write up to {max(written, writable)} and holds "
                f"{len(table) * block_size} slots",
            )
        for position in (*range(written if ready is None else ready), *range(written, writable)):
            slot = table[position // block_size] * block_size + position % block_size
            claims.setdefault(slot, []).append(seq)
    for seq, (written, writable, _) in spans.items():
        for position in range(written, writable):
            slot = tables[seq][position // block_size] * block_size + position % block_size
            others = [other for other in claims[slot] if other != seq]
            if others:
                _broken(
                    "single-writer",
                    f"sequence {seq} may write position {position} in slot {slot}, which sequence "
                    f"{others[0]} may write or has written",
                )


def check_content(
    manager: KVCacheManager, shadow: ShadowMemory, prefixes: Mapping[SeqId, Sequence[PrefixId]]
) -> None:
    """``prefixes`` has, for each sequence, the prefix at each position it has computed (or found cached)."""
    for seq, path in prefixes.items():
        table = manager.table(seq)
        if len(path) > len(table) * manager.geometry.block_size:
            _broken(
                "content",
                f"sequence {seq} has computed {len(path)} tokens; its table {list(table)} ends before",
            )
        for position, expected in enumerate(path):
            found = shadow.read(table, position)
            if found != expected:
                what = "nothing" if found is None else f"prefix {found}"
                _broken(
                    "content",
                    f"sequence {seq} reads {what} at position {position} (slot "
                    f"{shadow.slot(table, position)}), and its own is prefix {expected}",
                )


def picture(
    manager: KVCacheManager, seqs: Iterable[SeqId], probes: Sequence[Content] = ()
) -> Picture:
    """What can be seen now, to be compared later; ``probes`` are contents to look up."""
    pool = _pool(manager)
    return Picture(
        manager.usage(),
        {seq: tuple(manager.table(seq)) for seq in seqs},
        () if pool is None else tuple(pool.ref_counts),
        () if pool is None else tuple(pool.free_queue()),
        tuple([manager.cached_tokens(content) for content in probes]),
    )


def check_none_changes_nothing(before: Picture, after: Picture, command: str) -> None:
    """``command`` says what was refused, for the message."""
    for name, old, new in zip(Picture._fields, before, after, strict=True):
        if old != new:
            _broken(
                "none-changes-nothing",
                f"{command} was refused, and {name} went from {old} to {new}",
            )


# -- laws of a run ---------------------------------------------------------------------------------------


def check_fold(
    manager: KVCacheManager,
    told: Mapping[SeqId, tuple[Sequence[BlockId], int]],
    true: Mapping[SeqId, int],
    ref_counts: Mapping[BlockId, int],
    cached: Iterable[BlockId] = (),
) -> None:
    """Compare what events told with what is: ``told`` tables and written lengths of the sequences that hold
    memory, ``ref_counts`` and ``cached`` blocks; ``true`` are the lengths computed in fact."""
    if sorted(told) != sorted(true):
        _broken(
            "fold",
            f"events tell that sequences {sorted(told)} hold memory; in fact {sorted(true)} do",
        )
    counts: Counter[BlockId] = Counter()
    for seq, (table, written) in told.items():
        fact = manager.table(seq)
        if list(table) != list(fact):
            _broken(
                "fold",
                f"events tell sequence {seq} holds {list(table)}; in fact it is {list(fact)}",
            )
        if written != true[seq]:
            _broken(
                "fold",
                f"events tell sequence {seq} has {written} tokens computed; in fact {true[seq]}",
            )
        counts.update(fact[:1] if isinstance(fact, range) else fact)
    if dict(ref_counts) != dict(counts):
        _broken("fold", f"events tell counts {dict(ref_counts)}; in fact they are {dict(counts)}")
    index = getattr(manager, "index", None)
    if isinstance(index, PrefixIndex):
        keyed = [block for block, key in enumerate(index.keys) if key is not None]
        if sorted(cached) != keyed:
            _broken(
                "fold", f"events tell that blocks {sorted(cached)} are cached; in fact {keyed} are"
            )


def check_progress(plan: StepPlan, oldest: SequenceState | None = None) -> None:
    """Of a step planned while there was work. ``oldest``: who must not be passed over, if anybody."""
    if not (plan.sequences or plan.preempted or plan.refused):
        _broken("progress", f"step {plan.step} had work and computes nothing")
    if oldest is None or any(seq in plan.sequences for seq in oldest.unit):
        return
    if oldest in plan.preempted:
        _broken("progress", f"step {plan.step} preempted the oldest sequence, {oldest.name}")
    if oldest.request.id not in [refusal.request for refusal in plan.refused]:
        _broken("progress", f"step {plan.step} passes over the oldest sequence, {oldest.name}")


def check_ends(num_steps: int, bound: int) -> None:
    if num_steps > bound:
        _broken("progress", f"{num_steps} steps were done and {bound} suffice")


def check_clock(events: Iterable[ev.Event]) -> None:
    time_ns, step = 0, -1
    for event in events:
        if isinstance(event, ev.StepPlanned):
            if event.step != step + 1:
                _broken("clock", f"step {event.step} follows step {step}")
            step = event.step
        elif isinstance(event, ev.StepDone | ev.ClockAdvanced | ev.RunEnded):
            if event.time_ns < time_ns:
                _broken("clock", f"{event.time_ns} ns follows {time_ns} ns")
            time_ns = event.time_ns


def check_budget(plan: StepPlan, budget: int) -> None:
    if len(plan.counts) != len(plan.sequences) or any(count < 1 for count in plan.counts):
        _broken(
            "budget",
            f"step {plan.step} gives {plan.counts} tokens to {len(plan.sequences)} sequences",
        )
    if sum(plan.counts) > budget:
        _broken(
            "budget",
            f"step {plan.step} computes {sum(plan.counts)} tokens and {budget} are allowed",
        )


def check_order(ranks: Sequence[object]) -> None:
    """``ranks``: what the queue is ordered by, of each waiting sequence, head first; ties by arrival."""
    if list(ranks) != sorted(ranks):  # type: ignore[type-var]
        _broken("order", f"the queue reads {list(ranks)}, by rank and number of arrival")


class GroupBefore(NamedTuple):
    """A group as it was before a step was planned: its ``members``, those that ran, and whether each of these
    had one token to compute."""

    members: tuple[SequenceState, ...]
    running: tuple[SequenceState, ...]
    decoding: bool


def check_atomic(
    plan: StepPlan, running: Sequence[SequenceState], groups: Iterable[GroupBefore]
) -> None:
    """``running`` and the plan as they are after planning; ``groups`` as they were before. Forked groups only."""
    for members, ran, decoding in groups:
        names = [seq.name for seq in members]
        for what, them in (
            ("runs", running),
            ("was admitted", plan.admitted),
            ("was preempted", plan.preempted),
            ("was swapped out", plan.swapped_out),
            ("was swapped in", plan.swapped_in),
        ):
            part = [seq for seq in members if seq in them]
            if part and len(part) < len(members):
                _broken("atomic", f"of the group {names} only a part {what} in step {plan.step}")
        grown = [seq for seq in members if seq in plan.sequences]
        if len(ran) == len(members) and decoding and grown and len(grown) < len(members):
            _broken("atomic", f"of the group {names} only a part decodes in step {plan.step}")
        places = [running.index(seq) for seq in members if seq in running]
        if places and places != list(range(places[0], places[0] + len(members))):
            _broken("atomic", f"the group {names} is not side by side in the batch: {places}")


def check_held_back(plan: StepPlan, num_swapped: int) -> None:
    """``num_swapped`` groups are on the host after the step was planned."""
    if plan.preempted and (plan.admitted or plan.swapped_in):
        _broken("held-back", f"step {plan.step} preempted and let somebody start")
    if plan.admitted and num_swapped:
        _broken(
            "held-back",
            f"step {plan.step} admitted {plan.admitted[0].name} and {num_swapped} groups are swapped out",
        )


def check_watermark(plan: StepPlan, num_before: int, num_free: int, watermark: int) -> None:
    """``num_before`` sequences ran before anybody was admitted; ``num_free`` blocks are free after that."""
    first = plan.admitted[0].unit if plan.admitted and not num_before else ()
    bound = [seq for seq in plan.admitted if seq not in first]
    if bound and num_free < watermark:
        _broken(
            "watermark",
            f"step {plan.step} admitted {bound[-1].name} and left {num_free} blocks free of the "
            f"{watermark} to keep",
        )


def check_rejects_the_impossible(
    request: str, reason: str | None, needed: int, present: int, kept: int = 0
) -> None:
    """``reason`` is what ``submit`` said. It needs ``needed`` and ``kept`` besides, worked out elsewhere."""
    sizes = f"request {request} needs {needed} and {kept} besides where {present} are present"
    if reason is None:
        if needed + kept > present:
            _broken("rejects-the-impossible", f"{sizes}, and was taken")
        return
    if needed + kept <= present:
        _broken("rejects-the-impossible", f"{sizes}, and was refused: {reason}")
    for number in (needed, present) if not kept else (needed, kept, present):
        if f"{number:,}" not in reason:
            _broken("rejects-the-impossible", f"{sizes}; the refusal leaves out {number}: {reason}")


def check_same_log(one: Sequence[object], other: Sequence[object]) -> None:
    """Two logs of one input: sequences of events, or of lines."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            _broken("same-log", f"event {number} is {a!r} in one run and {b!r} in the other")
    if len(one) != len(other):
        _broken("same-log", f"one run has {len(one)} events and the other {len(other)}")


def _pool(manager: KVCacheManager, name: str = "pool") -> BlockPool | None:
    pool = getattr(manager, name, None)
    return pool if isinstance(pool, BlockPool) else None


def _broken(law: str, sentence: str) -> NoReturn:
    raise LawBrokenError(f"{law}: {sentence}")
