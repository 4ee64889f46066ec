"""Loads a class or a function from a person's own file, ``FILE:name``, whose code runs with all this program may do."""

import importlib.util
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType

from pagesim.core import laws
from pagesim.core.errors import InputError, LawBrokenError, PagesimError
from pagesim.core.loop import ServingLoop
from pagesim.sim.printed import first_lines_only

TELL_EVERY = 64
MOST_NAMED = 5
Progress = Callable[[int], None]


def load_function(place: str, what: str, signature: str) -> Callable[..., object]:
    """A function from a file; ``what`` it is for and how it is called are for messages. Raises InputError."""
    return load_named(place, what, f"FILE:name, such as my_policy.py:mine, a function {signature}")


def load_named(place: str, what: str, form: str) -> Callable[..., object]:
    """What the file calls so; ``form`` says how ``place`` is written. Raises InputError."""
    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise InputError(f"{place!r} was given; write {form}")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"{file} is not a file; write {form}")
    spec = importlib.util.spec_from_file_location(f"pagesim_loaded_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        with first_lines_only(path.name):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{file} could not be loaded: {type(error).__name__}: {error}") from error
    found: object = getattr(module, name, None)
    if not callable(found):
        raise InputError(lacks_it(file, module, name, what, form))
    return found


def lacks_it(file: str, module: ModuleType, name: str, what: str, form: str = "") -> str:
    """That the file has no such class (or function, which is ``what`` it is for), and which ones it has."""
    if hasattr(module, name):
        return f"{file} has {name}, which cannot be called; it is to be a {what}"
    kind, noun = (type, "class") if what == "class" else (FunctionType, "function")
    there = [
        key
        for key, value in vars(module).items()
        if isinstance(value, kind) and value.__module__ == module.__name__
    ]
    lacks = f"{file} has no {what} {name}"
    if close := get_close_matches(name, there, 1, 0.5):
        return f"{lacks}; did you mean {close[0]}?"
    if there:
        more = f" and {len(there) - MOST_NAMED:,} more" if len(there) > MOST_NAMED else ""
        return f"{lacks}; it has {', '.join(there[:MOST_NAMED])}{more}"
    return f"{lacks}, and no {noun} at all" + (f"; write {form}" if form else "")


class OwnLawBrokenError(LawBrokenError):
    """A person's own memory broke a law; ``law`` and ``sentence`` say which, and how."""

    def __init__(self, place: str, step: int, told: str) -> None:
        super().__init__(f"{place} broke a law in step {step:,}: {told}")
        self.law, _, self.sentence = told.partition(": ")


def drive_checked(loop: ServingLoop, place: str, progress: Progress | None = None) -> None:
    """Run to the end, checking after every step what can be asked of a memory that one knows nothing about.

    ``progress`` is told after every so many steps.

    Raises OwnLawBrokenError naming the law and the step, and InputError, naming the place, for an exception of the
    person's own code.
    """
    memory = loop.scheduler.memory
    step = -1
    now = 0  # the step that is done: the one after the last that came to its end
    try:
        while (plan := loop.step()) is not None:
            now = step = plan.step
            running = loop.scheduler.running
            # And samples that are yet to fork, where each has memory of its own.
            holders = list({s.seq: None for seq in running for s in seq.unit if s.writable})
            laws.check_conservation(memory, holders)
            laws.check_refcount(memory, holders)
            if progress is not None and not step % TELL_EVERY:
                progress(loop.num_ended)
            now = step + 1
    except LawBrokenError as error:
        raise OwnLawBrokenError(place, now, str(error)) from None
    except PagesimError:
        raise
    except (Exception, SystemExit) as error:
        own = [
            frame
            for frame in extract_tb(error.__traceback__)
            if frame.filename.endswith(place.rpartition(":")[0])
        ]
        where = f", line {own[-1].lineno}" if own else ", called from the scheduler"
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{place}{where}, failed after step {step:,}: {what}") from error
