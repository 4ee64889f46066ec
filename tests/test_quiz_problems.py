"""Generated problems: their answers agree with a brute force that knows only what the problem states; a seed means
the same problem for ever; hints help without telling."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pytest
from quiz_oracles import ORACLES, right_answer

from pagesim.core.errors import InputError
from pagesim.practice.answers import Choice, Names, Pairs, UnreadableAnswerError, Wholes
from pagesim_lessons.quizzes.draws import Draws
from pagesim_lessons.quizzes.problem import Drawn
from pagesim_lessons.quizzes.topics import MOST_SEED, TOPICS
from pagesim_lessons.quizzes.topics import problem as made_anew

SEEDS = range(500)
STORED_SEEDS = (0, 1, 2, 77, 123456789)
SNAPSHOTS = Path(__file__).parent / "snapshots"
problem = lru_cache(maxsize=None)(made_anew)  # several tests look at the same ones
each_topic = pytest.mark.parametrize("topic", TOPICS)


def plain_value(answer):
    """A right answer as the oracles give it."""
    if isinstance(answer, Wholes | Names | Pairs):
        values = list(answer.values)
        return values if answer.ordered else sorted(values)
    return answer.value


def test_every_topic_has_an_oracle_and_there_are_twelve():
    assert set(ORACLES) == set(TOPICS)
    assert len(TOPICS) >= 12


@each_topic
def test_answers_agree_with_a_brute_force(topic):
    for seed in SEEDS:
        made = problem(topic, seed)
        for question in made.questions:
            found = right_answer(topic, made.given, question.asks)
            assert plain_value(question.answer) == found, (topic, seed, question.asks)


@each_topic
def test_problems_are_well_formed(topic):
    """Four or five questions, answers that are right when typed, not all of them nothing; text that fits a sheet."""
    for seed in range(150):
        made = problem(topic, seed)
        assert 4 <= len(made.questions) <= 6, seed
        assert len({question.asks for question in made.questions}) == len(made.questions), seed
        assert len({question.prompt for question in made.questions}) == len(made.questions), seed
        values = [plain_value(question.answer) for question in made.questions]
        assert sum(value in (0, []) for value in values if value is not False) <= 1, (seed, values)
        for question in made.questions:
            check_question(question, seed)
        for part in made.story:
            for line in part.lines if isinstance(part, Drawn) else ():
                assert len(line) <= 76, (seed, line)
            assert "".join(part.lines if isinstance(part, Drawn) else part).isascii()
        json.dumps(made.given)


def check_question(question, seed):
    shown = question.answer.shown()
    typed = shown.split(")")[0] if isinstance(question.answer, Choice) else shown
    typed = typed.split(" (")[0]  # an amount stands in brackets behind the bytes
    assert question.answer.grade(typed).right, (seed, shown)
    weak, medium, strong = question.hints
    assert all(question.hints)
    assert len({weak, medium, strong}) == 3, (seed, question.hints)
    assert not re.search(r"\d", weak), (seed, weak)  # a weak hint has no figure in it
    told = f" {re.sub(r'[^a-z0-9]+', ' ', weak.casefold())} "
    if not isinstance(question.answer, Wholes):
        assert f" {typed.casefold()} " not in told, (seed, weak)
    assert question.steps
    assert all(step.endswith(".") for step in question.steps), (seed, question.steps)
    assert question.why.endswith("."), question.why
    text = " ".join((question.prompt, *question.steps, *question.hints, question.why))
    assert text.isascii(), text


def test_only_what_is_lost_is_called_fragmentation():
    for seed in SEEDS:
        fits = problem("buddy", seed).questions[-1]
        assert ("fragmentation" in fits.why) != fits.answer.value, seed


@each_topic
def test_odd_typing_is_graded_or_asked_again(topic):
    for question in problem(topic, 3).questions:
        for typed in (
            "",
            " ",
            "x",
            "-1",
            "1e9",
            "7 7 7",
            "1>2>3",
            "²",
            "%",
            "9" * 50,
            "\x00",
            "yes no",
        ):
            with suppress(UnreadableAnswerError):
                question.answer.grade(typed)


@each_topic
def test_seeds_differ(topic):
    made = [repr(problem(topic, seed).questions) for seed in range(60)]
    assert len(set(made)) >= 58


def sheet(topic):
    """What is stored: whole problems, with everything that is computed."""
    parts = []
    for seed in STORED_SEEDS:
        made = problem(topic, seed)
        parts.append(f"== {made.repeat}\n")
        for part in made.story:
            parts += (
                [f"| {line}\n" for line in part.lines] if isinstance(part, Drawn) else [part + "\n"]
            )
        for number, question in enumerate(made.questions, start=1):
            parts.append(f"{number}. {question.prompt}\n   = {question.answer.shown()}\n")
            parts += [f"   - {step}\n" for step in question.steps]
            parts += [f"   ? {hint}\n" for hint in question.hints]
            parts.append(f"   ! {question.why}\n")
    return "".join(parts)


@each_topic
def test_a_seed_means_the_same_problem_for_ever(topic):
    """Against the stored sheets. To write them anew, on purpose only: PAGESIM_WRITE_QUIZZES=1."""
    path = SNAPSHOTS / f"quiz-{topic}.txt"
    if os.environ.get("PAGESIM_WRITE_QUIZZES") == "1":
        path.write_text(sheet(topic), "utf-8")
    assert sheet(topic) == path.read_text("utf-8")


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_the_same_in_another_process(hash_seed):
    code = (
        "import hashlib\nfrom pagesim_lessons.quizzes.topics import TOPICS, problem\n"
        "text = ''.join(repr(problem(t, s)) for t in reversed(TOPICS) for s in (9, 2, 5))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    scope: dict[str, object] = {}
    exec(code.replace("print(", "found = ("), scope)
    assert done.stdout.strip() == scope["found"]


def test_draws_are_what_they_were():
    """The stream itself, and that it covers its range evenly."""
    draws = Draws("a text")
    assert [draws.whole(1, 6) for _ in range(12)] == [3, 3, 3, 2, 3, 2, 6, 4, 1, 5, 5, 3]
    assert Draws("b").shuffled(range(8)) == Draws("b").shuffled(range(8))
    counts = [0] * 6
    for _ in range(6000):
        counts[draws.whole(0, 5)] += 1
    assert all(900 < number < 1100 for number in counts)
    assert sorted(draws.shuffled(range(50))) == list(range(50))
    assert len(set(draws.some_of(range(50), 10))) == 10


@pytest.mark.parametrize("seed", [-1, MOST_SEED + 1])
def test_seeds_out_of_range(seed):
    with pytest.raises(InputError, match="seed"):
        problem("slots", seed)


def test_no_such_topic_is_one_sentence_with_the_list():
    with pytest.raises(InputError, match=r"'nonsense' is no topic .* slots"):
        problem("nonsense", 0)
