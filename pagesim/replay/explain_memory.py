"""Sentences about memory: what a sequence takes, shares, copies and gives back, and what can be found.

Each function tells one event from the state before it. Knows nothing about why a sequence came or goes.
"""

from pagesim.core import events as ev
from pagesim.core.types import blocks_for
from pagesim.replay import explain_swap, reasons
from pagesim.replay.phrases import be, changed, counted, listed, named_all, size_of, some_of, verb
from pagesim.replay.reasons import called, is_contiguous, is_on_host, name_of, view_of
from pagesim.replay.run_state import RunState, SequenceView


def taken(event: ev.BlocksTaken, before: RunState) -> str:
    view, size = view_of(before, event.seq), size_of(event.blocks)
    name = name_of(before, event.seq)
    if not isinstance(event.blocks, range):
        why = "" if view is None else f": {_why_taken(view, size, before.geometry.block_size)}"
        return f"{name} takes {listed(event.blocks)}{why}; {_free(before, -size)}"
    text = f"{name} reserves {listed(event.blocks, 'slot')}, {size:,} in one piece"
    if view is not None:
        text += f", for its {counted(view.tokens, 'token')} and what they may become"
    if event.wanted < size:
        text += f": {event.wanted:,} asked for + {size - event.wanted:,} by rounding up"
    return f"{text}; {_free(before, -size, 'slot')}"


def _why_taken(view: SequenceView, more: int, block_size: int) -> str:
    held, tokens = len(view.table), view.tokens
    comes_back = view.forked and view.preemptions and view.written + 1 < tokens
    if view.status == "running" and not comes_back:
        slots = held * block_size
        text = f"{view.written:,} of its {counted(slots, 'slot')} {be(view.written)} written"
        return f"{text}, and the next step needs more"
    room = (held + more) * block_size
    if room < tokens:
        text = f"room for the first {room:,} of its {tokens:,} tokens"
    else:
        need = counted(blocks_for(tokens, block_size), "block")
        text = f"its {counted(tokens, 'token')} {verb(tokens, 'needs')} {need}"
    return f"{text}, {held:,} of them shared" if held else text


def shared(event: ev.BlocksShared, before: RunState) -> str:
    view, size = view_of(before, event.seq), size_of(event.blocks)
    blocks = () if isinstance(event.blocks, range) else event.blocks
    counts = [before.ref_counts.get(block, 0) for block in blocks]
    lay_free = counts.count(0)
    text = f"{name_of(before, event.seq)} lists {listed(event.blocks)} without copying"
    if view is not None and not reasons.is_forked_now(view):
        tokens = counted(size * before.geometry.block_size, "token")
        text += f", as the cache has its first {tokens}"
    if lay_free:
        text += f"; {lay_free:,} of {size:,} lay free"
    elif counts:
        least, most = min(counts) + 1, max(counts) + 1
        owners = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        text += f"; {owners} sequences now list {'it' if size == 1 else 'each of them'}"
    return f"{text}; {_free(before, -lay_free)}"


def replaced(event: ev.BlockReplaced, before: RunState) -> str:
    view, listing = view_of(before, event.seq), before.ref_counts.get(event.old, 0)
    text = f"{name_of(before, event.seq)} has to write into block {event.old}"
    if listing > 1:
        names = some_of([called(holder.name) for holder in before.holders(event.old)])
        text += f", which {listing:,} sequences list ({names})"
    text += f": block {event.new} takes its place"
    written = view.written % before.geometry.block_size if view is not None else 0
    if written:
        text += f", and the {counted(written, 'slot')} written so far {be(written)} to be copied"
    if listing > 1:
        text += f"; {counted(listing - 1, 'sequence')} still {verb(listing - 1, 'lists')} block {event.old}"
    return f"{text}; {_free(before, int(listing == 1) - 1)}"


