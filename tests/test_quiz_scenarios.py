"""Questions about scenarios: answers agree with the managers themselves, watched while each step runs."""

from collections import Counter

import pytest

from pagesim.core.errors import InputError
from pagesim.core.request import Request
from pagesim.sim.scenario import load_scenario, parse_scenario, scenario_names
from pagesim_lessons.quizzes import scenarios
from pagesim_lessons.quizzes.problem import Drawn
from pagesim_lessons.quizzes.scenario_run import play


class Watched:
    """An executor that looks at memory and queue while a step runs, and hands on to the real one."""

    def __init__(self, loop):
        self.loop = loop
        self.real = loop.executor
        self.steps = {}
        self.starts = {}
        self.ends = {}
        loop.executor = self

    @property
    def now_ns(self):
        return self.real.now_ns

    def wait_until(self, time_ns):
        self.real.wait_until(time_ns)

    def execute(self, plan):
        scheduler = self.loop.scheduler
        memory = scheduler.memory
        tables = {seq.seq: list(memory.table(seq.seq)) for seq in scheduler.running}
        for leader in scheduler.swapped:
            for seq in leader.unit:
                tables[seq.seq] = list(memory.table(seq.seq))
        self.steps[plan.step] = {
            "tables": tables,
            "copies": [(copy.source, copy.target) for copy in plan.copies],
            "free": memory.usage().free,
            "queue": [seq.seq for seq in scheduler.waiting],
            "victims": [seq.seq for seq in plan.preempted],
            "cached": {seq.seq: tokens for seq, tokens in plan.cached_tokens.items()},
        }
        for seq in plan.admitted:
            self.starts.setdefault(seq.seq, plan.step)
        for seq in {*plan.sampling, *plan.beams}:
            self.ends[seq.seq] = plan.step
        return self.real.execute(plan)


def watched(name):
    loop = load_scenario(name).loop()
    seen = Watched(loop)
    loop.run()
    return seen, [refusal.request for refusal in loop.refusals]


def value(answer):
    return list(answer.values) if hasattr(answer, "values") else answer.value


def expected(seen, refused, names, asks):
    """What the watched run says; ``None``: not looked at here."""
    what, *about = asks
    step = seen.steps.get(about[0]) if about and what not in ("start", "end") else None
    match what:
        case "table":
            return step["tables"][about[1]]
        case "run":
            return step["tables"][about[1]][0]
        case "free":
            return step["free"]
        case "count":
            return Counter(b for table in step["tables"].values() for b in table)[about[1]]
        case "copies":
            return step["copies"]
        case "victims":
            return [names[seq] for seq in step["victims"]]
        case "queue":
            return [names[seq] for seq in step["queue"]]
        case "cached":
            return step["cached"][about[1]]
        case "start":
            return seen.starts[about[0]]
        case "end":
            return seen.ends[about[0]]
        case "refused":
            return refused
    return None


@pytest.mark.parametrize("name", scenario_names())
def test_answers_agree_with_the_managers(name):
    """Every question that could be asked about every shipped story."""
    seen, refused = watched(name)
    run = play(name)
    num_checked = 0
    for kind in scenarios.KINDS:
        for question in kind(run):
            right = expected(seen, refused, run.names, question.asks)
            if right is not None:
                assert value(question.answer) == right, question.asks
                num_checked += 1
            assert question.answer.grade(question.answer.shown()).right
            assert len(set(question.hints)) == 3
            assert not any(character.isdigit() for character in question.hints[0])
            assert all(step.endswith(".") for step in question.steps)
    assert num_checked >= 4


@pytest.mark.parametrize("name", scenario_names())
def test_problems_about_stories_are_well_formed(name):
    make = scenarios.scenario_maker(name)
    for seed in range(20):
        made = make(seed)
        assert 1 <= len(made.questions) <= 5
        assert len({question.prompt for question in made.questions}) == len(made.questions)
        assert made == make(seed)
        for part in made.story:
            assert not isinstance(part, Drawn) or max(map(len, part.lines)) <= 76
    ids = [one.id for _, one in load_scenario(name).arrivals if isinstance(one, Request)]
    drawn = [line for part in made.story if isinstance(part, Drawn) for line in part.lines]
    assert all(any(line.startswith(one[:16]) for line in drawn) for one in ids)


def test_a_story_in_which_nothing_happens(tmp_path):
    path = tmp_path / "nothing.toml"
    path.write_text("[memory]\nblocks = 1\n[[request]]\nid = 'a'\nprompt = 3000\noutputs = 1\n")
    assert parse_scenario("a", "a", path.read_bytes())
    made = scenarios.scenario_problem(str(path), 0)  # it is refused, and that can be asked about
    assert [question.asks for question in made.questions] == [("refused",)]
    path.write_text(
        "[[request]]\nid = 'a'\nprompt = 3\noutputs = 1\n[[abort]]\nid = 'a'\nstep = 0\n"
    )
    with pytest.raises(InputError, match="nothing happens in"):
        scenarios.scenario_problem(str(path), 0)


def test_a_long_story_is_cut_and_a_wide_one_fits():
    text = "title = 'x'\n[memory]\nblocks = 5000\n" + "".join(
        f"[[request]]\nid = 'a-very-long-name-of-a-request-{n}'\nprompt = {n + 1}\noutputs = 9\n"
        for n in range(60)
    )
    from pagesim_lessons.quizzes.scenario_story import story_parts

    parts = list(story_parts(parse_scenario("x", "x", text.encode())))
    assert "and 40 more." in parts
    assert all(max(map(len, part.lines)) <= 76 for part in parts if isinstance(part, Drawn))
