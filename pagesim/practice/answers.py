"""Right answers, and how what a person types is read and graded.

An answer knows its form (what may be typed), reads a typed text, and says whether it is right and, of a near
miss, what kind of miss it is. Knows nothing about what was asked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from pagesim.core.errors import InputError

NOTHING = ("none", "nothing", "empty", "nobody", "-", "[]", "()")
_UNITS = {
    "": 1,
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}


class UnreadableAnswerError(InputError):
    """What was typed is no answer of this form: to be typed again, not graded."""


class Verdict(NamedTuple):
    """``note`` says, of a wrong answer, what kind of miss it is, where that can be told; else it is empty."""

    right: bool
    note: str = ""


RIGHT, WRONG = Verdict(right=True), Verdict(right=False)


class Answer(Protocol):
    """A right answer."""

    @property
    def form(self) -> str:
        """How it is to be typed, as a noun phrase: "block ids in order, such as 7 1 3"."""
        ...

    def shown(self) -> str:
        """The right answer, as a person would type it."""
        ...

    def grade(self, typed: str) -> Verdict:
        """Raises UnreadableAnswerError, which says what may be typed."""
        ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number; ``unit`` is for people ("blocks") and may be typed behind it."""

    value: int
    unit: str = ""

    @property
    def form(self) -> str:
        return f"a whole number of {self.unit}" if self.unit else "a whole number"

    def shown(self) -> str:
        unit = self.unit.removesuffix("s") if self.value == 1 else self.unit
        return f"{self.value:,} {unit}".rstrip()

    def grade(self, typed: str) -> Verdict:
        text = _without_unit(typed.strip(), self.unit)
        found = _whole(text)
        if found is None:
            raise _unreadable(typed, self.form)
        if found == self.value:
            return RIGHT
        return _wrong("off by one" if abs(found - self.value) == 1 else "")


@dataclass(frozen=True, slots=True)
class Wholes:
    """Whole numbers, such as block ids; ``ordered``: their order matters."""

    values: Sequence[int]
    what: str = "block ids"
    ordered: bool = True

    @property
    def form(self) -> str:
        order = "in order" if self.ordered else "in any order"
        return f"{self.what} {order}, such as 7 1 3, or none"

    def shown(self) -> str:
        return " ".join(map(str, self.values)) if self.values else "none"

    def grade(self, typed: str) -> Verdict:
        parts = _parts(typed, self.form)
        found = [_whole(part) for part in parts]
        if None in found:
            raise _unreadable(typed, self.form)
        return _compare(found, list(self.values), self.what, ordered=self.ordered)


