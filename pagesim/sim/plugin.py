"""Loads a class or a function from a person's own file, ``FILE:name``, whose code runs with all this program may do."""

import importlib.util
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from traceback import extract_tb

from pagesim.core import laws
from pagesim.core.errors import InputError, LawBrokenError, PagesimError
from pagesim.core.loop import ServingLoop

TELL_EVERY = 64
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
        with redirect_stdout(sys.stderr):  # standard output is pagesim's
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{file} could not be loaded: {type(error).__name__}: {error}") from error
    found: object = getattr(module, name, None)
    if not callable(found):
        lacks = f"has no {what} {name}" if found is None else f"has {name}, which cannot be called"
        raise InputError(f"{file} {lacks}; write {form}")
    return found


def drive_checked(loop: ServingLoop, place: str, progress: Progress | None = None) -> None:
    """Run to the end, checking after every step what can be asked of a memory that one knows nothing about.

    ``progress`` is told after every so many steps.

    Raises LawBrokenError naming the law and the step, and InputError, naming the place, for an exception of the
    person's own code.
    """
    memory = loop.scheduler.memory
    step = -1
    try:
        while (plan := loop.step()) is not None:
            step = plan.step
            running = loop.scheduler.running
            # And samples that are yet to fork, where each has memory of its own.
            holders = list({s.seq: None for seq in running for s in seq.unit if s.writable})
            laws.check_conservation(memory, holders)
            laws.check_refcount(memory, holders)
            if progress is not None and not step % TELL_EVERY:
                progress(loop.num_ended)
    except LawBrokenError as error:
        raise LawBrokenError(f"{place} broke a law in step {max(step, 0):,}: {error}") from None
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
