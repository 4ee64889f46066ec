"""Requests that come, steps that are planned, as data; how they are drawn, and played on a learner's scheduler.

A forecast says what the next plan is to do. It knows numbers of blocks, not which ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.core.types import blocks_for
from pagesim.practice.exercise import RETURNS, Fault
from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, whole, wholes
from pagesim.practice.reading import shown

FIRST_TOKEN = 100


class Arrive(NamedTuple):
    """A request of ``prompt`` tokens, which ends when it has ``most`` outputs."""

    seq: int
    prompt: int
    most: int


class Step(NamedTuple):
    """So many steps, one after the other."""

    times: int


class GiveWay(NamedTuple):
    """The last of those that run is preempted, from outside."""


Operation = Arrive | Step | GiveWay


class Script(NamedTuple):
    num_blocks: int
    block_size: int
    budget: int
    operations: list[Operation]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    row: list[Operation] = []
    for seq in range(draw(st.integers(2, 5))):
        row.append(Arrive(seq, draw(st.sampled_from([2, 1, 3, 1, 5])), draw(st.integers(2, 8))))
        kind = draw(st.sampled_from([None, None, Step, GiveWay]))
        if kind is Step:
            row.append(Step(draw(st.integers(1, 3))))
        elif kind is GiveWay:
            row += [Step(1), GiveWay()]
    row.append(Step(draw(st.integers(5, 12))))
    num_blocks, size = draw(st.sampled_from([5, 4, 6, 8])), draw(st.sampled_from([2, 1, 3, 1]))
    return Script(num_blocks, size, draw(st.sampled_from([8, 4, 5, 100])), row)


class State(NamedTuple):
    """The learner's attributes, read."""

    free: list[int]
    running: list[int]
    waiting: list[int]
    prompts: dict[int, int]
    outputs: dict[int, list[int]]
    computed: dict[int, int]
    tables: dict[int, list[int]]

    def length(self, seq: int) -> int:
        return self.prompts[seq] + len(self.outputs[seq])


class Victim(NamedTuple):
    """Who is to give way, for whom, and why: so many blocks are lacking, so many free."""

    seq: int
    by: int
    lacking: int
    free: int


class Forecast(NamedTuple):
    """What is to happen: victims in order, who runs afterwards, who waits, what is computed. ``admitted`` run, too."""

    victims: list[Victim]
    running: list[int]
    waiting: list[int]
    planned: dict[int, int]
    admitted: list[int]


class Moment(NamedTuple):
    """After plan(), or, where ``planned`` is None, after preempt()."""

    name: str
    before: State
    after: State
    planned: dict[int, int] | None
    size: int
    budget: int
    right: Forecast

    @property
    def gone(self) -> list[int]:
        """Who ran before and does not now."""
        return [seq for seq in self.before.running if seq not in self.after.running]

    @property
    def victims(self) -> list[int]:
        return [victim.seq for victim in self.right.victims]


def forecast(state: State, size: int, budget: int) -> Forecast:
    """What plan() is to do."""
    free, held = len(state.free), {seq: len(state.tables[seq]) for seq in state.running}
    running, victims, planned = list(state.running), list[Victim](), dict[int, int]()
    for seq in state.running:
        count = min(state.length(seq) - state.computed[seq], budget)
        if not count:
            continue
        lacking = max(blocks_for(state.computed[seq] + count, size) - held[seq], 0)
        while seq in running and lacking > free:
            victims.append(Victim(running.pop(), seq, lacking, free))
            free += held[victims[-1].seq]
        if seq in running:
            free, budget = free - lacking, budget - count
            planned[seq] = count
    waiting, admitted = [v.seq for v in reversed(victims)] + state.waiting, list[int]()
    while not victims and waiting and budget:
        seq = waiting[0]
        count = min(state.length(seq), budget)
        if blocks_for(count, size) > free:
            break
        free, budget = free - blocks_for(count, size), budget - count
        planned[seq] = count
        admitted.append(waiting.pop(0))
    return Forecast(victims, running + admitted, waiting, planned, admitted)


def forecast_of_preempt(state: State) -> Forecast:
    *running, seq = state.running
    victim = Victim(seq, seq, 0, len(state.free))
    return Forecast([victim], running, [seq, *state.waiting], {}, [])


