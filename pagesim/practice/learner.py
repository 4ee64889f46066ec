"""A learner's code under examination: every call into it goes through here, is timed, and is written down.

What was called becomes lines of Python that the learner can paste. Whatever the code does instead of coming back
with an answer becomes a Fault. Knows nothing about exercises.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from types import FunctionType, ModuleType
from typing import TypeVar

from pagesim.practice.alarm import TookTooLong, alarm
from pagesim.practice.exercise import FILE, RETURNS, WRITTEN, Fault
from pagesim.practice.film import Film
from pagesim.practice.reading import (
    NotReadableError,
    line_of,
    pasted,
    read_flag,
    read_items,
    read_number,
    read_whole,
    read_wholes,
    shown,
    why_stopped,
)

Read = TypeVar("Read")
SIMPLE = (int, str, bool, float, type(None))


class Learner:
    """The module. ``lines`` are the calls since ``begin``, and ``film``, if a check sets one, what they did.

    ``kept`` is what ``drawing`` keeps of it from one check to the next, by the examples that were played.
    Without ``shrinks`` a failing example is not made smaller: it is only asked whether there is one.
    ``gives`` are functions and methods that are to give something: of these None is written down, too.
    ``tell`` is told the calls before each is made, as it may be the last thing that this process does.
    """

    def __init__(
        self, module: ModuleType, file: str, *, call_seconds: float = 2.0, memory_mib: int = 1024
    ) -> None:
        self.module = module
        self.file = file
        self.call_seconds = call_seconds
        self.memory_mib = memory_mib
        self.lines: list[str] = []
        self.film: Film | None = None
        self.kept: dict[object, object] = {}
        self.shrinks = True
        self.gives: frozenset[str] = frozenset()
        self.tell: Callable[[list[str]], None] | None = None

    def begin(self) -> None:
        """Forget the calls so far: a new example begins."""
        self.lines = []
        self.film = None

    def complete(self, fault: Fault) -> Fault:
        """The same fault, with the calls that led there, if it has none of its own."""
        if not fault.operations:
            fault.operations = tuple(self.lines)
            fault.film = fault.film or self.film
        return fault

    def call(self, name: str, *args: object, **options: object) -> object:
        """What the learner's function gives. The arguments are copied first, so that it cannot change ours."""
        return self.run(self._named(name), name, args, options, line=f"{name}(%s)")

    def attempt(
        self, name: str, *args: object, errors: tuple[type[Exception], ...]
    ) -> object | Exception:
        """What the function gives; an error of one of these kinds is given back, not a fault."""
        return self.run(self._named(name), name, args, {}, line=f"{name}(%s)", allowed=errors)

    def make(self, variable: str, name: str, *args: object, **options: object) -> "Subject":
        """An object of the learner's class, which the lines call ``variable``."""
        made = self.run(
            self._named(name),
            name,
            args,
            options,
            line=f"{variable} = {name}(%s)",
            quiet=True,
        )
        return Subject(self, variable, made)

    def run(
        self,
        function: Callable[..., object],
        name: str,
        args: tuple[object, ...],
        options: dict[str, object],
        *,
        line: str,
        quiet: bool = False,
        allowed: tuple[type[Exception], ...] = (),
    ) -> object:
        """Call ``name``, write the call down, and turn what goes wrong into a Fault; errors of ``allowed`` kinds are
        given back as values. ``quiet``: what it gave is not written down."""
        given = [*map(pasted, args), *(f"{key}={pasted(value)}" for key, value in options.items())]
        text = line % ", ".join(given)
        self.lines.append(text)
        if self.tell is not None:
            self.tell(self.lines)
        answer: object
        try:
            with alarm(self.call_seconds):
                answer = function(*map(_copy, args), **{k: _copy(v) for k, v in options.items()})
                told = shown(answer)
        except allowed as error:
            self.lines[-1] = f"{text}  # raised {type(error).__name__}"
            return error
        except BaseException as error:
            raise self._failed(error, name) from None
        if not quiet and (answer is not None or name in self.gives):
            self.lines[-1] = f"{text}  # gave {told}"
        return answer

    def _failed(self, error: BaseException, name: str) -> Fault:
        """The fault that an error in the learner's code is."""
        where = self.place_of(error)
        what = " ".join(str(error).split())[:200]
        if isinstance(error, NotImplementedError):
            return Fault(
                f"{name} is not written yet: it raises NotImplementedError{where}", law=WRITTEN
            )
        if isinstance(error, TookTooLong):
            return Fault(
                f"your {name} did not come back within {error.seconds:g} s{where}",
                law=RETURNS,
                endless=True,
            )
        if isinstance(error, RecursionError):
            return Fault(
                f"your {name} calls itself again and again, until Python gives up{where}",
                law=RETURNS,
            )
        if isinstance(error, MemoryError):
            size = f"{self.memory_mib:,} MiB"
            return Fault(f"your {name} wants more memory than {size}{where}", law=RETURNS)
        if isinstance(error, SystemExit):
            return Fault(f"your {name} ends the program (SystemExit){where}", law=RETURNS)
        if stopped := why_stopped(error):
            return Fault(f"your {name} {stopped}{where}", law=RETURNS)
        colon = ": " if what else ""
        return Fault(f"your {name} raised {type(error).__name__}{colon}{what}{where}", law=RETURNS)

    def place_of(self, error: BaseException) -> str:
        """The last line of the learner's file that an error came through: " (line 12)", or nothing."""
        line = line_of(error, self.file)
        return "" if line is None else f" (line {line})"

    def _named(self, name: str) -> Callable[..., object]:
        found: object = getattr(self.module, name, None)
        if not callable(found):
            raise Fault(f"{name} is gone: something in the file takes it away", law=FILE)
        return found


