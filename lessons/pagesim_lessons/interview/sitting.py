"""Asking: flash cards with a schedule, a mock interview against the clock, and true or false.

Each is a loop over questions that is given what it needs of the world: keys, a console, a clock, and somebody to tell.
Whoever leaves, by a key, Ctrl-C or the end of the input, leaves what was answered behind. Knows nothing about files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from rich.console import Console
from rich.text import Text

from pagesim.replay.phrases import counted
from pagesim_lessons.interview.cards import Card
from pagesim_lessons.interview.deck import Statement
from pagesim_lessons.interview.drawing import question, solution, when
from pagesim_lessons.interview.schedule import Grade, Memory, after
from pagesim_lessons.interview.text import complete

LEAVE = ("q", "\x1b", "")
NEXT = ("\r", "\n")
GRADES = {"1": Grade.AGAIN, "2": Grade.HARD, "3": Grade.GOOD, "4": Grade.EASY}
NAMES = {Grade.AGAIN: "again", Grade.HARD: "hard", Grade.GOOD: "good", Grade.EASY: "easy"}


class Keyboard(Protocol):
    def key(self, seconds: float | None = None) -> str | None:
        """The next key; ``None``: none came for so long; empty: nothing more comes."""
        ...

    def line(self) -> str:
        """Raises EOFError where nothing more comes."""
        ...


class LeftError(Exception):
    """Whoever answers wants to leave."""


@dataclass(slots=True)
class Desk:
    """What every kind of sitting needs. ``run`` runs a card's command and comes back when it has ended."""

    console: Console
    keys: Keyboard
    titles: Mapping[str, str]
    run: Callable[[str], None]

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style))

    def ask(self, card: Card, place: str) -> Card:
        """Show a question; the card with its figures, computed while it is read."""
        full = complete(card)
        self.console.print()
        self.console.print(question(full, self.titles[card.topic], place))
        return full

    def answer(self) -> str:
        """A typed line. Raises LeftError."""
        self.console.print(Text("> ", style="bold"), end="")
        try:
            typed = self.keys.line().strip()
        except EOFError:
            raise LeftError from None
        if typed.casefold() in ("q", "quit"):
            raise LeftError
        return typed

    def pick(self, allowed: Sequence[str], card: Card | None = None) -> str:
        """One of the keys. ``r`` runs the card's command first. Raises LeftError."""
        while True:
            key = self.keys.key()
            if key is None or key in LEAVE:
                raise LeftError
            if key in allowed:
                return key
            if key == "r" and card is not None:
                self.run(card.command)
                self.say("Back at the question; the keys are as above.", "dim")


@dataclass(slots=True)
class FlashCards:
    """Questions in order; those that went badly come again at the end.

    ``tell`` is told after each question what is known of it now, and says whether it was kept.
    """

    desk: Desk
    known: dict[str, Memory]
    today: date
    tell: Callable[[str, Memory], bool]
    kept: int = 0

    def sit(self, cards: Sequence[Card]) -> list[Grade]:
        """Ask until all went well, or somebody leaves; the grades in order."""
        queue = list(cards)
        grades: list[Grade] = []
        self.desk.say(
            "Say your answer, or type it; Enter shows the model answer, q and Enter leave.", "dim"
        )
        try:
            while queue:
                card = queue.pop(0)
                place, of = len(grades) + 1, len(grades) + 1 + len(queue)
                grades.append(self._one(card, f"{place} of {of}{_repeats(place, of, len(cards))}"))
                if grades[-1] is Grade.AGAIN:
                    queue.append(card)
        except (LeftError, KeyboardInterrupt):
            self.desk.say("")
        self._summary(grades, len(queue))
        return grades

    def _one(self, card: Card, place: str) -> Grade:
        full = self.desk.ask(card, place)
        self.desk.answer()
        self.desk.console.print(solution(full))
        before = self.known.get(card.id)
        offers = []
        for grade in Grade:
            due = when(after(before, grade, self.today).due, self.today)
            offers.append(f"{grade.value} {NAMES[grade]} ({'now' if due == 'today' else due})")
        self.desk.say("How was it? A key grades it; r runs the command, q leaves.", "dim")
        self.desk.say("  ".join(offers), "bold")
        grade = GRADES[self.desk.pick(tuple(GRADES), full)]
        memory = after(before, grade, self.today)
        self.known[card.id] = memory
        kept = self.tell(card.id, memory)
        self.kept += kept
        back = f": comes back {when(memory.due, self.today)}" if kept else ""
        self.desk.say(f"{NAMES[grade]}{back}", "dim")
        return grade

    def _summary(self, grades: list[Grade], left: int) -> None:
        counts = ", ".join(f"{grades.count(grade)} {NAMES[grade]}" for grade in Grade)
        number = len(grades)
        text = f"{counted(number, 'answer')}: {counts}." if number else "No answers."
        how_much = "All" if self.kept == number else "Not all" if self.kept else "Nothing"
        kept = f" {how_much} of it is kept." if number else ""
        rest = f" {left} more were to come." if left else ""
        self.desk.say(f"{text}{rest}{kept}")


def _repeats(place: int, of: int, cards: int) -> str:
    """Why there are more questions than cards."""
    if of == cards:
        return ""
    again = of - cards
    return " (again)" if place > cards else f" ({again} {'comes' if again == 1 else 'come'} again)"


