"""The second half of a step, if nobody had to give way: swapped groups return, then waiting ones are admitted.

Both from the head of their queue: the first that cannot go ends it for the step. While anybody is on the host,
nobody new is admitted.
"""

from pagesim.core import events as ev
from pagesim.core.errors import LawBrokenError
from pagesim.core.live import Live
from pagesim.core.plan import StepPlan
from pagesim.core.running import grow_all, schedule, share_budget, use
from pagesim.core.sequence import FinishReason, SequenceState, Status
from pagesim.core.types import Room, blocks_for


def swap_in(live: Live, plan: StepPlan, budget: int, chunk: int) -> int:
    """Bring groups back from the host, if they fit with their next tokens; returns the budget left."""
    while budget and len(live.swapped):
        leader = live.swapped.head()
        active = tuple(leader.active)
        if not live.has_seats(len(leader.unit)):
            return budget
        shares = share_budget(live, active, budget, chunk)
        if not shares:
            return budget
        counts = dict(shares)
        targets = [(seq.seq, seq.num_computed + counts.get(seq, 0)) for seq in active]
        keep_free = live.keep_free()
        grant = live.memory.swap_in(targets, keep_free)
        if grant is None:
            if not live.running:
                raise LawBrokenError(
                    f"progress: nothing runs, and {leader.name} cannot come back from the host; swap_in() refused "
                    "what must fit"
                )
            plan.blocked = True
            tell_blocked(live, leader, sum(to for _, to in targets), keep_free)
            return budget
        plan.copies += grant.copies
        live.swapped.pop()
        _seat(live, leader)
        plan.swapped_in += active
        if live.emit is not None:
            for seq in active:
                live.emit(ev.SequenceReturned(seq.seq, seq.num_computed))
        budget = grow_all(live, shares, plan, budget)
    return budget


def admit(live: Live, plan: StepPlan, budget: int, chunk: int) -> None:
    """Admit from the head of the queue."""
    while budget and len(live.waiting):
        leader = live.waiting.head()
        if not live.has_seats(len(leader.unit)):
            return
        cached = live.memory.cached_tokens(leader.content)
        count = min(leader.num_tokens - cached, chunk)
        whole = leader.group is not None  # a group takes all its memory at once
        if not live.config.chunked_prefill and count > budget and not whole:
            return
        count = min(count, budget)
        if not _start(live, leader, leader.num_tokens if whole else cached + count, plan):
            if live.running:
                plan.blocked = True
                return
            leaked = live.memory.usage().granted
            if leaked:
                raise LawBrokenError(
                    f"conservation: nothing runs, and {leaked:,} blocks are still granted; free() gave back too "
                    "little"
                )
            _refuse_head(live, leader, plan)
            continue
        if not whole:
            if count:
                schedule(live, leader, count, plan)
            budget -= count
            continue
        for seq, share in share_budget(live, leader.active, budget, chunk):
            schedule(live, seq, share, plan)
            budget -= share


def _start(live: Live, leader: SequenceState, now: int, plan: StepPlan) -> bool:
    """Take the memory for a unit, all or nothing, and move it to running."""
    keep_free = live.keep_free()
    if leader.group is None:
        if not _allocate(live, leader, now, keep_free, plan):
            return False
        _enter(live, leader, plan)
        return True
    unit = leader.unit
    shared = len(leader.request.prompt) // live.block_size * live.block_size
    children = unit[1:]
    is_forked = len(leader.active) > 1
    if is_forked and live.memory.can_share:
        keep_free += sum(
            blocks_for(seq.num_tokens, live.block_size) - shared // live.block_size
            for seq in children
        )
    if not _allocate(live, leader, now, keep_free, plan):
        return False
    if children and not live.memory.can_share:
        for number, seq in enumerate(children):
            if not _allocate(live, seq, seq.num_tokens, keep_free, plan):
                for started in unit[: number + 1]:
                    live.vacate(started)
                    plan.cached_tokens.pop(started, None)
                return False
    elif is_forked:
        for seq in children:
            _refork(live, leader, seq, shared, plan)
    _enter(live, leader, plan)
    return True


def _allocate(live: Live, seq: SequenceState, now: int, keep_free: int, plan: StepPlan) -> bool:
    room = Room(
        now=now,
        present=seq.num_tokens if live.config.admit_only_if_whole_prompt_fits else now,
        limit=seq.stop_at,
        final=seq.final,
        keep_free=keep_free,
    )
    grant = live.memory.allocate(seq.seq, seq.content, room)
    if grant is None:
        tell_blocked(live, seq, max(room.now, room.present), room.keep_free)
        return False
    seq.num_computed = grant.cached_tokens
    plan.cached_tokens[seq] = grant.cached_tokens
    use(seq, grant, plan)
    return True


def tell_blocked(live: Live, seq: SequenceState, tokens: int, keep_free: int) -> None:
    if live.emit is None:
        return
    # Of slabs it is told again when some memory came free, and still not enough in one piece.
    free = 0 if live.memory.can_share else live.memory.usage().free
    if live.blocked_head != (seq, free):
        live.blocked_head = (seq, free)
        cached = 0 if seq.status is Status.SWAPPED else live.memory.cached_tokens(seq.content)
        live.emit(ev.AdmissionBlocked(seq.seq, tokens, cached, keep_free))


def _refork(
    live: Live, leader: SequenceState, seq: SequenceState, shared: int, plan: StepPlan
) -> None:
    """Bring a forked sample back: share the prompt's full blocks with the leader again, take the rest."""
    if shared:
        fork = live.memory.fork(leader.seq, seq.seq, shared)
        assert fork is not None, "sharing takes no block"
        seq.num_computed = shared
        plan.cached_tokens[seq] = shared
        grant = live.memory.extend(seq.seq, seq.num_tokens)
        assert grant is not None, "the leader's admission kept these blocks free"
        use(seq, grant, plan)
    else:
        started = _allocate(live, seq, seq.num_tokens, 0, plan)
        assert started, "the leader's admission kept these blocks free"


def _enter(live: Live, leader: SequenceState, plan: StepPlan) -> None:
    popped = live.waiting.pop()
    assert popped is leader
    _seat(live, leader)
    plan.admitted += leader.active
    if live.emit is not None:
        for seq in leader.active:
            cached, again = plan.cached_tokens.get(seq, 0), int(seq.num_preemptions > 0)
            live.emit(ev.SequenceAdmitted(seq.seq, seq.num_tokens, cached, again))


def _seat(live: Live, leader: SequenceState) -> None:
    """A group that has left its queue runs; those of it that are yet to fork have seats already."""
    live.blocked_head = None
    live.num_unforked += len(leader.unit) - len(leader.active)
    for seq in leader.active:
        seq.status = Status.RUNNING
        live.running.append(seq)
        live.context_tokens += seq.num_computed


def _refuse_head(live: Live, leader: SequenceState, plan: StepPlan) -> None:
    """Nothing is held and still the head does not fit: it never will."""
    slots = live.memory.geometry.num_slots
    reason = (
        f"request {leader.request.id} needs room for {len(leader.unit)} times {leader.num_tokens:,} tokens and "
        f"what they may become, and an empty memory of {slots:,} tokens does not have it"
    )
    for seq in tuple(live.requests[leader.request.id]):
        live.end(seq, FinishReason.ABORT)
    plan.refused.append(live.refuse(leader.request, reason))
