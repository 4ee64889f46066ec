"""Questions about a run of a scenario: a shipped one, or a teacher's own file.

Every question is asked only where the run has something to ask about. Knows nothing about the generated topics.
"""

from collections.abc import Callable, Iterator
from shlex import quote

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.practice.answers import Names, Pairs, Whole, Wholes
from pagesim_lessons.quizzes.draws import Draws
from pagesim_lessons.quizzes.problem import Problem, Question
from pagesim_lessons.quizzes.scenario_run import ScenarioRun, Step, play
from pagesim_lessons.quizzes.scenario_story import story_parts
from pagesim_lessons.quizzes.topics import VERSION, check_seed
from pagesim_lessons.quizzes.wording import ids, words

MOST_QUESTIONS = 5
MOST_TABLE = 10  # blocks that a person is asked to list
MOST_SENTENCES = 8
Kind = Callable[[ScenarioRun], Iterator[Question]]


def scenario_problem(name: str, seed: int) -> Problem:
    """Questions about a run of the scenario; another seed asks others. Raises InputError."""
    return scenario_maker(name)(seed)


def scenario_maker(name: str) -> Callable[[int], Problem]:
    """The scenario is run once; then it makes a problem of any seed. Raises InputError."""
    run = play(name)
    possible = [found for kind in KINDS if (found := list(kind(run)))]
    if not possible:
        raise InputError(
            f"nothing happens in {name} that could be asked about; take one in which a request is served"
        )

    def make(seed: int) -> Problem:
        check_seed(seed)
        draws = Draws(f"pagesim quiz {VERSION} scenario {run.story.name} {seed}")
        return Problem(
            f"scenario-{run.story.name}",
            f"Scenario: {run.story.name}",
            seed,
            f"pagesim quiz --scenario {quote(name)} --seed {seed}",
            tuple(story_parts(run.story)),
            _chosen(draws, possible),
            {"scenario": name},
        )

    return make


def _chosen(draws: Draws, possible: list[list[Question]]) -> tuple[Question, ...]:
    """One of each of some kinds, and if these are too few, more of the same kinds; in the order of the kinds."""
    questions = [(place, draws.one_of(kind)) for place, kind in enumerate(possible)]
    questions = draws.some_of(questions, MOST_QUESTIONS)
    rest = [
        (place, question)
        for place, kind in enumerate(possible)
        for question in kind
        if (place, question) not in questions
    ]
    questions += draws.some_of(rest, MOST_QUESTIONS - len(questions))
    questions.sort(key=lambda entry: entry[0])
    return tuple(question for _, question in questions)


# -- kinds of questions ----------------------------------------------------------------------------------


def _tables(run: ScenarioRun) -> Iterator[Question]:
    if run.story.allocator != "paged":
        return
    for step in run.steps:
        for view in run.running(step):
            table, name = tuple(view.table), run.names[view.seq]
            if not 2 <= len(table) <= MOST_TABLE:
                continue
            yield Question(
                f"Step {step.number} runs. Which blocks does {name}'s block table list?",
                ("table", step.number, view.seq),
                Wholes(table),
                (*_about(run, step, view.seq), f"{name}'s table is {ids(table)}."),
                (
                    "Follow the free list and the table from the start.",
                    f"A table grows when a token finds no room in it; watch what {name} took, shared and replaced.",
                    f"The table has {len(table)} entries, and {view.written} tokens are stored.",
                ),
                f"{view.written} tokens are stored in {ids(table)}.",
            )


def _runs(run: ScenarioRun) -> Iterator[Question]:
    if run.story.allocator == "paged":
        return
    for step in run.steps:
        for view in run.running(step):
            if not isinstance(view.table, range) or not view.table.start:
                continue
            first, name = view.table.start, run.names[view.seq]
            yield Question(
                f"Step {step.number} runs. At which slot does {name}'s contiguous piece begin?",
                ("run", step.number, view.seq),
                Whole(first),
                (*_about(run, step, view.seq), f"{name}'s piece begins at slot {first}."),
                (
                    "Draw the memory as a line, and who holds which part of it.",
                    "See which hole the placer takes, and where it was cut.",
                    f"The piece has {len(view.table)} slots.",
                ),
                f"{name} holds slots {first} to {view.table.stop - 1}.",
            )


def _free(run: ScenarioRun) -> Iterator[Question]:
    unit = "blocks" if run.story.allocator == "paged" else "slots"
    for step in run.steps:
        state = run.state(step)
        if not state.num_held:
            continue
        yield Question(
            f"Step {step.number} runs. How many {unit} are free?",
            ("free", step.number),
            Whole(state.num_free, unit),
            (
                f"The device has {state.geometry.num_blocks} {unit}.",
                f"Held are {state.num_held}.",
                f"{state.geometry.num_blocks} - {state.num_held} = {state.num_free}.",
            ),
            (
                "What several tables list is held once.",
                f"Count what is held, and take it from all {unit}.",
                f"There are {state.geometry.num_blocks} {unit} in all.",
            ),
            f"{state.geometry.num_blocks} - {state.num_held} = {state.num_free}.",
        )


