"""How an adapter calls into an object of a learner's: watched and written down, or straight.

``Subject`` of ``learner`` is the watched one. Knows nothing about what is called.
"""

from typing import Protocol


class Caller(Protocol):
    """Calls methods by name, and looks at attributes. ``ask`` is for questions, which are not written down."""

    def call(self, method: str, *args: object) -> object: ...

    def attempt(
        self, method: str, *args: object, errors: tuple[type[Exception], ...]
    ) -> object | Exception:
        """An error of one of these kinds is given back as a value."""
        ...

    def ask(self, method: str, *args: object) -> object: ...

    def look(self, attribute: str) -> object: ...


class Straight:
    """Meets ``Caller`` with nothing in between: for runs, where errors are told by who drives them."""

    def __init__(self, made: object) -> None:
        self._made = made

    def call(self, method: str, *args: object) -> object:
        found: object = getattr(self._made, method)(*args)
        return found

    def attempt(
        self, method: str, *args: object, errors: tuple[type[Exception], ...]
    ) -> object | Exception:
        try:
            return self.call(method, *args)
        except errors as error:
            return error

    ask = call

    def look(self, attribute: str) -> object:
        found: object = getattr(self._made, attribute)
        return found
