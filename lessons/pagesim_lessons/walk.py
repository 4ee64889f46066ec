"""A run under the teacher's finger: it is done in full at once, and then walked forward and looked at.

Knows nothing about lessons: it answers with values and with pictures that no longer change.
"""

from collections.abc import Iterable
from functools import cached_property

from rich.console import Group, RenderableType
from rich.text import Text

from pagesim.core import events as ev
from pagesim.core.memory import KVCacheManager
from pagesim.core.types import BlockId, Geometry, SeqId
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain
from pagesim.replay.free_queue import FreeQueue
from pagesim.replay.keeper import Keeper
from pagesim.replay.memory_map import changed_blocks, memory_map
from pagesim.replay.run_state import RunState, SequenceView
from pagesim.replay.timeline import TimelineFold
from pagesim.replay.waste import WasteMeter
from pagesim.sim.scenario import Scenario, load_scenario, parse_scenario
from pagesim.views.block_tables import BlockTables
from pagesim.views.moment_bar import MomentBar
from pagesim.views.queues import Queues, waiting_views
from pagesim.views.step_map import StepMap

MEMORY, TABLES, QUEUES, BAR = "memory", "tables", "queues", "bar"


class Walk:
    """One scenario's run. ``place`` counts events, as a cursor's does; the walk begins before the first.

    ``memory``: a fresh one to run it in, instead of the scenario's own.
    """

    def __init__(self, story: Scenario, memory: KVCacheManager | None = None) -> None:
        keeper = Keeper()
        loop = story.loop(lambda _: [keeper], memory)
        loop.run()
        self.story = story
        self.geometry: Geometry = loop.scheduler.memory.geometry
        self.events = keeper.events
        self._cursor = Cursor(self.geometry, keeper.events)
        self._seqs: dict[str, SeqId] = {}
        for event in self.events:
            if isinstance(event, ev.RequestSubmitted):
                self._seqs[f"{event.request}.{event.sample}"] = event.seq
                if not event.sample:
                    self._seqs[event.request] = event.seq

    @classmethod
    def of(cls, name: str) -> "Walk":
        """A shipped scenario's."""
        return cls(load_scenario(name))

    @classmethod
    def told(cls, name: str, toml: str, memory: KVCacheManager | None = None) -> "Walk":
        """That of a scenario written in TOML (docs/scenarios.md lists the fields)."""
        return cls(parse_scenario(name, name, toml.encode()), memory)

    # -- moves -------------------------------------------------------------------------------------------

    def until(self, *kinds: str, name: str = "") -> ev.Event:
        """Go to just after the next event of one of these kinds (of the sequence called ``name``, if given).

        Kinds are a log's names: ``taken``, ``preempted``, ``planned``, ... Raises LookupError if there is none.
        """
        seq = self._seqs[name] if name else None
        place = self._cursor.find_next(kinds, seq)
        if place is None:
            raise LookupError(f"{self.story.name}: no {' or '.join(kinds)} after {self.place}")
        self._cursor.seek(place)
        return self.events[place - 1]

    def step(self) -> "ev.StepPlanned":
        """Go to the next step, just after it is planned."""
        event = self.until("planned")
        assert isinstance(event, ev.StepPlanned)
        return event

    def to_step(self, number: int) -> None:
        """Go forward or back to a step, just after it is planned."""
        self._cursor.seek_step(number)

    def to_end(self) -> None:
        self._cursor.seek(len(self.events))

    def to_start(self) -> None:
        self._cursor.seek(0)

    # -- questions ---------------------------------------------------------------------------------------

    @property
    def place(self) -> int:
        return self._cursor.place

    @property
    def state(self) -> RunState:
        """The state here; it changes as the walk goes on."""
        return self._cursor.state

    @property
    def sentence(self) -> str:
        """What the last event was, with its arithmetic."""
        return self.explain(self.place)

    def explain(self, place: int) -> str:
        """What the event that leads to ``place`` is."""
        before = Cursor(self.geometry, self.events)
        before.seek(place - 1)
        return explain(self.events[place - 1], before.state, self.story.words)

    def of_kind(self, *kinds: str) -> list[ev.Event]:
        """All events of these kinds, of the whole run."""
        return [self.events[place - 1] for place in self._cursor.places_of(kinds)]

    def view(self, name: str) -> SequenceView:
        """The living sequence of this name."""
        for view in self.state.sequences.values():
            if view.name == name:
                return view
        raise LookupError(f"{self.story.name}: no {name} at event {self.place}")

    def table(self, name: str) -> list[BlockId]:
        return list(self.view(name).table)

    def written(self, name: str) -> int:
        """Tokens of the sequence that are in the cache, or will be when the planned step has run."""
        return self.view(name).written

    def count(self, block: BlockId) -> int:
        """The block's reference count."""
        return self.state.ref_counts.get(block, 0)

    @property
    def running(self) -> list[str]:
        """Names, in order of admission."""
        return [self.state.sequences[seq].name for seq in self.state.running]

    @property
    def waiting(self) -> list[str]:
        """Names, head of the queue first."""
        return [view.name for view in waiting_views(self.state)]

    def word(self, token: int) -> str:
        """The word of a token id, if the scenario's prompts and outputs are words."""
        return self.story.words[token]

    def text(self, name: str) -> list[str]:
        """The words of a sequence so far, prompt and outputs."""
        view = self.view(name)
        arrived = next(
            event
            for event in self.events
            if isinstance(event, ev.RequestArrived) and event.request == view.request
        )
        tokens = [*arrived.prompt]
        for event in self.events[: self.place]:
            if isinstance(event, ev.TokensSampled):
                pairs = zip(event.seqs, event.tokens, strict=True)
                tokens += [token for seq, token in pairs if seq == view.seq]
        return [self.word(token) for token in tokens]

    @property
    def free_queue(self) -> list[BlockId]:
        """Free blocks, the one handed out next first. Paged memory only."""
        queue = FreeQueue(
            self.geometry,
            keep_unkeyed_first=self.story.memory.keep_unkeyed_first,
            free_order=self.story.free_order,
        )
        for event in self.events[: self.place]:
            queue.apply(event)
        return queue.blocks

    @cached_property
    def held_by_step(self) -> list[int]:
        """Blocks held in each step, of the whole run."""
        state, held = RunState(self.geometry), []
        for event in self.events:
            state.apply(event)
            if isinstance(event, ev.StepPlanned):
                held.append(state.num_held)
        return held

    @cached_property
    def num_computed(self) -> int:
        """Tokens computed by the whole run, those computed again included."""
        return sum(sum(e.counts) for e in self.events if isinstance(e, ev.StepPlanned))

    @cached_property
    def waste(self) -> WasteMeter:
        """Where the memory went over the whole run."""
        meter = WasteMeter(self.geometry)
        for event in self.events:
            meter.apply(event)
        return meter

    @cached_property
    def lanes(self) -> TimelineFold:
        """What each sequence did in each step of the whole run; ``views.timeline.Timeline`` draws it."""
        fold = TimelineFold()
        for event in self.events:
            fold.apply(event)
        return fold

    # -- pictures ----------------------------------------------------------------------------------------

    def picture(
        self, *parts: str, only: Iterable[BlockId] | None = None, says: bool = True
    ) -> RenderableType:
        """The last event's sentence and, as they are now, the parts asked for: MEMORY, BAR, QUEUES, TABLES.

        ``only``: the blocks to mark, instead of those that the last event changed.
        """
        state = self.state.copy()
        shown = memory_map(state)
        changed = frozenset(only) if only is not None else self._changed()
        drawn: list[RenderableType] = []
        if says and self.place:
            drawn.append(Text(self.sentence, style="italic"))
        for part in parts or (MEMORY, TABLES):
            if part == MEMORY:
                drawn.append(StepMap(shown, changed=changed, roomy=True))
            elif part == BAR:
                drawn.append(MomentBar(shown))
            elif part == QUEUES:
                drawn.append(Queues(state))
            else:
                drawn.append(BlockTables(state, changed=changed))
        return Group(*drawn)

    def _changed(self) -> frozenset[BlockId]:
        event = self._cursor.event
        if event is None:
            return frozenset()
        return frozenset(changed_blocks(event, self._cursor.state_before()))
