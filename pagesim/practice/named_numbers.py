"""An answer of several numbers, each with a name: "reserved 9, internal 51", or 9 51.

Knows nothing about what was asked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.practice.answers import RIGHT, UnreadableAnswerError, Verdict

_WORD = re.compile(r"[^\W\d_]+|[0-9][0-9_]*")
_LARGE = 30
"""More digits than this are no answer."""


@dataclass(frozen=True, slots=True)
class NamedNumbers:
    """``misses`` are wrong answers and what is wrong with them."""

    names: Sequence[str]
    values: Sequence[int]
    misses: Sequence[tuple[Sequence[int], str]] = ()

    @property
    def form(self) -> str:
        count = {2: "two", 3: "three"}.get(len(self.names), str(len(self.names)))
        example = " ".join(str(number) for number in (7, 1, 3)[: len(self.names)])
        return f"{count} numbers: {', then '.join(self.names)}; such as {example}"

    def shown(self) -> str:
        return ", ".join(
            f"{name} {value:,}" for name, value in zip(self.names, self.values, strict=True)
        )

    def grade(self, typed: str) -> Verdict:
        found = self._read(typed)
        if found == list(self.values):
            return RIGHT
        for values, note in self.misses:
            if found == list(values):
                return Verdict(right=False, note=note)
        if sorted(found) == sorted(self.values):
            return Verdict(right=False, note="the right numbers, in another order")
        return Verdict(right=False)

    def _read(self, typed: str) -> list[int]:
        """The numbers in the order of the names, whatever the order in which they were typed."""
        text = re.sub(r"(?<=[0-9]),(?=[0-9]{3}\b)", "", typed.casefold())
        words = [word for word in _WORD.findall(text) if word != "and"]
        numbers = [word.replace("_", "") for word in words if word[0].isdigit()]
        named = [word for word in words if not word[0].isdigit()]
        names = [name.casefold() for name in self.names]
        is_ordered = sorted(named) == sorted(names)
        if (
            len(numbers) != len(names)
            or not (is_ordered or not named)
            or not all(number.isdigit() and len(number) <= _LARGE for number in numbers)
        ):
            shown = typed if len(typed) <= 60 else typed[:60] + "..."
            raise UnreadableAnswerError(f"{shown!r} was typed; type {self.form}")
        values = [int(number) for number in numbers]
        return [values[named.index(name)] for name in names] if is_ordered else values
