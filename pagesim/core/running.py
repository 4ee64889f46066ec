"""The first half of a step: running sequences get their tokens, in order of admission.

Memory is asked for only where a sequence reaches the limit of its last grant. Knows nothing about who waits.
"""

from collections.abc import Sequence

from pagesim.core import preemption
from pagesim.core.live import Live
from pagesim.core.plan import StepPlan
from pagesim.core.sequence import SequenceState, Status
from pagesim.core.types import Grant


def plan_running(live: Live, plan: StepPlan, budget: int, chunk: int) -> int:
    """Serve everybody who runs, at most ``chunk`` tokens each; returns the budget left."""
    add_sequence = plan.sequences.append
    for seq in live.running.copy():
        computed = seq.num_computed
        if computed < seq.checkpoint:  # decoding, with room: the hot path
            seq.num_computed = computed + 1
            add_sequence(seq)
            budget -= 1
        elif seq.status is Status.RUNNING:  # else it was preempted earlier in this pass
            left = advance(live, seq, plan, budget, chunk)
            if left is None:
                break
            budget = left
        if not budget:
            break
    return budget


def advance(live: Live, seq: SequenceState, plan: StepPlan, budget: int, chunk: int) -> int | None:
    """Schedule a sequence that may need memory; returns the budget left. ``None``: it gave way itself."""
    if seq.group is not None and seq.group.forked:
        first = seq.unit[0] is seq
        return advance_group(live, seq, plan, budget, chunk) if first else budget
    count = seq.num_tokens - seq.num_computed
    if count > 1:
        count = min(count, chunk, budget)
    elif not count:
        return budget
    to = seq.num_computed + count
    if to > seq.writable:
        while (grant := live.memory.extend(seq.seq, to)) is None:
            victim, returned = preemption.make_room(live, plan, seq, to)
            budget += returned
            if victim is seq:
                return None
        use(seq, grant, plan)
    schedule(live, seq, count, plan)
    return budget - count


def advance_group(
    live: Live, leader: SequenceState, plan: StepPlan, budget: int, chunk: int
) -> int | None:
    """The same for samples that have forked: they grow all or none."""
    unit = tuple(leader.unit)
    shares = share_budget(live, unit, budget, chunk)
    if not shares:
        return 0
    targets = [(s.seq, s.num_computed + n) for s, n in shares]
    while not live.memory.can_extend(targets):
        victim, returned = preemption.make_room(live, plan, leader, leader.num_tokens)
        budget += returned
        if victim in unit:
            return None
    return grow_all(live, shares, plan, budget)


def grow_all(
    live: Live, shares: Sequence[tuple[SequenceState, int]], plan: StepPlan, budget: int
) -> int:
    """Schedule sequences of which ``can_extend`` said that all can grow; returns the budget left."""
    for seq, count in shares:
        to = seq.num_computed + count
        if to > seq.writable:
            grant = live.memory.extend(seq.seq, to)
            assert grant is not None, "can_extend promised this"
            use(seq, grant, plan)
        schedule(live, seq, count, plan)
        budget -= count
    return budget


def share_budget(
    live: Live, unit: Sequence[SequenceState], budget: int, chunk: int
) -> list[tuple[SequenceState, int]]:
    """How many tokens each of a unit computes now: decodes all or none, what is to be recomputed in order.

    Beams choose together, so those that compute again leave their last tokens for one step in common.
    """
    decoding = all(seq.num_tokens - seq.num_computed == 1 for seq in unit)
    if decoding and len(unit) > budget:
        return []
    kept = 1 if len(unit) > 1 and unit[0].is_beam and not decoding else 0
    shares: list[tuple[SequenceState, int]] = []
    leader = unit[0]
    prompt = len(leader.request.prompt) // live.block_size * live.block_size
    for seq in unit:
        if shares and leader.num_computed + shares[0][1] < prompt <= seq.num_computed:
            continue  # it shares blocks that its leader has yet to compute
        count = min(seq.num_tokens - seq.num_computed - kept, chunk, budget)
        if count > 0:
            shares.append((seq, count))
            budget -= count
    return shares


def schedule(live: Live, seq: SequenceState, count: int, plan: StepPlan) -> None:
    """Put ``count`` tokens of a sequence that has memory for them into the plan."""
    computed = seq.num_computed
    to = seq.num_computed = computed + count
    plan.sequences.append(seq)
    if count > 1:
        plan.fill_counts(len(plan.sequences) - 1)
        plan.counts.append(count)
        plan.has_prefill = True
    if live.caching and to // live.block_size > computed // live.block_size:
        live.memory.publish(seq.seq, seq.content, to)
    if to < seq.num_tokens:
        plan.has_chunks = True
    elif seq.group is None:
        # From now on it decodes. A block that fills up must be published, so stop one token earlier for it.
        seq.checkpoint = seq.writable - 1 if live.caching else seq.writable
    elif not seq.group.forked or seq.is_beam:
        plan.has_groups = True


def use(seq: SequenceState, grant: Grant, plan: StepPlan) -> None:
    seq.writable = grant.writable
    if grant.copies:
        plan.copies += grant.copies
