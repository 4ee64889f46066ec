"""Giving memory back: a whole group goes to the host, or drops its tokens and computes them again later.

running -- no room to grow -->  swapped   (tokens on the host, back before anybody waiting is looked at)
                           -->  waiting   (tokens lost, outputs kept)
"""

from collections.abc import Sequence

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.live import Live
from pagesim.core.plan import StepPlan
from pagesim.core.preempt_mode import Price, Prices, Way
from pagesim.core.sequence import SequenceState, Status
from pagesim.core.victim import choose_victim


def make_room(live: Live, plan: StepPlan, by: SequenceState, to: int) -> tuple[SequenceState, int]:
    """Preempt one group, since ``by`` cannot grow to ``to`` tokens; returns whom, and the budget it gives back."""
    policy = live.config.chosen_victim
    victim = choose_victim(policy, live.running)
    if victim not in live.running:
        raise InputError(
            f"the victim policy {policy.name} chose {victim!r}, which is not running; it must return one "
            "of the sequences it is given"
        )
    return victim, preempt(live, victim.unit, plan, by, to)


def preempt(
    live: Live,
    unit: Sequence[SequenceState],
    plan: StepPlan,
    by: SequenceState,
    to: int,
    *,
    may_swap: bool = True,
) -> int:
    """Take the group out of ``plan`` and of running; returns the budget it had been given in this step."""
    unit = tuple(unit)
    returned = sum([_unschedule(live, seq, plan) for seq in unit])
    way = _way(live, unit) if may_swap else Way.RECOMPUTE
    if way is Way.SWAP and not _swap_out(live, unit, plan, by, to):
        way = Way.HOST_FULL
    if way is not Way.SWAP:
        for seq in unit:
            if seq.status is Status.RUNNING:
                _tell(live, seq, plan, by, to, way)
            live.vacate(seq)
        requeue(live, unit[0])
    return returned


def requeue(live: Live, leader: SequenceState) -> None:
    """Out of running, back to where its rank puts it among the waiting."""
    _leave_running(live, leader)
    _wait_again(live, leader)


def drop_swapped(live: Live, leader: SequenceState, plan: StepPlan) -> None:
    """What was written of a swapped group cannot be trusted: it is dropped, and the group computes again."""
    live.swapped.remove(leader)
    for seq in leader.active:
        _tell(live, seq, plan, seq, 0, Way.RECOMPUTE)
        live.vacate(seq)
    _wait_again(live, leader)


def _wait_again(live: Live, leader: SequenceState) -> None:
    leader.status = Status.WAITING
    live.waiting.put_back(leader)


def _unschedule(live: Live, seq: SequenceState, plan: StepPlan) -> int:
    """Take back what this step gave it."""
    if seq not in plan.sequences:
        return 0
    plan.fill_counts(len(plan.sequences))
    position = plan.sequences.index(seq)
    del plan.sequences[position]
    count = plan.counts.pop(position)
    seq.num_computed -= count
    live.memory.withdraw(seq.seq, seq.num_computed)
    return count


def _way(live: Live, unit: Sequence[SequenceState]) -> Way:
    active = unit[0].active
    if not live.can_swap or not all(seq.num_computed for seq in active):
        return Way.RECOMPUTE
    if len(active) > 1 and any(seq.num_tokens - seq.num_computed > 1 for seq in active):
        # A group that is computing again shares blocks that are not filled yet.
        return Way.RECOMPUTE
    mode = live.config.preempt
    price = None if live.prices is None else _price(live, active, live.prices)
    way = mode.choose(unit, price)
    if not isinstance(way, Way):
        raise InputError(
            f"the preempt mode {mode.name} returned {way!r}; it must return Way.SWAP or Way.RECOMPUTE"
        )
    return way


def _price(live: Live, active: Sequence[SequenceState], prices: Prices) -> Price:
    num_blocks = live.memory.swap_size([(seq.seq, seq.num_computed) for seq in active])
    shared = len(active[0].request.prompt) // live.block_size * live.block_size
    again = [active[0].num_computed, *(seq.num_computed - shared for seq in active[1:])]
    return prices(again, num_blocks * live.block_size, num_blocks)


def _swap_out(
    live: Live, unit: Sequence[SequenceState], plan: StepPlan, by: SequenceState, to: int
) -> bool:
    """Move the group's tokens to the host; ``False``, and nothing changed: there is no room."""
    leader = unit[0]
    active = tuple(leader.active)
    moving = [(seq.seq, seq.num_computed) for seq in active]
    if live.memory.swap_size(moving) > live.memory.usage().host_free:
        return False
    for seq in active:
        _tell(live, seq, plan, by, to, Way.SWAP)
    grant = live.memory.swap_out(moving)
    assert grant is not None, "there was room"
    plan.copies += grant.copies
    for seq in active:
        live.context_tokens -= seq.num_computed
        seq.writable, seq.checkpoint = seq.num_computed, 0
        plan.swapped_out.append(seq)
    _leave_running(live, leader)
    leader.status = Status.SWAPPED
    live.swapped.put_back(leader)
    return True


def _leave_running(live: Live, leader: SequenceState) -> None:
    unit = leader.unit
    if leader.group is not None and not leader.group.forked:
        live.num_unforked -= len(unit) - 1
    live.running = [seq for seq in live.running if seq not in unit]
    for seq in unit:
        seq.status = Status.FOLLOWING


def _tell(
    live: Live, seq: SequenceState, plan: StepPlan, by: SequenceState, to: int, way: Way
) -> None:
    plan.preempted.append(seq)
    seq.num_preemptions += 1
    lost = 0 if way is Way.SWAP else seq.num_computed
    if live.emit is not None:
        live.emit(ev.SequencePreempted(seq.seq, lost, by.seq, to, way.value))
