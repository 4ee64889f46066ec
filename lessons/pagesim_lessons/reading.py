"""Reads a lesson: straight through, or page by page with keys and typed answers.

Knows nothing about where progress is kept: it tells whoever listens.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic

from rich.console import Console, RenderableType
from rich.text import Text

from pagesim.practice.answers import UnreadableAnswerError, Verdict
from pagesim_lessons.drawing import Drawn, answered, labelled, narrow, prose_line, title
from pagesim_lessons.lesson import Ask, Lesson, Part, Pause, Section

BUSY, LONG = "one moment ...", 0.5
KEYS = "Enter: go on   b: back   q: leave"
NEXT, BACK, LEAVE, HINT, GIVE_UP = "next", "back", "leave", "hint", "give up"
_KEYS = {
    "\r": NEXT, "\n": NEXT, " ": NEXT, "n": NEXT, "j": NEXT, "l": NEXT, "\x1b[C": NEXT, "\x1b[B": NEXT,
    "b": BACK, "p": BACK, "k": BACK, "h": BACK, "\x7f": BACK, "\x1b[D": BACK, "\x1b[A": BACK,
    "q": LEAVE, "\x1b": LEAVE, "\x03": LEAVE, "\x04": LEAVE, "": LEAVE,
}  # fmt: skip
_WORDS = {"quit": LEAVE, "back": BACK, "hint": HINT, "?": HINT, "answer": GIVE_UP}


@dataclass(slots=True)
class Page:
    """Parts that are read without a pause; a question is always the last of its page."""

    parts: list[tuple[Part, int]] = field(default_factory=list)

    @property
    def ask(self) -> Ask | None:
        last = self.parts[-1][0] if self.parts else None
        return last if isinstance(last, Ask) else None

    @property
    def num_sections(self) -> int:
        return sum(isinstance(part, Section) for part, _ in self.parts)


def pages(lesson: Lesson) -> Iterator[Page]:
    """The lesson's pages, made as they are asked for; sections and questions are numbered."""
    page, sections, questions = Page(), 0, 0
    for part in lesson.script():
        if isinstance(part, Pause):
            if page.parts:
                yield page
            page = Page()
            continue
        number = 0
        if isinstance(part, Section):
            sections += 1
            number = sections
        elif isinstance(part, Ask):
            questions += 1
            number = questions
        page.parts.append((part, number))
        if isinstance(part, Ask):
            yield page
            page = Page()
    if page.parts:
        yield page


def read_through(lesson: Lesson, console: Console, *, answers: bool = True) -> None:
    """Print all of it; each question is followed by its answer, unless ``answers`` is false."""
    _write(console, title(lesson, f"about {lesson.minutes} minutes"))
    for page in pages(lesson):
        for part, number in page.parts:
            _write(console, *_spaced(part, number))
        if page.ask is not None and answers:
            _write(console, "", answered(page.ask.answer, page.ask.why))
        elif page.ask is not None:
            _write(console, Text(f"({page.ask.answer.form})", style="dim"))


def _write(console: Console, *drawn: RenderableType) -> None:
    """Print without the blanks that tables leave at the ends of lines."""
    with console.capture() as captured:
        for one in drawn:
            console.print(one)
    lines = [line.rstrip(" ") for line in captured.get().split("\n")]
    console.file.write("\n".join(lines))


