"""Questions of the lessons and problems of the quiz, asked and graded in a cell.

Knows nothing about how they are drawn, and contains none of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError
from pagesim.notebook.prose import Asked, Part, Picture, Sheet, parts_of
from pagesim.practice.answers import Answer, Choice, UnreadableAnswerError

if TYPE_CHECKING:
    from pagesim_lessons.lesson import Ask
    from pagesim_lessons.lesson import Part as LessonPart
    from pagesim_lessons.quizzes.problem import Question

HINTS = (1, 2, 3)


def question(
    lesson: int, number: int, answer: object = "", *, hint: bool = False, scene: bool = True
) -> Sheet:
    """Question ``number`` of a lesson. Without an ``answer`` it is asked, with one it is graded.

    An answer is typed as in a terminal, as a text or a number. ``hint``: with the lesson's hint. ``scene``: with what
    the lesson says and shows between the question before and this one. Raises InputError for a question that there is
    not.
    """
    if hint not in (False, True):
        raise InputError(
            f"hint {hint!r} was given; a lesson's question has one hint, and hint=True shows it"
        )
    stands_in, ask = _lesson(lesson).question(number)
    typed = _typed(answer)
    asked = _asked("", ask.question, ask.answer, typed, ask.why)
    if asked.right is not True:
        asked = _helped(asked, ask.hint if hint else "", "hint=True")
    story = list(stands_in) if scene else []
    closing = f"Its lesson: `pagesim learn {lesson}`. Your answer goes into the call, in quotes."
    return Sheet(
        f"Lesson {lesson}, question {number}",
        [asked],
        story,
        closing="" if typed.strip() else closing,
    )


def quiz(topic: str, seed: int = 0, answers: object = (), *, hint: int | None = None) -> Sheet:
    """A problem of ``pagesim quiz``: every seed is another one. ``answers`` are graded, one for each question; of a
    single answer no list need be made.

    ``hint`` is 1 (weak), 2 (medium) or 3 (strong). Raises InputError for a topic that there is not.
    """
    from pagesim_lessons.quizzes.topics import problem

    if hint is not None and hint not in HINTS:
        raise InputError(f"hint {hint} was given; it is 1 (weak), 2 (medium) or 3 (strong)")
    answers = list(answers) if isinstance(answers, list | tuple) else [answers]
    posed = problem(topic, seed)
    if len(answers) > len(posed.questions):
        raise InputError(
            f"{len(answers)} answers were given and there are {len(posed.questions)} questions; give one for each, "
            'an empty one ("") where you have none'
        )
    typed = [*map(_typed, answers), *[""] * (len(posed.questions) - len(answers))]
    pairs = enumerate(zip(posed.questions, typed, strict=True), start=1)
    asked = [_quizzed(number, *pair, hint) for number, pair in pairs]
    story = [part if isinstance(part, str) else part.lines for part in posed.story]
    return Sheet(f"{posed.title}, seed {seed}", asked, story, f"In a terminal: `{posed.repeat}`")


def _quizzed(number: int, question: "Question", typed: str, hint: int | None) -> Asked:
    asked = _asked(f"{number}.", question.prompt, question.answer, typed, question.why)
    if asked.right is True:
        return asked
    return _helped(asked, "" if hint is None else question.hints[hint - 1], "hint=1")


def _typed(answer: object) -> str:
    """Numbers, lists and sets of them are answers, too."""
    if answer is None or answer is ...:
        return ""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list | tuple):
        return " ".join(map(str, answer)) if answer else "none"
    return str(answer)


def _asked(label: str, prompt: str, right: Answer, typed: str, why: str) -> Asked:
    """``typed`` graded, if it is anything."""
    options: Sequence[tuple[str, str]] = ()
    if isinstance(right, Choice):
        options = list(zip(right.letters, right.options, strict=True))
    if not typed.strip():
        return Asked(label, prompt, right.form, options)
    try:
        verdict = right.grade(typed)
    except UnreadableAnswerError as error:
        return Asked(label, prompt, right.form, options, None, f"Not graded: {error}.")
    if verdict.right:
        return Asked(label, prompt, right.form, options, verdict.right, f"{typed}: right.", [why])
    note = f" {verdict.note[:1].upper()}{verdict.note[1:]}".rstrip(".") if verdict.note else ""
    said = f"{typed}: not right.{note}{'.' if note else ''}"
    return Asked(label, prompt, right.form, options, verdict.right, said)


def _helped(asked: Asked, hint: str, way: str) -> Asked:
    """With the hint; without one, and after a wrong answer, with the way to one."""
    if hint:
        return replace(asked, more=[*asked.more, f"Hint: {hint}"])
    if asked.right is False:
        return replace(asked, more=[*asked.more, f"`{way}` in the call helps."])
    return asked


def _scene_parts(part: "LessonPart") -> "Iterable[Part]":
    from pagesim_lessons.lesson import Say, Show

    if isinstance(part, Say):
        yield from _said(part.text)
    elif isinstance(part, Show):
        if part.caption:
            yield from _said(part.caption)
        yield Picture(part.picture, "picture of the lesson")


def _said(text: str) -> "Iterable[Part]":
    """How far a lesson's lines are set in means nothing."""
    return parts_of("\n".join(line.strip() for line in text.splitlines()))


class _Script:
    """A lesson's script, run as far as somebody has asked."""

    def __init__(self, number: int) -> None:
        from pagesim_lessons import course

        self._lesson = course.find(str(number))
        self._parts: Iterator[LessonPart] = self._lesson.script()
        self._scene: list[Part] = []
        self._asks: list[tuple[Sequence[Part], Ask]] = []

    def question(self, number: int) -> "tuple[Sequence[Part], Ask]":
        """With its scene: what the section says and shows since the question before."""
        from pagesim_lessons.lesson import Ask, Section

        while len(self._asks) < number:
            part = next(self._parts, None)
            if part is None:
                raise InputError(
                    f"question {number} was asked for and lesson {self._lesson.number} has {len(self._asks)}"
                )
            if isinstance(part, Ask):
                self._asks.append((self._scene, part))
            if isinstance(part, Ask | Section):
                self._scene = []
            self._scene += _scene_parts(part)
        if number < 1:
            raise InputError(f"question {number} was asked for; the first is 1")
        return self._asks[number - 1]


@cache
def _lesson(number: int) -> _Script:
    return _Script(number)
