"""The laws of eviction, and how a broken one is told."""

from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import listed
from pagesim_lessons.exercises.eviction.script import Free, Hit, Moment, Take, play, scripts


def free_only(moment: Moment) -> None:
    """What is taken was free; None exactly if nothing was."""
    call, before, after, gave, _ = moment
    if not isinstance(call, Take):
        return
    if gave is None:
        if before.queue:
            raise Fault(f"take() gave None, and {listed(before.queue)} were in the free queue")
        if after != before:
            raise Fault("take() gave None, as no block is free, and has changed something")
        return
    if not 0 <= gave < len(before.counts):
        raise Fault(f"take() gave block {gave}, and blocks are 0 to {len(before.counts) - 1}")
    if before.counts[gave]:
        holder = moment.holder(gave)
        who = f"sequence {call.seq if holder is None else holder}"
        why = (
            "only free blocks are taken"
            if before.queue
            else "no block is free, so None is to be given"
        )
        raise Fault(f"take() gave block {gave}, which {who} holds: {why}")


def front(moment: Moment) -> None:
    call, before, after, gave, _ = moment
    if not isinstance(call, Take) or gave is None:
        return
    if gave != before.queue[0]:
        raise Fault(
            f"take() gave block {gave}, and the free queue was {before.queue}: block {before.queue[0]} stands at the "
            "front, unused for the longest time"
        )
    if after.queue != before.queue[1:]:
        raise Fault(
            f"take() gave block {gave} from the front of {before.queue}, and the free queue is {after.queue} now, not "
            f"{before.queue[1:]}"
        )


def forgotten(moment: Moment) -> None:
    """Whose block is taken, its key is gone from both places."""
    call, before, after, gave, _ = moment
    if not isinstance(call, Take) or gave is None:
        return
    key = before.keys[gave]
    if key is not None and after.by_key.get(key) == gave:
        raise Fault(
            f"take() gave block {gave} for other tokens, and the index still has it under {key!r}: who looks that up "
            "would read the other tokens"
        )
    if key is not None and key in after.by_key:
        raise Fault(f"take() evicts {key!r}, and the index has it for block {after.by_key[key]}")
    if after.keys[gave] is not None:
        raise Fault(
            f"take() gave block {gave} for other tokens, and keys[{gave}] still is {after.keys[gave]!r}: when it is "
            "taken once more, a wrong key would be forgotten"
        )


def kept(moment: Moment) -> None:
    """Nothing else is ever forgotten."""
    call, before, after, gave, _ = moment
    for block, key in enumerate(before.keys):
        if isinstance(call, Take) and block == gave:
            continue
        if key is None or (after.keys[block] == key and after.by_key.get(key) == block):
            continue
        if isinstance(call, Take):
            why = f"only block {gave} was taken" if gave is not None else "no block was taken"
        else:
            why = "content is kept until its block is taken"
        raise Fault(f"{call.shown()} forgets {key!r} of block {block}, and {why}")


def found(moment: Moment) -> None:
    call, before, after, gave, _ = moment
    if not isinstance(call, Hit):
        return
    right = before.by_key.get(call.key)
    if right is None:
        if gave is not None:
            raise Fault(f"{call.shown()} gave block {gave}, and no block has this key")
        if after != before:
            raise Fault(f"{call.shown()} finds nothing, gave None, and has changed something")
        return
    state = "free" if before.counts[right] == 0 else "held"
    if gave is None:
        raise Fault(
            f"{call.shown()} gave None, and block {right} has this key: it is {state}, with its content"
        )
    if gave != right:
        raise Fault(f"{call.shown()} gave block {gave}, and block {right} has this key")


def leaves_queue(moment: Moment) -> None:
    """A hit on a free block takes it out, and leaves the others where they are."""
    call, before, after, gave, _ = moment
    if not isinstance(call, Hit) or gave is None:
        return
    if gave in after.queue:
        raise Fault(
            f"{call.shown()} gave block {gave}, which sequence {call.seq} lists now, and it is in the free queue "
            f"{after.queue} all the same: a later take() would hand it out once more"
        )
    right = [block for block in before.queue if block != gave]
    if after.queue != right:
        raise Fault(
            f"{call.shown()} gave block {gave} and leaves {after.queue} in the free queue: without block {gave} it is "
            f"{right}"
        )