def moved(event: ev.RunMoved, before: RunState) -> str:
    view, old, new = view_of(before, event.seq), size_of(event.old), size_of(event.new)
    text = f"{name_of(before, event.seq)} outgrew its {counted(old, 'slot')}"
    text += f" and moves to {listed(event.new, 'slot')}, {new:,} in one piece"
    if event.wanted < new:
        text += f" ({event.wanted:,} asked for + {new - event.wanted:,} by rounding up)"
    if view is not None and view.written:
        text += f"; its {counted(view.written, 'written slot')} {be(view.written)} copied"
    return f"{text}; {_free(before, old - new, 'slot')}"


def freed(event: ev.TableFreed, before: RunState) -> str:
    view, released = view_of(before, event.seq), event.released
    size, name = size_of(released), name_of(before, event.seq)
    if event.seq in before.moving:
        name += ", dropped,"
    if isinstance(released, range):
        text = f"{name} gives back {listed(released, 'slot')}, {size:,} in one piece"
        if view is not None:
            text += f", {view.written:,} of them written"
        return f"{text}; {_free(before, size, 'slot')}"
    text = f"{name} gives back {named_all(released, before.geometry)}{', tail first' if size > 1 else ''}"
    findable = sum(block in before.cached for block in released)
    if findable:
        text += f"; {findable:,} of {size:,} {be(findable)} still findable"
    free_again = frozenset(released)
    stay = [block for block in view.table if block not in free_again] if view is not None else []
    if stay:
        text += (
            f"; {named_all(stay, before.geometry)} {verb(len(stay), 'stays')}, because others list"
        )
        text += " it" if len(stay) == 1 else " them"
    if is_on_host(before, released if view is None else view.table):
        return f"{text}; {changed(before.num_host_free, size, 'host block', 'free')}"
    return f"{text}; {_free(before, size)}"


def evicted(event: ev.BlockEvicted, before: RunState) -> str:
    text = (
        f"block {event.block} is about to be taken, so the content it kept while free is forgotten"
    )
    return f"{text}; {_findable(before, -1)}"


def published(event: ev.BlocksPublished, before: RunState) -> str:
    size = size_of(event.blocks)
    text = f"{listed(event.blocks)} of {name_of(before, event.seq)} can be found from now on"
    text += f", because the next step fills {'it' if size == 1 else 'them'}"
    where = reasons.positions(view_of(before, event.seq), event.blocks)
    if where is not None:
        block_size = before.geometry.block_size
        first, last = where.start * block_size + 1, where.stop * block_size
        text += f" with token {first:,}" if first == last else f" with tokens {first:,} to {last:,}"
    return f"{text}; {_findable(before, size)}"


def withdrawn(event: ev.BlocksWithdrawn, before: RunState) -> str:
    size = size_of(event.blocks)
    text = f"{listed(event.blocks)} of {name_of(before, event.seq)} cannot be found any more"
    text += f", because the step that was to fill {'it' if size == 1 else 'them'} does not"
    return f"{text}; {_findable(before, -size)}"


def copied(event: ev.BlockCopied, before: RunState) -> str:
    num_blocks, slots = before.geometry.num_blocks, event.slots
    if before.geometry.num_host_blocks and max(event.source, event.target) >= num_blocks:
        return explain_swap.copied(event, before)
    text = f"{counted(slots, 'slot')} {be(slots)} to be copied from "
    if is_contiguous(before):
        source, target = range(event.source, event.source + slots), event.target
        to = listed(range(target, target + slots), "slot")
        return f"{text}{listed(source, 'slot')} to {to}, before the next step writes"
    holders = before.holders(event.target)
    whose = f" of {called(holders[0].name)}" if len(holders) == 1 else ""
    text += f"block {event.source} to block {event.target}{whose}, before the step writes"
    listing = before.ref_counts.get(event.source, 0)
    if listing:
        text += f"; block {event.source} stays with {counted(listing, 'sequence')}"
    return text


def cache_reset(_: ev.CacheReset, before: RunState) -> str:
    text = "all cached content is forgotten, as no block is held"
    return f"{text}; {_findable(before, -len(before.cached))}"


def _free(before: RunState, change: int, noun: str = "block") -> str:
    return changed(before.num_free, change, noun, "free")


def _findable(before: RunState, change: int) -> str:
    return changed(len(before.cached), change, "block", "findable")