@dataclass(frozen=True, slots=True)
class Taken:
    """One question of a mock interview: how long its answer took, and how it went (``None``: not said)."""

    card: Card
    seconds: float
    grade: Grade | None


@dataclass(slots=True)
class MockInterview:
    """Questions against the clock: so many ``seconds`` for each. ``now`` is a clock in seconds.

    ``ticks``: show the time while it runs. Nothing happens when it is over, but that it is said.
    """

    desk: Desk
    now: Callable[[], float]
    seconds: int
    ticks: bool

    def sit(self, cards: Sequence[Card]) -> list[Taken]:
        """What was answered before somebody left, or all."""
        taken: list[Taken] = []
        limit = clock(self.seconds)
        self.desk.say(
            f"{counted(len(cards), 'question')}, {limit} minutes each. Say your answers aloud.",
            "dim",
        )
        try:
            for place, card in enumerate(cards, 1):
                taken.append(self._one(card, f"{place} of {len(cards)}"))
        except (LeftError, KeyboardInterrupt):
            self.desk.say("")
        self._summary(taken)
        return taken

    def _one(self, card: Card, place: str) -> Taken:
        full = self.desk.ask(card, place)
        begun = self.now()
        self._wait(begun)
        spent = self.now() - begun
        over = f", {clock(spent - self.seconds)} over" if spent >= self.seconds + 1 else ""
        self.desk.say(f"{clock(spent)} of {clock(self.seconds)}{over}", "bold")
        self.desk.console.print(solution(full))
        self.desk.say("How was it? A key says so; r runs the command, q leaves.", "dim")
        self.desk.say("1 wrong  2 in part  3 right  4 right and fluent", "bold")
        grade = GRADES[self.desk.pick(tuple(GRADES), full)]
        return Taken(card, spent, grade)

    def _wait(self, begun: float) -> None:
        """Until a key shows the answer. The clock is one line that is written over, and wiped at the end."""
        keys = "Enter shows the answer, q leaves"
        if not self.ticks:
            self.desk.say(keys, "dim")
        width = 0
        try:
            while True:
                spent = self.now() - begun
                if self.ticks:
                    text = f"{clock(spent)} of {clock(self.seconds)}  {keys}"
                    if spent > self.seconds:
                        text = f"{clock(spent)} of {clock(self.seconds)}, time is up  {keys}"
                    text = text[: max(self.desk.console.width - 1, 0)]
                    width = max(width, len(text))
                    self._write(f"\r{text:<{width}}")
                key = self.desk.keys.key(1 - spent % 1 if self.ticks else None)
                if key in NEXT:
                    return
                if key is not None and key in LEAVE:
                    raise LeftError
        finally:
            if self.ticks:
                self._write(f"\r{'':<{width}}\r")

    def _write(self, text: str) -> None:
        self.desk.console.file.write(text)
        self.desk.console.file.flush()

    def _summary(self, taken: list[Taken]) -> None:
        if not taken:
            self.desk.say("No answers.")
            return
        self.desk.say("")
        for at in taken:
            went = {1: "wrong", 2: "in part", 3: "right", 4: "fluent"}[at.grade or 1]
            over = "over time" if at.seconds >= self.seconds + 1 else ""
            self.desk.say(f"{clock(at.seconds):>6}  {went:<8}  {at.card.id}  {over}".rstrip())
        well = sum(at.grade is not None and at.grade >= Grade.GOOD for at in taken)
        total = clock(sum(at.seconds for at in taken))
        self.desk.say(f"{well} of {len(taken)} right, in {total} minutes.")


@dataclass(slots=True)
class TrueOrFalse:
    """Sentences about misconceptions, each true or false."""

    desk: Desk

    def sit(self, sentences: Sequence[Statement]) -> tuple[int, int]:
        """How many were judged rightly, of how many that were judged."""
        right = done = 0
        self.desk.say("True or false?  t true  f false  q leaves", "dim")
        try:
            for place, statement in enumerate(sentences, 1):
                self.desk.say("")
                self.desk.say(f"{place} of {len(sentences)}  {statement.text}", "bold")
                said = self.desk.pick(("t", "f")) == "t"
                done += 1
                right += said == statement.is_true
                self._verdict(statement, well=said == statement.is_true)
        except (LeftError, KeyboardInterrupt):
            self.desk.say("")
        self.desk.say("")
        self.desk.say(f"{right} of {done} right." if done else "No answers.")
        return right, done

    def _verdict(self, statement: Statement, *, well: bool) -> None:
        said = "Right" if well else "No"
        self.desk.say(f"{said}: that is {'true' if statement.is_true else 'false'}.")
        self.desk.say(explained(statement))
        self.desk.say(f"pagesim interview --show {statement.card.id}", "dim")


def explained(statement: Statement) -> str:
    """What is to be known of a statement."""
    card = complete(statement.card)
    if statement.is_true:
        return f'Often said: "{card.wrong}" {card.why_wrong}'
    return f"{card.in_short} {card.why_wrong}"


def clock(seconds: float) -> str:
    """Minutes and seconds: 2:05."""
    whole = max(int(seconds), 0)
    return f"{whole // 60}:{whole % 60:02}"
