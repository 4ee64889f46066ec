"""One run of a scenario, kept so that questions can be asked about any of its steps. Knows nothing about questions."""

from dataclasses import dataclass, field

from pagesim.core import events as ev
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain
from pagesim.replay.keeper import Keeper
from pagesim.replay.run_state import RunState, SequenceView
from pagesim.sim.scenario import Scenario, load_scenario

MOST_STEPS = 2_000
"""Of a longer run only the first so many steps are asked about."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step that was planned. ``events`` are those since the step before was planned, with where each stands;
    ``place`` is the cursor's while the step runs; ``queue`` are those who wait then, head first."""

    number: int
    place: int
    events: tuple[tuple[int, ev.Event], ...]
    queue: tuple[int, ...]


@dataclass(slots=True)
class ScenarioRun:
    """A finished run. ``names`` are those of all its sequences; ``told`` explains an event by where it stands."""

    story: Scenario
    cursor: Cursor
    steps: list[Step] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def state(self, step: Step) -> RunState:
        """The state while the step runs; it is good until the next call."""
        self.cursor.seek(step.place)
        return self.cursor.state

    def running(self, step: Step) -> list[SequenceView]:
        """In order of admission."""
        state = self.state(step)
        return [state.sequences[seq] for seq in state.running]

    def told(self, places: list[int]) -> list[str]:
        """Each event's sentence, by its place in the run."""
        sentences = []
        for place in places:
            self.cursor.seek(place)
            sentence = explain(self.cursor.events[place], self.cursor.state, self.story.words)
            sentences.append(sentence if sentence.endswith(".") else f"{sentence}.")
        return sentences


def play(name: str) -> ScenarioRun:
    """A shipped scenario by name, or a .toml file. Raises InputError."""
    story = load_scenario(name)
    keeper = Keeper()
    loop = story.loop(lambda _: [keeper])
    queues: dict[int, tuple[int, ...]] = {}
    while (plan := loop.step()) is not None and len(queues) < MOST_STEPS:
        queues[plan.step] = tuple(seq.seq for seq in loop.scheduler.waiting)
    run = ScenarioRun(story, Cursor(loop.scheduler.memory.geometry, keeper.events))
    _divide(run, keeper.events, queues)
    return run


def _divide(run: ScenarioRun, events: list[ev.Event], queues: dict[int, tuple[int, ...]]) -> None:
    """Into steps."""
    since: list[tuple[int, ev.Event]] = []
    for place, event in enumerate(events):
        since.append((place, event))
        if isinstance(event, ev.RequestSubmitted):
            sample = f".{event.sample}" if event.sample else ""
            run.names[event.seq] = f"{event.request}{sample}"
        if isinstance(event, ev.StepPlanned) and event.step in queues:
            run.steps.append(Step(event.step, place + 1, tuple(since), queues[event.step]))
            since = []
