"""The laws of preemption, and how a broken one is told."""

from pagesim.core.types import blocks_for
from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import be, counted, joined
from pagesim_lessons.exercises.preemption.script import Moment, Victim, play, scripts


def _named(seqs: list[int]) -> str:
    return f"sequence{'' if len(seqs) == 1 else 's'} {joined([str(seq) for seq in seqs])}"


def _why(victim: Victim) -> str:
    return (
        f"sequence {victim.by} lacks {counted(victim.lacking, 'block')}, and {_free(victim.free)}"
    )


def _free(number: int) -> str:
    return f"{number} {be(number)} free" if number else "none is free"


def budget_kept(moment: Moment) -> None:
    planned = moment.planned or {}
    if sum(planned.values()) > moment.budget:
        each = joined([f"{count} of sequence {seq}" for seq, count in planned.items()])
        raise Fault(
            f"{moment.name} plans {counted(sum(planned.values()), 'token')} ({each}), and the step has a budget of "
            f"{moment.budget}"
        )


def all_blocks(moment: Moment) -> None:
    """Whoever does not run any more holds nothing."""
    after = moment.after
    for seq in moment.gone:
        had, has = moment.before.tables[seq], after.tables.get(seq, [])
        if has:
            raise Fault(
                f"{moment.name} preempts sequence {seq}, whose table was {had} and is {has}: it gives back all its "
                "blocks, as a part of a sequence is of no use"
            )
        kept = after.computed.get(seq, 0)
        if kept:
            raise Fault(
                f"{moment.name} preempts sequence {seq}, and {kept} of its tokens still count as computed: with its "
                "blocks, their K and V are lost"
            )
        used = [block for table in after.tables.values() for block in table]
        lost = [block for block in had if block not in after.free and block not in used]
        if lost:
            raise Fault(
                f"{moment.name} preempts sequence {seq}, whose table was {had}, and block {lost[0]} is not free "
                "afterwards, nor in any table: it is lost"
            )


def latest(moment: Moment) -> None:
    """Whoever goes was admitted after all that stay."""
    ran, gone = moment.before.running, moment.gone
    if not gone or gone == ran[len(ran) - len(gone) :]:
        return
    stays = [seq for seq in ran if seq not in gone][-1]
    victim = next(seq for seq in gone if ran.index(seq) < ran.index(stays))
    raise Fault(
        f"{moment.name} preempts sequence {victim}, and sequence {stays}, which was admitted after it, goes on: of "
        f"{ran}, which is in order of admission, the last gives way"
    )


def with_room(moment: Moment) -> None:
    """Nobody gives way in vain."""
    gone, victims = moment.gone, moment.victims
    if len(gone) <= len(victims):
        return
    unneeded = moment.before.running[-len(victims) - 1]
    if victims:
        raise Fault(
            f"{moment.name} preempts {_named(gone)}, and {_named(victims)} would have been enough: with the blocks "
            f"that came free nobody before sequence {victims[-1]} lacks any"
        )
    free = len(moment.before.free)
    raise Fault(
        f"{moment.name} preempts sequence {unneeded}, and there is room: {_lacking(moment)} {_free(free)}"
    )


def _lacking(moment: Moment) -> str:
    """How many blocks those that run lack, all together."""
    state = moment.before
    lacking = sum(
        blocks_for(state.computed[seq] + count, moment.size) - len(state.tables[seq])
        for seq, count in moment.right.planned.items()
        if seq in state.running
    )
    whose = "the one that runs lacks" if len(state.running) == 1 else "those that run lack"
    return f"{whose} {counted(lacking, 'block')}, and" if lacking else f"{whose} no block, though"


def gives_way(moment: Moment) -> None:
    """Where a block is lacking, somebody goes; if nobody else is left, the one that lacks it."""
    for victim in moment.right.victims:
        seq = victim.seq
        if seq not in moment.after.running or _again(moment, seq):
            continue
        if moment.planned is None:
            raise Fault(f"after {moment.name} sequence {seq} still is in running")
        why = (
            "it is the last of those that run itself, so it gives way itself"
            if victim.by == seq
            else f"the last of those that run, sequence {seq}, gives way, and it still runs"
        )
        raise Fault(f"{_why(victim)}: {why}; after {moment.name} running is {moment.after.running}")


def _again(moment: Moment, seq: int) -> bool:
    """Was it preempted and admitted in the same step? Then only what is planned now is computed."""
    planned = (moment.planned or {}).get(seq)
    return planned is not None and moment.after.computed.get(seq) == planned


def nobody_admitted(moment: Moment) -> None:
    victims = moment.victims
    if not victims:
        return
    more = [seq for seq in moment.after.running if seq not in moment.right.running]
    if more:
        whom = "it again" if more[0] in victims else f"sequence {more[0]}"
        raise Fault(
            f"{moment.name} preempts {_named(victims)} and admits {whom} in the same step: what came free is for those "
            "that run"
        )


