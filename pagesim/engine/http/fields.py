"""The fields of a call's JSON, read one by one with their types; what nobody read is refused.

Knows nothing about what the fields mean. ``null`` is as good as left out, as in OpenAI's API.
"""

import json
from collections.abc import Collection, Mapping
from typing import TypeGuard

from pagesim.engine.http.api_error import ApiError, wrong


class Fields:
    """Every question takes the field out; ApiError names the field, what was given and what is allowed."""

    def __init__(self, body: Mapping[str, object]) -> None:
        self._left = {name: value for name, value in body.items() if value is not None}

    def take(self, name: str) -> object:
        """Whatever it is; None if it is not there."""
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        value = self.take(name)
        if value is None or isinstance(value, str):
            return value
        raise wrong(name, f"{name} is {shown(value)}; it must be a string")

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise wrong(name, f"{name} is {shown(value)}; it must be true or false")

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number from ``least`` to ``most``."""
        value = self.take(name)
        if value is None:
            return None
        if is_whole(value) and least <= value <= most:
            return value
        raise wrong(
            name, f"{name} is {shown(value)}; it must be a whole number from {least:,} to {most:,}"
        )

    def number(self, name: str) -> float | None:
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                pass
        raise wrong(name, f"{name} is {shown(value)}; it must be a number")

    def ignore(self, names: Collection[str]) -> None:
        """These do not change an answer, whatever they are."""
        for name in names:
            self.take(name)

    def neutral(self, allowed: Mapping[str, tuple[object, ...]]) -> None:
        """These may only have values that ask for nothing."""
        for name, values in allowed.items():
            value = self.take(name)
            if value is not None and value not in values:
                raise wrong(
                    name,
                    f"{name} is {shown(value)}, and this server does not support it; leave it out",
                    "unsupported",
                )

    def close(self) -> None:
        """ApiError if a field is left that nobody knows."""
        for name in self._left:
            raise wrong(
                name[:60], f"{shown(name)} is no field that this server knows; leave it out"
            )


def parsed(body: bytes) -> Fields:
    """ApiError if it is not the JSON of an object."""
    try:
        value = json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply", code="bad_json") from None
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON ({error})"[:300], code="bad_json") from None
    if not isinstance(value, dict):
        raise ApiError(400, f"the body is {shown(value)}; it must be a JSON object")
    return Fields(value)


def is_whole(value: object) -> TypeGuard[int]:
    """``True`` and ``False`` are no numbers in JSON."""
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: object) -> str:
    """A value for a sentence, not long."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
