"""Sequences that come and go, as data, how they are drawn, and how they are played on a learner's cache.

The player knows who has which table. Which blocks these are, the learner's cache decided.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.exercise import RETURNS, Fault
from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, items, whole, whole_or_none, wholes
from pagesim.practice.reading import shown

NUM_SEQS = 3
NUM_PROMPTS = 3


class Start(NamedTuple):
    """A sequence begins with the first ``num_blocks`` blocks of prompt number ``prompt`` (from 1)."""

    seq: int
    prompt: int
    num_blocks: int


class Grow(NamedTuple):
    """It takes one more block, which is not full; where it is not there, it begins with that."""

    seq: int


class End(NamedTuple):
    seq: int


Operation = Start | Grow | End


class Script(NamedTuple):
    num_blocks: int
    operations: list[Operation]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    row: list[Operation] = []
    live: list[int] = []
    for kind in draw(st.lists(st.sampled_from([Start, Grow, End]), min_size=8, max_size=18)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if absent and (kind is Start or not live):
            prompt, most = draw(st.integers(1, NUM_PROMPTS)), draw(st.integers(1, 4))
            row.append(Start(absent[0], prompt, most))
            live.append(absent[0])
        elif kind is Grow:
            row.append(Grow(draw(st.sampled_from(live))))
        else:
            seq = draw(st.sampled_from(live))
            row.append(End(seq))
            live.remove(seq)
    return Script(draw(st.sampled_from([4, 5, 3, 6])), row)


class State(NamedTuple):
    """The learner's attributes, read: free_queue, counts, keys, index."""

    queue: list[int]
    counts: list[int]
    keys: list[str | None]
    by_key: dict[str, int]


class Take(NamedTuple):
    seq: int

    def shown(self) -> str:
        return "take()"


class Hit(NamedTuple):
    seq: int
    key: str

    def shown(self) -> str:
        return f"hit({self.key!r})"


class Free(NamedTuple):
    seq: int
    table: list[int]

    def shown(self) -> str:
        return f"free({self.table})"


class Moment(NamedTuple):
    """One call, what it gave, and what the cache was before and after. ``tables`` are those after it."""

    call: Take | Hit | Free
    before: State
    after: State
    gave: int | None
    tables: dict[int, list[int]]

    def holder(self, block: int) -> int | None:
        """A sequence, other than the one that calls, whose table lists the block."""
        others = [s for s, table in self.tables.items() if block in table and s != self.call.seq]
        return others[0] if others else None


@dataclass(slots=True)
class Player:
    """Plays a script on the learner's class; only what makes sense is called."""

    learner: Learner
    script: Script
    cache: Subject = field(init=False)
    state: State = field(init=False)
    film: Film = field(init=False)
    tables: dict[int, list[int]] = field(default_factory=dict)

    def moments(self) -> Iterator[Moment]:
        num_blocks, operations = self.script
        self.cache = self.learner.make("cache", "BlockCache", num_blocks)
        self.learner.film = self.film = Film(num_blocks, 1)
        self.state = self._read()
        for operation in operations:
            match operation:
                case Start(seq, prompt, most) if seq not in self.tables:
                    keys = [f"{'ABC'[prompt - 1]}{at}" for at in range(most)]
                    if self._fits(keys):
                        yield from self._start(seq, keys)
                case Grow(seq) if seq in self.tables or self.state.queue:
                    self.tables.setdefault(seq, [])
                    yield self._take(seq)
                case End(seq) if seq in self.tables:
                    yield self._free(seq)

    def _fits(self, keys: list[str]) -> bool:
        """Is there room for a prompt with these keys?"""
        found = self._found(keys)
        kept = [block for block in self.state.queue if block not in found]
        return len(keys) - len(found) <= len(kept)

    def _found(self, keys: list[str]) -> list[int]:
        found = []
        for key in keys:
            if key not in self.state.by_key:
                break
            found.append(self.state.by_key[key])
        return found

    def _start(self, seq: int, keys: list[str]) -> Iterator[Moment]:
        """Hits, up to the first that is missing; then blocks are taken, and filled."""
        self.tables[seq] = []
        for key in keys:
            moment = self._hit(seq, key)
            yield moment
            if moment.gave is None:
                break
        for key in keys[len(self.tables[seq]) :]:
            moment = self._take(seq)
            yield moment
            if moment.gave is None:
                return
            self.cache.call("register", moment.gave, key)
            self.state = self._read()
            self._shoot()

    def _take(self, seq: int) -> Moment:
        gave = whole_or_none(self.cache.call("take"), "what take() gave")
        return self._seen(Take(seq), gave)

    def _hit(self, seq: int, key: str) -> Moment:
        gave = whole_or_none(self.cache.call("hit", key), f"what hit({key!r}) gave")
        return self._seen(Hit(seq, key), gave)

    def _free(self, seq: int) -> Moment:
        table = self.tables.pop(seq)
        self.cache.call("free", table)
        return self._seen(Free(seq, table), None)

    def _seen(self, call: Take | Hit | Free, gave: int | None) -> Moment:
        before, self.state = self.state, self._read()
        if gave is not None:
            self.tables[call.seq].append(gave)
        self._shoot()
        tables = {seq: list(table) for seq, table in self.tables.items()}
        return Moment(call, before, self.state, gave, tables)

    def _shoot(self) -> None:
        self.film.shot(
            self.learner.lines[-1],
            self.tables,
            counts=self.state.counts,
            findable=list(self.state.by_key.values()),
        )

    def _read(self) -> State:
        look = self.cache.look
        queue, index = look("free_queue"), look("index")
        if not isinstance(index, dict):
            raise Fault(f"index is {shown(index)}, and the task wants a dict", law=RETURNS)
        return State(
            wholes(list(queue) if isinstance(queue, dict) else queue, "free_queue"),
            wholes(look("counts"), "counts"),
            [_key(key) for key in items(look("keys"), "keys")],
            {str(key): whole(block, f"index[{key!r}]") for key, block in index.items()},
        )


def _key(value: object) -> str | None:
    return None if value is None else str(value)


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each call of take, hit and free."""
    return Player(learner, script).moments()