def _counts(run: ScenarioRun) -> Iterator[Question]:
    for step in run.steps:
        views = run.running(step)
        state = run.cursor.state
        for block, count in sorted(state.ref_counts.items()):
            if count < 2 or block >= state.geometry.num_blocks:
                continue
            owners = [run.names[view.seq] for view in views if block in view.table]
            yield Question(
                f"Step {step.number} runs. What is the reference count of block {block}?",
                ("count", step.number, block),
                Whole(count),
                (f"Block {block} stands in the tables of {words(owners)}.", f"That is {count}."),
                (
                    "A count is about tables, neither about tokens nor about requests.",
                    "Write down every table, and count those with the block in them.",
                    f"{owners[0]} is one of those that list it." if owners else "More than 1.",
                ),
                f"It stands in the tables of {words(owners)}.",
            )


def _copies(run: ScenarioRun) -> Iterator[Question]:
    if run.story.allocator != "paged":
        return
    for step in run.steps:
        copies = [(at, e) for at, e in step.events if isinstance(e, ev.BlockCopied)]
        on_device = run.cursor.geometry.num_blocks
        if not copies or any(max(e.source, e.target) >= on_device for _, e in copies):
            continue
        answer = Pairs([(e.source, e.target) for _, e in copies])
        replaced = [at for at, e in step.events if isinstance(e, ev.BlockReplaced | ev.BlockCopied)]
        yield Question(
            f"Which copies are ordered for step {step.number}, in order?",
            ("copies", step.number),
            answer,
            (*run.told(replaced[-MOST_SENTENCES:]), f"So {answer.shown()}."),
            (
                "Who writes to a block that others list needs a copy of it.",
                "For each that writes in this step: does somebody else list its last block, and is it partly filled?",
                f"The number of copies is {len(copies)}.",
            ),
            f"{answer.shown()}: the last owner of a block writes in place.",
        )


def _victims(run: ScenarioRun) -> Iterator[Question]:
    for step in run.steps:
        gone = [(at, e) for at, e in step.events if isinstance(e, ev.SequencePreempted)]
        if not gone:
            continue
        names = [run.names[event.seq] for _, event in gone]
        yield Question(
            f"Who gives way in step {step.number}, in order?",
            ("victims", step.number),
            Names(names, "sequences"),
            (*run.told([at for at, _ in gone][:MOST_SENTENCES]), f"So {words(names)}."),
            (
                "Somebody needs a block, and none is free.",
                f"The policy is {run.story.scheduler.chosen_victim.name}; a whole group gives way at once.",
                f"It is {len(names)} in all.",
            ),
            f"{words(names)}, by the policy {run.story.scheduler.chosen_victim.name}.",
        )


def _lost(run: ScenarioRun) -> Iterator[Question]:
    for step in run.steps:
        gone = [(at, e) for at, e in step.events if isinstance(e, ev.SequencePreempted)]
        lost = sum(event.lost_tokens for _, event in gone)
        if not lost:
            continue
        yield Question(
            f"How many stored tokens are lost in step {step.number}, and have to be computed again?",
            ("lost", step.number),
            Whole(lost, "tokens"),
            (*run.told([at for at, _ in gone][:MOST_SENTENCES]), f"Together: {lost}."),
            (
                "Everything that the one who gives way had stored.",
                "Its prompt and its outputs but for the newest, which is not stored yet.",
                f"Who gives way is {words(run.names[event.seq] for _, event in gone)}.",
            ),
            f"{lost} tokens; the outputs as such are kept.",
        )


def _queues(run: ScenarioRun) -> Iterator[Question]:
    for step in run.steps:
        if not 2 <= len(step.queue) <= 8:
            continue
        names = [run.names[seq] for seq in step.queue]
        yield Question(
            f"Step {step.number} runs. Who waits, head first?",
            ("queue", step.number),
            Names(names, "sequences"),
            (f"The order is {run.story.scheduler.order.name}.", f"So the queue is {words(names)}."),
            (
                "The order of the queue is a rule, not a matter of who came to it last.",
                "Who has come and does not run waits; sort them by the rule.",
                f"{len(names)} wait.",
            ),
            f"{words(names)}, in the order {run.story.scheduler.order.name}.",
        )