@dataclass(frozen=True, slots=True)
class Names:
    """Names, such as requests in a queue; upper and lower case are one."""

    values: Sequence[str]
    what: str = "names"
    ordered: bool = True

    @property
    def form(self) -> str:
        order = "in order" if self.ordered else "in any order"
        return f"{self.what} {order}, separated by spaces, or none"

    def shown(self) -> str:
        return " ".join(self.values) if self.values else "none"

    def grade(self, typed: str) -> Verdict:
        found = [part.casefold() for part in _parts(typed, self.form)]
        right = [value.casefold() for value in self.values]
        return _compare(found, right, self.what, ordered=self.ordered)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of whole numbers, such as copies from block to block, typed as 2>5."""

    values: Sequence[tuple[int, int]]
    what: str = "copies"
    ordered: bool = True

    @property
    def form(self) -> str:
        order = "in order" if self.ordered else "in any order"
        return f"{self.what} {order}, written from>to, such as 2>5 4>6, or none"

    def shown(self) -> str:
        return " ".join(f"{one}>{other}" for one, other in self.values) if self.values else "none"

    def grade(self, typed: str) -> Verdict:
        joined = re.sub(r"\s*(->|→|=>|>)\s*", ">", typed)
        found: list[tuple[int, int]] = []
        for part in _parts(joined, self.form):
            sides = [_whole(side) for side in part.split(">")]
            if len(sides) != 2 or sides[0] is None or sides[1] is None:
                raise _unreadable(typed, self.form)
            found.append((sides[0], sides[1]))
        verdict = _compare(found, list(self.values), self.what, ordered=self.ordered)
        if not verdict.right and found == [(b, a) for a, b in self.values]:
            return _wrong("the wrong way round: from is written first")
        return verdict


@dataclass(frozen=True, slots=True)
class Share:
    """A share of 1, typed as a percentage (96.3 or 96.3 %) or a fraction (3/4); right within ``points``
    percentage points."""

    value: Fraction
    points: float = 0.1

    @property
    def form(self) -> str:
        return "a percentage, such as 37.5, or a fraction, such as 3/8"

    def shown(self) -> str:
        return f"{float(100 * self.value):.1f} %"

    def grade(self, typed: str) -> Verdict:
        text = typed.strip()
        found = _share(text)
        if found is None:
            raise _unreadable(typed, self.form)
        if abs(100 * (found - self.value)) <= Fraction(self.points):
            return RIGHT
        if abs(100 * (1 - found - self.value)) <= Fraction(self.points):
            return _wrong("that is the other part of the whole")
        if not text.endswith("%") and abs(100 * (100 * found - self.value)) <= Fraction(
            self.points
        ):
            return _wrong("give it in percent, not as a part of 1")
        return WRONG


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of memory in bytes, typed with or without a unit; right if it rounds to what is shown.

    ``places`` are the decimal places that a typed amount with a unit is rounded to; bytes must be exact.
    """

    value: int
    places: int = 2

    @property
    def form(self) -> str:
        return "bytes, or an amount with a unit, such as 128 KiB or 1.5 GB"

    def shown(self) -> str:
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if self.value >= size:
                return f"{self.value:,} bytes ({self.value / size:.{self.places}f} {unit})"
        return f"{self.value:,} bytes"

    def grade(self, typed: str) -> Verdict:
        found = re.fullmatch(r"([0-9][0-9,_]*(?:\.[0-9]+)?)\s*([a-zA-Z]*)", typed.strip())
        size = None if found is None else _UNITS.get(found[2].casefold())
        if found is None or size is None or len(found[1]) > 40:
            raise _unreadable(typed, self.form)
        given = Fraction(found[1].replace(",", "").replace("_", "")) * size
        slack = Fraction(size, 2 * 10**self.places) if size > 1 else Fraction(0)
        if abs(given - self.value) <= slack:
            return RIGHT
        factors = {2: "twice", Fraction(1, 2): "half"}
        kind = factors.get(given / self.value) if self.value else None
        if kind is not None:
            return _wrong(f"that is {kind} the right amount")
        thousand = [Fraction(1024, 1000) ** power for power in (1, 2, 3)]
        ratio = given / self.value if self.value else Fraction(0)
        near = [r for r in (*thousand, *(1 / r for r in thousand)) if abs(ratio / r - 1) < 0.002]
        return _wrong("kB and KiB (GB and GiB) are mixed up" if near else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several texts, typed as its letter. ``right`` is its place in ``options``."""

    options: Sequence[str]
    right: int
    why_not: Sequence[str] = ()  # for each option what is wrong with it; empty for the right one

    @property
    def form(self) -> str:
        return f"a letter, {', '.join(self.letters[:-1])} or {self.letters[-1]}"

    @property
    def letters(self) -> str:
        return "abcdefghijklmnopqrstuvwxyz"[: len(self.options)]

    def shown(self) -> str:
        return f"{self.letters[self.right]}) {self.options[self.right]}"

    def grade(self, typed: str) -> Verdict:
        letter = typed.strip().strip("().").casefold()
        if len(letter) != 1 or letter not in self.letters:
            raise _unreadable(typed, self.form)
        place = self.letters.index(letter)
        return Verdict(place == self.right, self.why_not[place] if self.why_not else "")


@dataclass(frozen=True, slots=True)
class YesNo:
    value: bool

    @property
    def form(self) -> str:
        return "yes or no"

    def shown(self) -> str:
        return "yes" if self.value else "no"

    def grade(self, typed: str) -> Verdict:
        found = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}.get(
            typed.strip().casefold()
        )
        if found is None:
            raise _unreadable(typed, self.form)
        return Verdict(found == self.value)


def _wrong(note: str) -> Verdict:
    return Verdict(right=False, note=note)


def _unreadable(typed: str, form: str) -> UnreadableAnswerError:
    shown = typed if len(typed) <= 60 else typed[:60] + "..."
    return UnreadableAnswerError(f"{shown!r} was typed; type {form}")


def _whole(text: str) -> int | None:
    digits = text.replace(",", "").replace("_", "")
    return int(digits) if re.fullmatch(r"[+-]?[0-9]{1,30}", digits, re.ASCII) else None


def _without_unit(text: str, unit: str) -> str:
    """``unit`` may be typed, in the singular, too."""
    for word in (unit, unit.removesuffix("s")):
        if word and text.casefold().endswith(word.casefold()):
            return text[: -len(word)].rstrip()
    return text


def _parts(typed: str, form: str) -> list[str]:
    """Words between spaces, commas, brackets; none for a word that says so. Nothing typed is no answer."""
    text = typed.strip()
    if not text or len(text) > 10_000:
        raise _unreadable(typed, form)
    if text.casefold() in NOTHING:
        return []
    return re.sub(r"[\s,;\[\]()]+", " ", text).split()


def _share(text: str) -> Fraction | None:
    found = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*%?", text, re.ASCII)
    if found is not None:
        return Fraction(found[1]) / 100
    found = re.fullmatch(r"([0-9]{1,20})\s*/\s*([0-9]{1,20})", text, re.ASCII)
    if found is None or int(found[2]) == 0:
        return None
    return Fraction(int(found[1]), int(found[2]))


def _compare(
    found: Sequence[object], right: Sequence[object], what: str, *, ordered: bool
) -> Verdict:
    if list(found) == list(right):
        return RIGHT
    same = sorted(map(str, found)) == sorted(map(str, right))
    if same:
        return RIGHT if not ordered else _wrong(f"the right {what}, in another order")
    if len(found) != len(right):
        typed, there = len(found), len(right)
        verbs = ("was" if typed == 1 else "were", "is" if there == 1 else "are")
        return _wrong(f"{typed} {verbs[0]} typed and there {verbs[1]} {there}")
    return WRONG
