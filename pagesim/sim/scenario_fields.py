"""Reads the fields of a TOML table, saying in one sentence what is wrong with one: file, field, value, allowed.

Knows nothing about what the fields mean.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pagesim.core.errors import InputError
from pagesim.core.token_ids import MAX_TOKEN_ID, FreshIds

MOST = 1_000_000
T = TypeVar("T")


class Fields:
    """One table. Every field is asked for once; ``finish`` then refuses what nobody asked for."""

    def __init__(self, file: str, place: str, table: Mapping[str, object]) -> None:
        self._file = file
        self._place = place
        self._table = table
        self._asked: dict[str, None] = {}

    def error(self, field: str, given: object, allowed: str) -> InputError:
        where = f"{self._place}.{field}" if self._place else field
        shown = (
            repr(given)
            if not isinstance(given, str) or len(given) < 60
            else repr(given[:60] + "...")
        )
        return InputError(f"{self._file}, {where}: {shown[:80]} was given; allowed is {allowed}")

    def finish(self) -> None:
        """Raises InputError for a field that is not known here."""
        for field in self._table:
            if field not in self._asked:
                where = f"{self._place}.{field}" if self._place else field
                known = ", ".join(self._asked)
                raise InputError(
                    f"{self._file}, {where}: there is no such field; known are {known}"
                )

    def has(self, field: str) -> bool:
        return field in self._table

    def whole(self, field: str, default: int, least: int, most: int) -> int:
        value = self._value(field, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(field, value, f"a whole number from {least:,} to {most:,}")
        return value

    def number(self, field: str, default: float, least: float, most: float) -> float:
        value = self._value(field, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            raise self.error(field, value, f"a number from {least:g} to {most:g}")
        return float(value)

    def flag(self, field: str, *, default: bool) -> bool:
        value = self._value(field, default)
        if not isinstance(value, bool):
            raise self.error(field, value, "true or false")
        return value

    def text(self, field: str, default: str) -> str:
        value = self._value(field, default)
        if not isinstance(value, str) or len(value) > 4000:
            raise self.error(field, value, "a text")
        return value

    def required_text(self, field: str) -> str:
        text = self.text(field, "")
        if not text or not text.isprintable() or len(text) > 200:
            raise self.error(field, text, "a printable text of 1 to 200 characters")
        return text

    def choice(self, field: str, allowed: Sequence[str], default: str) -> str:
        value = self._value(field, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.error(field, value, " or ".join(allowed))
        return value

    def texts(self, field: str) -> list[str]:
        """A list of texts, none by default."""
        value = self._value(field, [])
        if not isinstance(value, list) or not all(
            isinstance(v, str) and len(v) < 4000 for v in value
        ):
            raise self.error(field, value, "a list of texts")
        return value

    def parsed(self, field: str, parse: Callable[[str], T]) -> T | None:
        """What a text stands for; ``None`` without one. What ``parse`` objects to is told with the place."""
        text = self.text(field, "")
        if not text:
            return None
        try:
            return parse(text)
        except InputError as error:
            raise InputError(f"{self._file}, {self._place}.{field}: {error}") from None

    def words(self, field: str, token_of: Callable[[str], int]) -> list[int]:
        """The ids of the words of a text, none by default."""
        return [token_of(word) for word in self.text(field, "").split()]

    def table(self, field: str) -> "Fields":
        value = self._value(field, {})
        if not isinstance(value, dict):
            raise self.error(field, value, f"a table, [{field}]")
        return Fields(self._file, field, value)

    def tables(self, field: str, most: int) -> list["Fields"]:
        value = self._value(field, [])
        if (
            not isinstance(value, list)
            or len(value) > most
            or not all(isinstance(v, dict) for v in value)
        ):
            raise self.error(field, value, f"up to {most:,} tables, [[{field}]]")
        return [
            Fields(self._file, f"{field}[{number}]", entry) for number, entry in enumerate(value)
        ]

    def numbers(self, field: str, count: int) -> list[int] | None:
        """An order of blocks 0 to count - 1: the first ones as listed, the others behind them."""
        value = self._value(field, None)
        if value is None:
            return None
        if (
            not isinstance(value, list)
            or not all(isinstance(n, int) and 0 <= n < count for n in value)
            or len(set(value)) < len(value)
        ):
            raise self.error(field, value, f"different block numbers from 0 to {count - 1}")
        listed = set(value)
        return [*value, *(n for n in range(count) if n not in listed)]

    def tokens(self, field: str, words: dict[str, int], fresh: FreshIds) -> Sequence[int]:
        """A number of tokens nobody else has, a list of token ids, or words (equal words, equal ids)."""
        value = self._value(field, None)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
            return fresh.take(value)
        return self._ids(field, value, words)

    def scripts(self, field: str, words: dict[str, int]) -> int | list[Sequence[int]]:
        """How many output tokens; or the tokens themselves, as a list or words, or one of these a sample."""
        value = self._value(field, None)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST:
            return value
        if isinstance(value, list) and value and all(isinstance(v, list | str) for v in value):
            found = [self._ids(field, entry, words) for entry in value]
        else:
            found = [self._ids(field, value, words)]
        if not all(found):
            raise self.error(field, value, "at least one token each")
        return found

    def _ids(self, field: str, value: object, words: dict[str, int]) -> Sequence[int]:
        if isinstance(value, str):
            return [words.setdefault(word, len(words)) for word in value.split()]
        if isinstance(value, list) and all(
            isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MAX_TOKEN_ID for n in value
        ):
            return list(value)
        raise self.error(field, value, "a number of tokens, a list of token ids, or words")

    def _value(self, field: str, default: object) -> object:
        self._asked[field] = None
        return self._table.get(field, default)