@dataclass(slots=True)
class Player:
    """Plays a script on the learner's class; only what makes sense is called."""

    learner: Learner
    script: Script
    scheduler: Subject = field(init=False)
    state: State = field(init=False)
    film: Film = field(init=False)
    most: dict[int, int] = field(default_factory=dict)
    sampled: int = FIRST_TOKEN

    def moments(self) -> Iterator[Moment]:
        num_blocks, size, _, operations = self.script
        self.scheduler = self.learner.make("scheduler", "Scheduler", num_blocks, size)
        self.learner.film = self.film = Film(num_blocks, size)
        self.state = self._read()
        for operation in operations:
            match operation:
                case Arrive(seq, prompt, most) if seq not in self.most:
                    if blocks_for(prompt + most, size) <= num_blocks:
                        self._arrive(seq, prompt, most)
                case GiveWay() if self.state.running:
                    yield self._give_way()
                case Step(times):
                    for _ in range(times):
                        if self.state.running or self.state.waiting:
                            yield self._plan()
                            self._after_step()

    def _arrive(self, seq: int, prompt: int, most: int) -> None:
        self.most[seq] = most
        self.scheduler.call("submit", seq, prompt)
        self.state = self._read()
        self._shoot()

    def _give_way(self) -> Moment:
        before, right = self.state, forecast_of_preempt(self.state)
        seq = before.running[-1]
        self.scheduler.call("preempt", seq)
        self.state = self._read()
        self._shoot()
        return self._moment(f"preempt({seq})", before, None, right)

    def _moment(
        self, name: str, before: State, planned: dict[int, int] | None, right: Forecast
    ) -> Moment:
        _, size, budget, _ = self.script
        return Moment(name, before, self.state, planned, size, budget, right)

    def _plan(self) -> Moment:
        _, size, budget, _ = self.script
        before, right = self.state, forecast(self.state, size, budget)
        planned = _numbers(self.scheduler.call("plan", budget), "what plan gave")
        self.state = self._read()
        by = right.victims[-1].by if right.victims else None
        self._shoot(None if by is None else (by, before.length(by)))
        planned = {seq: count for seq, count in planned.items() if count}
        return self._moment(f"plan({budget})", before, planned, right)

    def _after_step(self) -> None:
        """Each sequence of which all is computed gets a token; those that have enough end."""
        sampled: dict[int, int] = {}
        for seq in self.state.running:
            if self.state.computed[seq] == self.state.length(seq):
                sampled[seq] = self.sampled
                self.sampled += 1
        if sampled:
            self.scheduler.call("update", sampled)
            self.state = self._read()
            self._shoot()
        for seq in self.state.running:
            if len(self.state.outputs[seq]) >= self.most[seq]:
                self.scheduler.call("finish", seq)
                self.state = self._read()
                self._shoot()

    def _shoot(self, grower: tuple[int, int] | None = None) -> None:
        state = self.state
        known = [seq for seq in state.waiting if seq in state.prompts and seq in state.outputs]
        tables = {seq: table for seq, table in state.tables.items() if seq in state.running}
        self.film.shot(
            self.learner.lines[-1],
            tables,
            state.computed,
            waiting={seq: state.length(seq) for seq in known if seq not in tables},
            grower=grower,
        )

    def _read(self) -> State:
        look = self.scheduler.look
        return State(
            wholes(look("free_blocks"), "free_blocks"),
            wholes(look("running"), "running"),
            wholes(look("waiting"), "waiting"),
            _numbers(look("prompts"), "prompts"),
            _lists(look("outputs"), "outputs"),
            _numbers(look("computed"), "computed"),
            _lists(look("tables"), "tables"),
        )


def _dict(value: object, what: str) -> dict[object, object]:
    if not isinstance(value, dict):
        raise Fault(f"{what} is {shown(value)}, and the task wants a dict", law=RETURNS)
    return value


def _numbers(value: object, what: str) -> dict[int, int]:
    return {
        whole(seq, f"a sequence in {what}"): whole(number, f"{what} for sequence {seq}")
        for seq, number in _dict(value, what).items()
    }


def _lists(value: object, what: str) -> dict[int, list[int]]:
    return {
        whole(seq, f"a sequence in {what}"): wholes(row, f"{what}[{seq}]")
        for seq, row in _dict(value, what).items()
    }


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each plan() and preempt()."""
    return Player(learner, script).moments()
