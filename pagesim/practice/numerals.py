"""Whole numbers as people type them: digits, words to twenty, and small sums such as ``2 * 40 + 7``.

Sums are read by a parser of a few lines, never run as code; their length is bounded, and with it their value. Knows
nothing about answers.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
MOST_CHARACTERS, MOST_DIGITS, MOST_DEPTH = 200, 30, 20
_DIGITS = r"[0-9]+(?:[,_][0-9]+)*"
_TOKEN = re.compile(rf"\s*({_DIGITS}|//|[-+*/()])", re.ASCII)


def whole(text: str) -> int | None:
    """The number that a text is, or comes to; ``None``: it is none."""
    found = number(text)
    if found is not None:
        return found
    value = total(text)
    return int(value) if value is not None and value.denominator == 1 else None


def number(text: str) -> int | None:
    """As ``whole``, of digits and words alone: for lists, in which a sign may be meant as a dash."""
    text = text.strip()
    if text.casefold() in WORDS:
        return WORDS.index(text.casefold())
    return _digits(text[1:], text[0]) if text[:1] in ("+", "-") else _digits(text)


def total(text: str) -> Fraction | None:
    """What a sum of whole numbers with + - * / // and brackets comes to; ``None``: it is none, or too long."""
    if len(text) > MOST_CHARACTERS:
        return None
    text = re.sub(r"(?<=\s)x(?=\s)|\u00d7", "*", text).replace("\u2212", "-")
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        tokens.append(found[1])
        at = found.end()
    try:
        return _Sum(tokens).value()
    except (_NoSumError, ZeroDivisionError):
        return None


class _NoSumError(Exception):
    """The tokens are no sum."""


@dataclass(slots=True)
class _Sum:
    """Reads tokens from the left: sums of products of numbers and brackets."""

    tokens: list[str]
    at: int = 0
    depth: int = 0

    def value(self) -> Fraction:
        found = self._sum()
        if self.at < len(self.tokens):
            raise _NoSumError
        return found

    def _sum(self) -> Fraction:
        found = self._product()
        while (sign := self._one_of("+", "-")) is not None:
            other = self._product()
            found = found + other if sign == "+" else found - other
        return found

    def _product(self) -> Fraction:
        found = self._factor()
        while (sign := self._one_of("*", "/", "//")) is not None:
            other = self._factor()
            if sign == "*":
                found *= other
            else:
                found = found / other if sign == "/" else Fraction(found // other)
        return found

    def _factor(self) -> Fraction:
        if self._one_of("(") is not None:
            self.depth += 1
            if self.depth > MOST_DEPTH:
                raise _NoSumError
            found = self._sum()
            self.depth -= 1
            if self._one_of(")") is None:
                raise _NoSumError
            return found
        value = _digits(self.tokens[self.at]) if self.at < len(self.tokens) else None
        if value is None:
            raise _NoSumError
        self.at += 1
        return Fraction(value)

    def _one_of(self, *signs: str) -> str | None:
        """Take the next token if it is one of these."""
        if self.at == len(self.tokens) or self.tokens[self.at] not in signs:
            return None
        self.at += 1
        return self.tokens[self.at - 1]


def _digits(text: str, sign: str = "") -> int | None:
    """Commas stand between thousands only: ``1,5`` is no whole number."""
    if "," in text and not re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", text, re.ASCII):
        return None
    digits = text.replace(",", "").replace("_", "")
    if not re.fullmatch(rf"[0-9]{{1,{MOST_DIGITS}}}", digits, re.ASCII):
        return None
    return int(sign + digits)
