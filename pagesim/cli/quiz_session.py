"""One problem in front of a person: its story, its questions, and the talk about them.

Knows nothing about what problems are about. Words that may be typed in place of an answer: hint, steps,
skip, again, quit, help.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from rich.console import Console
from rich.text import Text

from pagesim.practice.answers import UnreadableAnswerError
from pagesim.replay.phrases import one_line
from pagesim_lessons.quizzes.problem import Problem, Question
from pagesim_lessons.quizzes.sheets import story_lines, wrapped

WIDEST = 88
"""Text is not set wider than this: longer lines are hard to read."""
WORDS = {
    "hint": "hint",
    "?": "hint",
    "steps": "steps",
    "step": "steps",
    "skip": "skip",
    "again": "again",
    "help": "help",
    "quit": "quit",
}
"""Whole words: single letters are names of requests."""
HELP = (
    "hint: a hint; up to three, each stronger than the one before",
    "steps: the next step of the working",
    "skip: show the answer, and go on",
    "again: show the problem and this question again",
    "quit: leave",
)
STRENGTHS = ("weak", "medium", "strong")


class End(Enum):
    """How one question, or the whole talk, came to its end."""

    RIGHT = "right"
    SKIPPED = "skipped"
    QUIT = "quit"
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Score:
    """``at_once``: right at the first attempt, and without a hint or a step."""

    asked: int = 0
    right: int = 0
    at_once: int = 0


@dataclass(slots=True)
class Help:
    """How much of a question has been given away."""

    hints: int = 0
    steps: int = 0
    misses: int = 0


class Session:
    """Shows one problem on ``console``; ``read`` reads a line after a prompt, and raises EOFError at the end."""

    def __init__(self, problem: Problem, console: Console, read: Callable[[str], str]) -> None:
        self._problem = problem
        self._console = console
        self._read = read
        self._width = min(console.width, WIDEST)

    # -- printing ----------------------------------------------------------------------------------------

    def show_story(self) -> None:
        self._say([f"{self._problem.title}, problem {self._problem.seed}"], "bold")
        self._say([""])
        self._say(story_lines(self._problem.story, self._width))

    def show_repeat(self) -> None:
        """How to get the same problem again, and how to be told more about it."""
        command = self._problem.repeat
        lines = wrapped(f"The same problem: {command} (with -c the answers)", self._width)
        self._say(["", *lines], "dim")

    def print_questions(
        self, *, answers: bool = False, steps: int = 0, hint: int | None = None
    ) -> None:
        """All of them, each with what was asked for: one hint, the first so many steps, the answer."""
        for number, question in enumerate(self._problem.questions, start=1):
            self._ask(number, question)
            if hint is not None:
                self._hint(question, hint)
            for place, step in enumerate(question.steps[:steps], start=1):
                self._step(place, step)
            if answers:
                self._answer(question)

    # -- talking -----------------------------------------------------------------------------------------

    def ask_all(self) -> int:
        """Ask question after question, and say how it went; the exit code: 130 after Ctrl-C, else 0."""
        score = Score()
        self._say(["", "Type an answer, or: hint, steps, skip, again, quit."], "dim")
        end = End.RIGHT
        for number, question in enumerate(self._problem.questions, start=1):
            self._ask(number, question)
            end = self._talk(number, question, score)
            if end in (End.QUIT, End.INTERRUPTED):
                break
        self._say(["", self._told(score)], "bold")
        self.show_repeat()
        return 130 if end is End.INTERRUPTED else 0

    def reveal_steps(self) -> None:
        """The working of every question, a step at each Enter."""
        self._say(["", "Enter shows the next step; q and Enter ends."], "dim")
        for number, question in enumerate(self._problem.questions, start=1):
            self._ask(number, question)
            for place, step in enumerate(question.steps, start=1):
                typed = self._line("")
                if not isinstance(typed, str) or typed.strip().casefold() in ("q", "quit"):
                    return
                self._step(place, step)

    def _talk(self, number: int, question: Question, score: Score) -> End:
        """About one question, until it is answered or left."""
        score.asked += 1
        given = Help()
        while True:
            typed = self._line("> ")
            if isinstance(typed, End):
                return typed
            match _word(typed):
                case "hint":
                    given.hints = min(given.hints + 1, len(question.hints))
                    self._hint(question, given.hints)
                case "steps":
                    given.steps = min(given.steps + 1, len(question.steps))
                    self._step(given.steps, question.steps[given.steps - 1])
                case "again":
                    self._say([""])
                    self.show_story()
                    self._ask(number, question)
                case "help":
                    self._help(question)
                case "skip":
                    self._answer(question)
                    return End.SKIPPED
                case "quit":
                    return End.QUIT
                case _:
                    if self._is_right(question, typed, given):
                        score.right += 1
                        score.at_once += given == Help()
                        return End.RIGHT

    def _is_right(self, question: Question, typed: str, given: Help) -> bool:
        """Grade what was typed, and say so."""
        try:
            verdict = question.answer.grade(typed)
        except UnreadableAnswerError as error:
            self._set_in(one_line(str(error)) + ".", "yellow")
            return False
        if verdict.right:
            self._set_in(f"Right. {question.why}", "green")
            return True
        given.misses += 1
        note = f": {verdict.note}" if verdict.note else ""
        self._set_in(f"Not right{note}. Try again, or type hint, steps or skip.", "red")
        return False

    def _told(self, score: Score) -> str:
        all_ = len(self._problem.questions)
        left = all_ - score.asked
        text = f"{score.right} of {all_} right, {score.at_once} at the first attempt without help"
        return f"{text}; {left} not asked." if left else f"{text}."

    def _line(self, prompt: str) -> str | End:
        try:
            return self._read(prompt)
        except UnicodeDecodeError:
            return "\ufffd"  # no answer of any form: asked again
        except EOFError:
            self._say([""])
            return End.QUIT
        except KeyboardInterrupt:
            self._say([""])
            return End.INTERRUPTED

    # -- parts -------------------------------------------------------------------------------------------

    def _ask(self, number: int, question: Question) -> None:
        self._say(["", *wrapped(question.prompt, self._width, f"{number}. ")], "bold")
        self._say(wrapped(f"({question.answer.form})", self._width, "   "), "dim")

    def _hint(self, question: Question, strength: int) -> None:
        name = STRENGTHS[strength - 1]
        self._set_in(f"Hint ({name}): {question.hints[strength - 1]}", "cyan")

    def _step(self, place: int, step: str) -> None:
        self._say(wrapped(step, self._width, f"   {place}) "))

    def _help(self, question: Question) -> None:
        self._set_in(f"Type {question.answer.form}; or one of these words:", "dim")
        for line in HELP:
            self._say(wrapped(line, self._width, "   - "), "dim")

    def _answer(self, question: Question) -> None:
        self._set_in(f"Answer: {question.answer.shown()}", "bold green")
        self._set_in(question.why)

    def _set_in(self, text: str, style: str = "") -> None:
        self._say(wrapped(text, self._width, "   ", "   "), style)

    def _say(self, lines: Iterable[str], style: str = "") -> None:
        for line in lines:
            self._console.print(Text(line, style=style), soft_wrap=True)


def _word(typed: str) -> str | None:
    """Which of the words in place of an answer it is; ``None``: it is an answer."""
    return WORDS.get(typed.strip().casefold())