def _cached(run: ScenarioRun) -> Iterator[Question]:
    if not run.story.memory.prefix_caching:
        return
    for step in run.steps:
        for at, event in step.events:
            if not isinstance(event, ev.SequenceAdmitted):
                continue
            name = run.names[event.seq]
            yield Question(
                f"How many of {name}'s tokens are found in the cache when it starts in step {step.number}?",
                ("cached", step.number, event.seq),
                Whole(event.cached_tokens, "tokens"),
                (*run.told([at]), f"Found are {event.cached_tokens}."),
                (
                    "Only whole blocks count, in an unbroken run from the start.",
                    "Compare with what was computed before, block by block, and leave out the last token's block.",
                    f"{name} is {event.tokens} tokens long, and a block has {run.story.memory.block_size}.",
                ),
                f"{event.cached_tokens} of {event.tokens}; the last token is always computed.",
            )


def _evicted(run: ScenarioRun) -> Iterator[Question]:
    for step in run.steps:
        gone = [(at, e) for at, e in step.events if isinstance(e, ev.BlockEvicted)]
        if not gone:
            continue
        blocks = [event.block for _, event in gone]
        yield Question(
            f"Which blocks' cached content is evicted for step {step.number}, in order?",
            ("evicted", step.number),
            Wholes(blocks),
            (*run.told([at for at, _ in gone][:MOST_SENTENCES]), f"So {ids(blocks)}."),
            (
                "Content goes when its block is taken for something else.",
                "Follow the free list; of the blocks taken, those that held content.",
                f"The number of blocks is {len(blocks)}.",
            ),
            f"{ids(blocks)}: blocks are evicted in the order of the free list.",
        )


def _starts(run: ScenarioRun) -> Iterator[Question]:
    """Of those that had to wait."""
    came: dict[int, int] = {}
    for number, step in enumerate(run.steps):
        for at, event in step.events:
            if isinstance(event, ev.RequestSubmitted):
                came[event.seq] = number
            if not isinstance(event, ev.SequenceAdmitted) or event.resumed:
                continue
            if came.get(event.seq, number) == number:
                continue
            name = run.names[event.seq]
            yield Question(
                f"In which step does {name} start?",
                ("start", event.seq),
                Whole(step.number),
                (*run.told([at]), f"That is step {step.number}."),
                (
                    "It has to wait for something: memory, budget, or a place.",
                    "Go step by step, and see when what it waits for is there and nobody is before it.",
                    f"It comes before step {run.steps[came[event.seq]].number}, and waits for a while.",
                ),
                f"{name} starts in step {step.number}.",
            )


def _ends(run: ScenarioRun) -> Iterator[Question]:
    """In which step the last token is sampled; who ended is told after that step."""
    for before, step in zip(run.steps, run.steps[1:], strict=False):
        for at, event in step.events:
            if not isinstance(event, ev.SequenceFinished) or event.reason == "abort":
                continue
            name = run.names[event.seq]
            yield Question(
                f"In which step is {name}'s last token sampled?",
                ("end", event.seq),
                Whole(before.number),
                (*run.told([at]), f"That is step {before.number}."),
                (
                    "Each step in which it runs gives a token, once its prompt is through.",
                    "Count from the step that ends the prompt, and leave out steps in which it waits.",
                    f"It makes {event.output_tokens} tokens in all.",
                ),
                f"{event.output_tokens} outputs, the last one in step {before.number}.",
            )


def _refused(run: ScenarioRun) -> Iterator[Question]:
    places = [
        (at, event)
        for at, event in enumerate(run.cursor.events)
        if isinstance(event, ev.RequestRefused)
    ]
    if not places or len(places) > 8:
        return
    names = list(dict.fromkeys(event.request for _, event in places))
    yield Question(
        "Which requests are refused?",
        ("refused",),
        Names(names, "requests", ordered=False),
        (*run.told([at for at, _ in places][:MOST_SENTENCES]), f"So {words(names)}."),
        (
            "What could not be served even by an empty memory is never queued.",
            "Compare the longest that each may become with the memory, and with the longest allowed.",
            f"It is {len(names)} in all.",
        ),
        f"{words(names)}: waiting would not help.",
    )


def _about(run: ScenarioRun, step: Step, seq: int) -> list[str]:
    """What was told of a sequence's memory up to a step, the last sentences of it."""
    kinds = ev.BlocksTaken | ev.BlocksShared | ev.BlockReplaced | ev.RunMoved
    places = [
        at
        for earlier in run.steps
        if earlier.number <= step.number
        for at, event in earlier.events
        if isinstance(event, kinds) and event.seq == seq
    ]
    return run.told(places[-MOST_SENTENCES:])


KINDS: tuple[Kind, ...] = (
    _refused,
    _tables,
    _runs,
    _free,
    _counts,
    _copies,
    _cached,
    _evicted,
    _victims,
    _lost,
    _queues,
    _starts,
    _ends,
)
