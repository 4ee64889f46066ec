"""Sentences about the host pool: who goes there and why, which blocks take whose place, who waits to return.

Each function tells one event, or a part of it, from the state before it. Host blocks are called h0, h1, ...
"""

from collections.abc import Sequence

from pagesim.core import events as ev
from pagesim.core.types import BlockId, blocks_for
from pagesim.replay import reasons
from pagesim.replay.phrases import be, changed, counted, listed, named, named_all, verb
from pagesim.replay.reasons import name_of, view_of
from pagesim.replay.run_state import RunState, SequenceView


def fate(event: ev.SequencePreempted, before: RunState) -> str:
    """What becomes of the tokens that a preempted sequence has computed."""
    view, name = view_of(before, event.seq), name_of(before, event.seq)
    outputs = ""
    if view is not None and view.outputs:
        outputs = f" and {'its' if event.way == 'swap' else 'keeps its'} {counted(view.outputs, 'output token')}"
    if event.way != "swap":
        lost = event.lost_tokens
        loses = (
            f"loses its {counted(lost, 'computed token')}" if lost else "had computed nothing yet"
        )
        return f"{_no_room(event, before)}{name} {loses}{outputs}"
    if view is None:
        return f"{name} goes to the host and loses nothing"
    kept = f"keeps its {counted(view.written, 'computed token')}{outputs}"
    if is_with_its_group(event, before):
        return f"it goes to the host, too, and {kept}"
    size, free = _size(before, view), before.num_host_free
    host = f"{'goes' if size == 1 else 'go'} to the host, where {free:,} {be(free)} free"
    return f"{_whose(before, view, size)} {host}; {name} {kept}"


def _no_room(event: ev.SequencePreempted, before: RunState) -> str:
    if event.way != "host full":
        return ""
    view = view_of(before, event.seq)
    if view is None or is_with_its_group(event, before):
        return "the host has no room for its group, so "
    size, free = _size(before, view), before.num_host_free
    needs = f"{verb(size, 'needs')} as many on the host, where {free:,} {be(free)} free"
    return f"{_whose(before, view, size)} {needs}, so "


def is_with_its_group(event: ev.SequencePreempted, before: RunState) -> bool:
    """Was one of its group told of before it?"""
    view = view_of(before, event.seq)
    return (
        view is not None
        and view.forked
        and any(other.status == "waiting" for other in reasons.siblings(before, view))
    )


def _size(before: RunState, view: SequenceView) -> int:
    return reasons.blocks_to_move(before, reasons.group_now(before, view))


def _whose(before: RunState, view: SequenceView, size: int) -> str:
    together = len(reasons.group_now(before, view))
    group = f" of its group of {together:,}" if together > 1 else ""
    return f"{'the' if group else 'its'} {counted(size, 'block')}{group}"


# -- tables move -----------------------------------------------------------------------------------------


def swapped_out(event: ev.TableSwappedOut, before: RunState) -> str:
    view, name = view_of(before, event.seq), name_of(before, event.seq)
    new = named_all(event.blocks, before.geometry)
    if view is None or isinstance(event.blocks, range) or isinstance(view.table, range):
        return f"{name} moves to the host: its table lists {new}"
    text = f"{name} moves to the host: {_in_place(view, event.blocks, before)}"
    rest = view.table[len(event.blocks) :]
    if rest:
        nothing = "in which nothing is written yet"
        text += f"; {listed(rest)}, {nothing}, {be(len(rest))} given back"
    return f"{text}; {_both_free(view, event.blocks, before)}"


def swapped_in(event: ev.TableSwappedIn, before: RunState) -> str:
    view, name = view_of(before, event.seq), name_of(before, event.seq)
    new = named_all(event.blocks, before.geometry)
    if view is None or isinstance(event.blocks, range) or isinstance(view.table, range):
        return f"{name} comes back from the host: its table lists {new}"
    text = f"{name} comes back from the host"
    group = reasons.group_now(before, view)
    if all(reasons.is_on_host(before, other.table) for other in group):
        text += f": {_fits(before, group)}"
    else:
        text += " with its group"
    return (
        f"{text}; {_in_place(view, event.blocks, before)}; {_both_free(view, event.blocks, before)}"
    )


def _fits(before: RunState, group: Sequence[SequenceView]) -> str:
    size, free = reasons.blocks_to_move(before, group), before.num_free
    if any(view.tokens - view.written != 1 for view in group):
        return f"{_whose(before, group[0], size)} fit into the {free:,} that {be(free)} free"
    more = reasons.blocks_for_next(before, group)
    needs = _sum(before, group[0], size, more, 0)
    return f"{needs}, and {free:,} {be(free)} free"


