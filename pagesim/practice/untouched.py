"""Has anything changed what our own modules are made of? A learner's file is not to touch the checks that judge it.

Knows nothing about checks. It finds what is changed by accident or without effort, not everything that could be.
"""

import inspect
import sys
from collections.abc import Iterator

OURS = ("pagesim", "pagesim_lessons", "pagesim_kernels")
Parts = dict[tuple[str, str], object]


def parts_of(*more: str) -> Parts:
    """Functions, classes and constants of our modules, of ``more``, and of their classes, by module and name."""
    return dict(_parts(more))


def changed(before: Parts, *more: str) -> str | None:
    """The first part that is not the object it was, "module.name"; ``None``: all are."""
    now = parts_of(*more)
    for (module, name), was in before.items():
        if (module, name) in now and now[module, name] is was:
            continue
        return f"{module}.{name}"
    return None


def _parts(more: tuple[str, ...]) -> Iterator[tuple[tuple[str, str], object]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in OURS or name in more:
            for attribute, value in list(vars(module).items()):
                yield (name, attribute), value
                if inspect.isclass(value) and value.__module__ == name:
                    for inner, part in list(vars(value).items()):
                        yield (name, f"{attribute}.{inner}"), part