def text_is_kept(moment: Moment) -> None:
    """Prompts and outputs are as they were."""
    before, after = moment.before, moment.after
    for seq, outputs in before.outputs.items():
        now, who = after.outputs.get(seq), f"sequence {seq}"
        prompt, now_prompt = before.prompts[seq], after.prompts.get(seq)
        if now_prompt != prompt:
            raise Fault(
                f"{moment.name} changes the prompt of {who} from {prompt} to {now_prompt} tokens: outputs stay among "
                "the outputs, or they would be counted twice"
            )
        if now != outputs:
            lost = ": what has been sent to the user is not taken back, nor drawn again"
            raise Fault(
                f"{who} had the outputs {outputs}, and after {moment.name} it has {now if now is not None else 'none'}"
                f"{lost if seq in moment.victims else ''}"
            )


def in_front(moment: Moment) -> None:
    """Victims wait before all others, in the order in which they came."""
    if not moment.victims:
        return
    waiting, right = moment.after.waiting, moment.right.waiting
    if waiting == right:
        return
    told = f"{moment.name} preempts {_named(moment.victims)}, and waiting is {waiting} afterwards, not {right}"
    missing = [seq for seq in right if seq not in waiting]
    if missing:
        raise Fault(f"{told}: {_named(missing)} {be(len(missing))} lost")
    if len(moment.victims) > 1 and sorted(waiting[: len(moment.victims)]) == sorted(moment.victims):
        raise Fault(
            f"{told}: who is preempted later in a step came earlier, and stands before the other"
        )
    if waiting == moment.before.waiting + moment.victims:
        raise Fault(
            f"{told}: whoever ran came before those that wait, and stands before them again"
        )
    raise Fault(f"{told}: victims stand in front, and the others keep their order")


def admitted(moment: Moment) -> None:
    """Without victims: the head of the queue, as long as it fits."""
    if moment.victims or moment.planned is None:
        return
    now = moment.after.running[len(moment.before.running) :]
    right, waiting = moment.right.admitted, moment.before.waiting
    if now == right and moment.after.waiting == moment.right.waiting:
        return
    if len(now) < len(right) and now == right[: len(now)]:
        seq = right[len(now)]
        raise Fault(
            f"{moment.name} admits {_named(now) if now else 'nobody'} of the waiting {waiting}, and sequence {seq} "
            f"fits, too: it needs {_blocks(moment, seq)}"
        )
    if now[: len(right)] == right and len(now) > len(right) and moment.right.waiting:
        head = moment.right.waiting[0]
        if now[len(right)] != head:
            raise Fault(
                f"{moment.name} admits {_named(now)}, and sequence {head}, which stands before, waits, as it needs "
                f"{_blocks(moment, head)}: nobody overtakes"
            )
        raise Fault(
            f"{moment.name} admits {_named(now)}, and sequence {head} does not fit: it needs {_blocks(moment, head)}"
        )
    raise Fault(
        f"after {moment.name} running is {moment.after.running} and waiting {moment.after.waiting}; right is "
        f"{moment.right.running} and {moment.right.waiting}"
    )


def _blocks(moment: Moment, seq: int) -> str:
    """What a waiting sequence needs to be admitted now."""
    length, right = moment.before.length(seq), moment.right
    left = moment.budget - sum(right.planned.values())
    if seq not in right.planned and not left:
        return "a token of the budget, and none is left"
    count = right.planned.get(seq, min(length, left))
    part = (
        f"its {counted(length, 'token')}" if count == length else f"{count} of its {length} tokens"
    )
    return f"{counted(blocks_for(count, moment.size), 'block')} for {part}"


def whole_text(moment: Moment) -> None:
    """Who comes back with outputs computes these, too."""
    if moment.victims or moment.planned is None:
        return
    left = moment.budget - sum(moment.planned.get(seq, 0) for seq in moment.before.running)
    for seq in moment.after.running[len(moment.before.running) :]:
        if seq not in moment.before.waiting:
            return
        prompt, outputs = moment.before.prompts[seq], len(moment.before.outputs[seq])
        plan = moment.planned.get(seq, 0)
        if plan == prompt < min(prompt + outputs, left):
            raise Fault(
                f"sequence {seq} comes back with a prompt of {counted(prompt, 'token')} and "
                f"{counted(outputs, 'output')}, and {moment.name} computes {plan}: K and V of its outputs were lost, "
                f"too, so it is {min(prompt + outputs, left)}"
            )
        left -= plan