def _sum(before: RunState, view: SequenceView, size: int, more: int, keep: int) -> str:
    text = _whose(before, view, size)
    text += f" + {more:,} for the next tokens" if more else ""
    text += f" + {keep:,} to stay free" if keep else ""
    return text + (f" = {size + more + keep:,}" if more or keep else "")


def _in_place(view: SequenceView, blocks: Sequence[BlockId], before: RunState) -> str:
    """Which blocks it lists now, instead of which; and which of them were brought by others."""
    old = view.table[: len(blocks)]
    text = f"its table lists {named_all(blocks, before.geometry)} in place of "
    text += named_all(old, before.geometry)
    there = [block for block in blocks if before.ref_counts.get(block, 0)]
    if there:
        text += f"; {named_all(there, before.geometry)} {be(len(there))} there already: what is shared moves once"
    return text


def _both_free(view: SequenceView, blocks: Sequence[BlockId], before: RunState) -> str:
    taken = sum(not before.ref_counts.get(block, 0) for block in blocks)
    given = sum(before.ref_counts.get(block, 0) == 1 for block in view.table)
    leaves = not reasons.is_on_host(before, view.table)
    on_device, on_host = (given, -taken) if leaves else (-taken, given)
    free, host = before.num_free, before.num_host_free
    device = changed(free, on_device, "block", "free")
    return f"{device}, {changed(host, on_host, 'host block', 'free')}"


def returned(event: ev.SequenceReturned, before: RunState) -> str:
    view = view_of(before, event.seq)
    text = f"{name_of(before, event.seq)} runs again with all its {counted(event.tokens, 'computed token')}"
    if view is None:
        return text
    return f"{text}; it holds {counted(len(view.table), 'block')}, and {before.num_free:,} {be(before.num_free)} free"


def copied(event: ev.BlockCopied, before: RunState) -> str:
    """A block's content goes from one pool to the other."""
    out = event.target >= before.geometry.num_blocks
    slots = event.slots
    where = "to the host" if out else "back from the host"
    text = f"{counted(slots, 'slot')} {be(slots)} to be copied {where}: from {named(event.source, before.geometry)}"
    text += f" to {named(event.target, before.geometry)}{_holders(event.target, before)}, before the step writes"
    listing = before.ref_counts.get(event.source, 0)
    if listing:
        text += (
            f"; {named(event.source, before.geometry)} stays with {counted(listing, 'sequence')}"
        )
    return text


def _holders(block: BlockId, before: RunState) -> str:
    holders = before.holders(block)
    if len(holders) == 1:
        return f" of {reasons.called(holders[0].name)}"
    return f", which {len(holders):,} sequences list" if holders else ""


# -- who waits -------------------------------------------------------------------------------------------


def waits_to_return(event: ev.AdmissionBlocked, before: RunState, view: SequenceView) -> str:
    group, free = reasons.group_now(before, view), before.num_free
    size = reasons.blocks_to_move(before, group)
    text = f"{name_of(before, event.seq)} waits to come back from the host: "
    more = _growth(event, before, group)
    if more is None or size + more + event.keep_free <= free:
        text += f"{_whose(before, view, size)} and the next tokens do not fit into the {free:,} that are free"
    else:
        text += f"{_sum(before, view, size, more, event.keep_free)}, and {free:,} {be(free)} free"
    return f"{text}; until then nobody new is admitted"


def _growth(
    event: ev.AdmissionBlocked, before: RunState, group: Sequence[SequenceView]
) -> int | None:
    """Blocks for the next tokens; ``None``: it is not told how many of those there are."""
    computed = sum(view.written for view in group)
    if event.tokens - computed == len(group):
        return reasons.blocks_for_next(before, group)
    if len(group) > 1:
        return None
    held = len(group[0].table)
    return max(blocks_for(event.tokens, before.geometry.block_size) - held, 0)


def queue(before: RunState, num_waiting: int, *, blocked: bool) -> str:
    """What a step's plan leaves waiting, some of it on the host."""
    on_host = min(len(reasons.swapped(before)), num_waiting)
    text = f"{num_waiting:,} {verb(num_waiting, 'waits')}"
    if on_host == num_waiting:
        text += " on the host"
    else:
        text += f", {on_host:,} of them on the host"
    if blocked:
        text += f", {'' if num_waiting == 1 else 'the first '}for memory"
    if on_host < num_waiting:
        text += f"; nobody new is admitted while {'it is' if on_host == 1 else 'they are'} there"
    return text
