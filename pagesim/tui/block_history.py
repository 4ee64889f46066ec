"""The life of one block up to a place of a run, as lines: taken, shared, copied, found, forgotten, given back.

Knows nothing about screens.
"""

from bisect import bisect_right
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import BlockId
from pagesim.replay.log import UnknownEvent
from pagesim.replay.phrases import named
from pagesim.replay.run_state import RunState
from pagesim.tui.viewed import ViewedRun

SWAPS = (ev.TableSwappedOut, ev.TableSwappedIn)
GAINS = (ev.BlocksTaken, ev.BlocksShared, ev.RunMoved, ev.BlockReplaced, *SWAPS)


class Deed(NamedTuple):
    """Something that happened to the block: at which place, in which step, and what, in a few words."""

    place: int
    step: int | None
    words: str


def recent_deeds(run: ViewedRun, block: BlockId, most: int) -> tuple[list[Deed], int]:
    """The last ``most`` deeds up to where the run stands, newest first; and how many came before those."""
    places = run.survey.places_of_block(block)
    count = bisect_right(places, run.place)
    shown = places[max(count - most, 0) : count][::-1]
    deeds = [
        Deed(at, run.step_at(at), _words(run, run.cursor.events[at - 1], block)) for at in shown
    ]
    return deeds, count - len(shown)


def present(run: ViewedRun, block: BlockId) -> list[str]:
    """Who holds the block now and since when, or that it is free; a sentence each."""
    state = run.cursor.state
    holders = [view for view in state.sequences.values() if block in view.table]
    if not holders:
        kept = " and its content can still be found" if block in state.cached else ""
        return [f"free{kept}"]
    lines = []
    size = state.geometry.block_size
    for view in holders:
        since = _since(run, block, view.seq)
        when = "" if since is None else f" since {step_words(since.step)}, event {since.place:,}"
        at = view.table.index(block)
        filled = min(max(view.written - at * size, 0), size)
        text = f"{view.name} holds it{when}"
        if not isinstance(view.table, range):
            text += f"; logical block {at:,}, {filled} of {size} slots filled"
        lines.append(text)
    return lines


def step_words(step: int | None) -> str:
    return "before step 0" if step is None else f"step {step:,}"


def _since(run: ViewedRun, block: BlockId, seq: int) -> Deed | None:
    """When the sequence came to hold the block it holds now."""
    places = run.survey.places_of_block(block)
    for place in reversed(places[: bisect_right(places, run.place)]):
        event = run.cursor.events[place - 1]
        if isinstance(event, GAINS):
            gained = not isinstance(event, ev.BlockReplaced) or event.new == block
            gained = gained and not (isinstance(event, ev.RunMoved) and block not in event.new)
            gained = gained and not (isinstance(event, SWAPS) and block not in event.blocks)
            if event.seq == seq and gained:
                return Deed(place, run.step_at(place), "")
    return None


def _words(run: ViewedRun, event: "ev.Event | UnknownEvent", block: BlockId) -> str:
    state = run.cursor.state
    match event:
        case ev.BlocksTaken():
            return f"taken by {_name(run, state, event.seq)}"
        case ev.BlocksShared():
            return f"listed by {_name(run, state, event.seq)} too, or found in the cache"
        case ev.BlockReplaced():
            name = _name(run, state, event.seq)
            if event.new == block:
                return f"taken by {name}, for a copy of block {event.old}"
            return f"left by {name}, which writes into block {event.new} instead"
        case ev.BlockCopied():
            geometry = run.cursor.geometry
            if event.target == block:
                return f"{event.slots} slots copied here from {named(event.source, geometry)}"
            return f"{event.slots} slots copied from here to {named(event.target, geometry)}"
        case ev.TableSwappedOut() | ev.TableSwappedIn():
            way = "out to the host" if isinstance(event, ev.TableSwappedOut) else "in from the host"
            done = "taken" if block in event.blocks else "left"
            return f"{done} by {_name(run, state, event.seq)}, swapped {way}"
        case ev.RunMoved():
            word = "in the new run" if block in event.new else "in the run left"
            return f"{word} of {_name(run, state, event.seq)}, which moved"
        case ev.TableFreed():
            freed = "given back" if block in event.released else "left, others still list it,"
            return f"{freed} by {_name(run, state, event.seq)}"
        case ev.BlockEvicted():
            return "evicted: its cached content is forgotten"
        case ev.BlocksPublished():
            return f"published: its content can be found ({_name(run, state, event.seq)})"
        case ev.BlocksWithdrawn():
            return f"withdrawn: it cannot be found any more ({_name(run, state, event.seq)})"
        case _:
            return ""


def _name(run: ViewedRun, state: RunState, seq: int) -> str:
    """A sequence's name; of one that has ended, its request's."""
    view = state.sequences.get(seq)
    return view.name if view is not None else run.survey.names.get(seq, f"sequence {seq}")