def all_planned(moment: Moment) -> None:
    """All tokens that are not computed are planned, within the budget, and count as computed then."""
    if moment.planned is None:
        return
    before, left = moment.before, moment.budget
    for seq in moment.right.running:
        plan, right = moment.planned.get(seq, 0), moment.right.planned.get(seq, 0)
        prompt, outputs = before.prompts[seq], len(before.outputs[seq])
        done = before.computed.get(seq, 0)
        if plan != right:
            when = "is admitted" if seq in moment.right.admitted else "runs"
            few = left < prompt + outputs - done
            why = f", and {left} of the budget {be(left)} left" if few else ""
            raise Fault(
                f"sequence {seq} {when} with a prompt of {counted(prompt, 'token')} and {counted(outputs, 'output')}, "
                f"of which {done} {be(done)} computed{why}: {right} {be(right)} to be computed now, and {moment.name} "
                f"says {plan}"
            )
        if moment.after.computed.get(seq) != done + right:
            raise Fault(
                f"{counted(right, 'token')} of sequence {seq} {be(right)} planned and {done} were computed before, so "
                f"computed[{seq}] is {done + right} after {moment.name}, and it is {moment.after.computed.get(seq)}"
            )
        left -= right
    more = [seq for seq in moment.planned if seq not in moment.right.planned]
    if more:
        raise Fault(f"{moment.name} computes tokens of sequence {more[0]}, which does not run")


def conserved(moment: Moment) -> None:
    after = moment.after
    listed = [block for table in after.tables.values() for block in table]
    before = moment.before
    for block in sorted({*before.free, *[b for table in before.tables.values() for b in table]}):
        times = listed.count(block) + after.free.count(block)
        if times == 0:
            raise Fault(
                f"after {moment.name} block {block} is lost: it is in no table and not free"
            )
        if times > 1:
            where = (
                "free and in a table" if block in listed and block in after.free else "there twice"
            )
            raise Fault(f"after {moment.name} block {block} is {where}")
    for seq in moment.right.running:
        table, computed = after.tables.get(seq, []), after.computed.get(seq, 0)
        right = blocks_for(computed, moment.size)
        if len(table) != right:
            raise Fault(
                f"after {moment.name} sequence {seq} has {counted(computed, 'token')} computed, which need "
                f"{counted(right, 'block')} of {moment.size}, and its table is {table}"
            )


def queues(moment: Moment) -> None:
    for name, now, right in (
        ("running", moment.after.running, moment.right.running),
        ("waiting", moment.after.waiting, moment.right.waiting),
    ):
        if now != right:
            raise Fault(f"after {moment.name} {name} is {now}, and it is to be {right}")


played = Examples(scripts(), play, examples=100)
EXERCISE = Exercise(
    name="preemption",
    title="Who gives way, and how it comes back",
    lesson=8,
    names=("Scheduler",),
    hints=(
        (
            "preempt undoes an admission: five of the attributes change, and two must not. In plan, there are "
            "two loops, one over those that run, one over those that wait; the second one only if nobody was "
            "preempted in the first."
        ),
        (
            "The list of those that run changes while you go through it, so go through a copy, and pass over whoever "
            "is gone. For each: as long as extend says no, preempt the last one; stop when that was the one you wanted "
            "to extend. How many tokens are to be computed? The difference of two numbers, the same for all: new, "
            "running, or coming back."
        ),
        (
            "preempt: out of running, blocks to the free ones, an empty table, 0 computed, and insert(0, ...) into "
            "waiting. Since the latest goes first, inserting each victim at the front leaves them in order of arrival. "
            "plan: keep a flag that somebody was preempted. What is planned is num_tokens minus computed, and then "
            "computed is num_tokens."
        ),
    ),
    checks=(
        Check(
            "budget", "a step computes no more tokens than its budget", played.always(budget_kept)
        ),
        Check("latest", "who was admitted last gives way", played.always(latest)),
        Check(
            "all-blocks",
            "a victim gives back all its blocks, and nothing of it is computed then",
            played.always(all_blocks),
        ),
        Check("with-room", "nobody is preempted while there is room", played.always(with_room)),
        Check(
            "gives-way",
            "where a block is lacking, the last of those that run gives way, be it the one that lacks it",
            played.always(gives_way),
        ),
        Check(
            "nobody-admitted",
            "in a step in which somebody was preempted nobody is admitted",
            played.always(nobody_admitted),
        ),
        Check("text", "a victim keeps its prompt and its outputs", played.always(text_is_kept)),
        Check(
            "in-front",
            "victims wait before all others, in the order in which they came",
            played.always(in_front),
        ),
        Check(
            "recompute",
            "of a victim that comes back, prompt and outputs are computed",
            played.always(whole_text),
        ),
        Check(
            "admitted",
            "the head of the queue is admitted as long as it fits",
            played.always(admitted),
        ),
        Check(
            "planned",
            "all that is not computed is planned, within the budget, and counts as computed then",
            played.always(all_planned),
        ),
        Check(
            "conservation",
            "every block is free or in one table, and tables are as long as they need be",
            played.always(conserved),
        ),
        Check("queues", "every sequence either runs or waits, in its order", played.always(queues)),
    ),
)