@dataclass(slots=True)
class Reading:
    """One walk through a lesson with keys. ``first`` is the page to begin at.

    ``read_key`` returns one key as the terminal sends it, ``read_line`` a line typed behind a prompt (EOFError: no
    more), ``forget`` drops what was typed ahead. ``tell`` is told after each page: its number, and for a question
    whether the first answer was right.
    """

    lesson: Lesson
    console: Console
    read_key: Callable[[], str]
    read_line: Callable[[str], str]
    tell: Callable[[int, bool | None], None]
    first: int = 0
    forget: Callable[[], None] = lambda: None

    def walk(self) -> bool:
        """Read until the end, or until the reader leaves: was the end reached?"""
        coming = pages(self.lesson)
        self.console.print(title(self.lesson, f"about {self.lesson.minutes} minutes"))
        made = self._made(coming, self.first + 1)
        at = min(self.first, len(made) - 1)  # the lesson may have become shorter
        if at:
            self._note(f"Going on at page {at + 1}; --from-start begins again.")
        while True:
            made += self._made(coming, max(at + 1 - len(made), 0))
            if at >= len(made):
                return True
            move = self._shown(made[at])
            if move == NEXT:
                section = sum(page.num_sections for page in made[: at + 1])
                place = f"part {section} of {self.lesson.sections}, page {at + 1}"
                ask = made[at].ask
                move = self._key(place, at) if ask is None else self._answer(ask, at, place)
            if move == LEAVE:
                return False
            at = max(at - 1, 0) if move == BACK else at + 1

    def _made(self, coming: Iterator[Page], count: int) -> list[Page]:
        """The next pages. Making one may take seconds: that is said, and keys pressed meanwhile mean nothing."""
        began = monotonic()
        busy = count and self.console.is_terminal and not self.console.is_dumb_terminal
        if busy:
            self.console.file.write(BUSY)
            self.console.file.flush()
        made = list(islice(coming, count))
        if busy:
            self.console.file.write("\r" + " " * len(BUSY) + "\r")
        if monotonic() - began > LONG:
            self.forget()
        return made

    def _shown(self, page: Page) -> str:
        """Show a page, stopping where a part more would scroll its beginning away; where the reader wants to go."""
        console, filled = self.console, 0
        room = max(console.height - 4, 8)
        for part, number in page.parts:
            height = sum(len(console.render_lines(one)) for one in _spaced(part, number))
            if filled and filled + height > room:
                self._note(f"[more]  {KEYS}")
                move = self._move()
                if move != NEXT:
                    return move
                filled = 0
            for one in _spaced(part, number):
                console.print(one)
            filled += height
        console.print()
        return NEXT

    def _answer(self, ask: Ask, at: int, place: str) -> str:
        """Ask until it is answered, given up or left; only the first answer counts."""
        self._note(f"[{place}]  {ask.answer.form}; or one of: hint, answer, back, quit")
        first: bool | None = None
        while True:
            try:
                typed = self.read_line("> ").strip()
            except EOFError:
                return LEAVE
            word = _WORDS.get(typed.casefold(), typed)
            if word in (LEAVE, BACK):
                return word
            if word == GIVE_UP:
                return self._over(ask, at, "Answer", right=bool(first))
            verdict = self._graded(ask, word)
            if verdict is None and word.casefold() == "q":
                return LEAVE
            if verdict is None:
                continue
            first = verdict.right if first is None else first
            if verdict.right:
                return self._over(ask, at, "Right", right=first)
            note = f": {verdict.note}" if verdict.note else ""
            self._say(prose_line(f"No{note}. Try again, or type hint, or answer."))

    def _graded(self, ask: Ask, typed: str) -> Verdict | None:
        """``None``: it was no answer, and what there is to say is said."""
        if typed == HINT:
            self._say(labelled("Hint", ask.hint))
            return None
        if not typed:
            self._note("Type an answer, or the word answer to see it.")
            return None
        try:
            return ask.answer.grade(typed)
        except UnreadableAnswerError as error:
            if typed.casefold() != "q":
                self._say(prose_line(str(error)))
            return None

    def _over(self, ask: Ask, at: int, label: str, *, right: bool) -> str:
        self.console.print(answered(ask.answer, ask.why, label))
        self.console.print()
        self.tell(at, right)
        return self._key("", None)

    def _key(self, place: str, at: int | None) -> str:
        """Wait for a key; going on from page ``at``, if given, is told."""
        self._note(f"[{place}]  {KEYS}" if place else KEYS)
        move = self._move()
        if move == NEXT and at is not None:
            self.tell(at, None)
        return move

    def _move(self) -> str:
        while True:
            move = _KEYS.get(self.read_key())
            if move is not None:
                return move

    def _say(self, drawn: RenderableType) -> None:
        self.console.print(narrow(drawn))

    def _note(self, text: str) -> None:
        self.console.print(Text(text, style="dim"))


def _spaced(part: Part, number: int) -> list[RenderableType]:
    """A part with the empty line before it that a heading brings along."""
    drawn = Drawn(part, number)
    return [drawn] if isinstance(part, Section) else ["", drawn]