class Subject:
    """An object of the learner's, under the name that the lines give it."""

    def __init__(self, learner: Learner, variable: str, made: object) -> None:
        self.learner = learner
        self.variable = variable
        self.made = made

    def call(self, method: str, *args: object, **options: object) -> object:
        """What the method gives."""
        return self.learner.run(
            self._method(method), method, args, options, line=self._line(method)
        )

    def attempt(
        self, method: str, *args: object, errors: tuple[type[Exception], ...]
    ) -> object | Exception:
        """What the method gives; an error of one of these kinds is given back, not a fault."""
        return self.learner.run(
            self._method(method), method, args, {}, line=self._line(method), allowed=errors
        )

    def look(self, attribute: str) -> object:
        """An attribute or property, not written down."""
        try:
            with alarm(self.learner.call_seconds):
                return getattr(self.made, attribute)
        except AttributeError as error:
            if self.learner.place_of(error):
                raise self.learner._failed(error, attribute) from None
            raise Fault(
                f"your {type(self.made).__name__} has no {attribute}, which the task asks for",
                law=RETURNS,
            ) from None
        except (Exception, TookTooLong, SystemExit) as error:
            raise self.learner._failed(error, attribute) from None

    def ask(self, method: str, *args: object) -> object:
        """What a method gives, not written down: for looking at the memory after each operation."""
        found = self.learner.run(self._method(method), method, args, {}, line=self._line(method))
        self.learner.lines.pop()
        return found

    def put(self, attribute: str, key: int, value: int) -> bool:
        """Write into a list or the like that is an attribute, as the learner could; False if that cannot be done, or
        if it does not stay."""
        try:
            self.look(attribute)[key] = value  # type: ignore[index]
            done = bool(self.look(attribute)[key] == value)  # type: ignore[index]
        except Exception:
            return False
        self.learner.lines.append(f"{self.variable}.{attribute}[{key}] = {value}")
        return done

    def _line(self, method: str) -> str:
        return f"{self.variable}.{method}(%s)"

    def _method(self, method: str) -> Callable[..., object]:
        found = self.look(method)
        if not callable(found):
            raise Fault(f"{self.variable}.{method} is no method any more", law=RETURNS)
        return found


def _copy(value: object) -> object:
    if isinstance(value, SIMPLE):
        return value
    if isinstance(value, FunctionType):
        return value
    return deepcopy(value)


# -- reading what was given; each raises Fault ---------------------------------------------------------------


def _read(how: Callable[[object], Read], value: object, what: str, wanted: str) -> Read:
    try:
        return how(value)
    except NotReadableError:
        raise Fault(f"{what} is {shown(value)}, and the task wants {wanted}", law=RETURNS) from None


def _read_list(how: Callable[[object], Read], value: object, what: str, wanted: str) -> Read:
    """A generator is no list: it gives its items only once."""
    if isinstance(value, Iterator):
        kind = type(value).__name__
        raise Fault(f"{what} is of type {kind}, and the task wants {wanted}", law=RETURNS)
    return _read(how, value, what, wanted)


def whole(value: object, what: str) -> int:
    """A whole number; ``what`` was given, in words: "what take() gave"."""
    return _read(read_whole, value, what, "a whole number")


def wholes(value: object, what: str) -> list[int]:
    return _read_list(read_wholes, value, what, "a list of whole numbers")


def items(value: object, what: str) -> list[object]:
    return _read_list(read_items, value, what, "a list")


def flag(value: object, what: str) -> bool:
    return _read(read_flag, value, what, "True or False")


def number(value: object, what: str) -> float:
    return _read(read_number, value, what, "a number")


def whole_or_none(value: object, what: str) -> int | None:
    return None if value is None else _read(read_whole, value, what, "a whole number or None")


def wholes_or_none(value: object, what: str) -> list[int] | None:
    if value is None:
        return None
    return _read_list(read_wholes, value, what, "a list of whole numbers or None")


def tables(value: object, what: str = "tables") -> dict[int, list[int]]:
    """Block tables by sequence: a dict of lists of whole numbers."""
    return {seq: wholes(table, f"{what}[{seq}]") for seq, table in _by_seq(value, what)}


def lengths(value: object, what: str = "lengths") -> dict[int, int]:
    """Lengths by sequence: a dict of whole numbers."""
    return {seq: whole(length, f"{what}[{seq}]") for seq, length in _by_seq(value, what)}


def _by_seq(value: object, what: str) -> list[tuple[int, object]]:
    if not isinstance(value, Mapping):
        raise Fault(f"{what} is {shown(value)}, and the task wants a dict", law=RETURNS)
    return [(whole(seq, f"a key of {what}"), entry) for seq, entry in value.items()]