def counted_right(moment: Moment) -> None:
    """A count is the number of tables that list the block."""
    call, _, after, _, tables = moment
    for block, count in enumerate(after.counts):
        true = sum(table.count(block) for table in tables.values())
        if count == true:
            continue
        lists = "1 table lists" if true == 1 else f"{true} tables list"
        raise Fault(f"after {call.shown()} the count of block {block} is {count}, and {lists} it")


def shared_stays(moment: Moment) -> None:
    """What another table lists is not free; what none lists is."""
    call, after = moment.call, moment.after
    if not isinstance(call, Free):
        return
    for block in call.table:
        holder = moment.holder(block)
        if holder is not None and block in after.queue:
            raise Fault(
                f"{call.shown()} puts block {block} into the free queue, and sequence {holder} still lists it"
            )
        if holder is None and block not in after.queue:
            raise Fault(
                f"after {call.shown()} block {block} is in no table any more and not in the free queue: it is lost"
            )
        if after.queue.count(block) > 1:
            raise Fault(
                f"after {call.shown()} block {block} is twice in the free queue {after.queue}"
            )


def tail_first(moment: Moment) -> None:
    call, before, after, _, _ = moment
    if not isinstance(call, Free):
        return
    freed = [block for block in reversed(call.table) if moment.holder(block) is None]
    right = before.queue + freed
    if after.queue == right:
        return
    told = f"{call.shown()} changes the free queue from {before.queue} to {after.queue}"
    if after.queue == before.queue + freed[::-1]:
        raise Fault(
            f"{told}, head first: then block {freed[-1]}, the beginning, is evicted before block {freed[0]}, which "
            f"nobody can find without it; tail first it is {right}"
        )
    if after.queue in (freed + before.queue, freed[::-1] + before.queue):
        raise Fault(
            f"{told}: what was used last stands in front, and would be evicted first; blocks come back at the back, "
            f"{right}"
        )
    raise Fault(f"{told}, and it is to be {right}")


played = Examples(scripts(), play, examples=100)
EXERCISE = Exercise(
    name="eviction",
    title="Which cached block is forgotten first",
    lesson=7,
    names=("BlockCache",),
    hints=(
        (
            "A block has two lives that know nothing of each other: who lists it (its count, and the queue), and what "
            "it holds (its key, and the index). Which of the three methods changes which?"
        ),
        (
            "take is the only one that forgets, and it forgets in two places. hit never forgets; but a block that was "
            "free has to leave the queue, from wherever it stands. free touches no key; it walks the table from its "
            "end, and only what comes down to a count of 0 joins the queue."
        ),
        (
            "For a list: pop(0) takes the front, remove(block) takes one from the middle, append adds at the back. In "
            "hit, look at the count before you raise it: only if it is 0 the block is in the queue. In take, look "
            "whether the block has a key, delete that key from the index, and set the block's own to None."
        ),
    ),
    checks=(
        Check(
            "free-only",
            "only free blocks are taken; None if there is none",
            played.always(free_only),
        ),
        Check("front", "the block at the front of the free queue is taken", played.always(front)),
        Check(
            "forgotten",
            "when a block is taken, its old content can no longer be found",
            played.always(forgotten),
        ),
        Check("kept", "content is kept until its block is taken", played.always(kept)),
        Check("found", "a hit gives the block that has the key, free or not", played.always(found)),
        Check(
            "leaves-queue",
            "a block that is hit leaves the free queue, and the others keep their places",
            played.always(leaves_queue),
        ),
        Check(
            "shared-stays",
            "a block is in the free queue exactly if no table lists it",
            played.always(shared_stays),
        ),
        Check(
            "tail-first",
            "a sequence's blocks go to the back of the free queue, the tail first",
            played.always(tail_first),
        ),
        Check(
            "refcount",
            "a block's count is the number of tables that list it",
            played.always(counted_right),
        ),
    ),
)
