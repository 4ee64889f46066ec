"""The two contracts that a learner's block manager may meet, which of them a class meets, and a file to start from.

Knows nothing about running or checking.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from pagesim.core.errors import InputError

SIMPLE, FULL = "simple", "full"
MAKE = ("num_blocks", "block_size")
SIMPLE_METHODS: dict[str, tuple[str, ...]] = {
    "allocate": ("seq", "num_tokens"),
    "append": ("seq", "position"),
    "free": ("seq",),
    "table": ("seq",),
}
SIMPLE_OPTIONAL: dict[str, tuple[str, ...]] = {"fork": ("parent", "child", "num_tokens")}
SIMPLE_VALUES = ("num_free",)
FULL_METHODS: dict[str, tuple[str, ...]] = {
    "cached_tokens": ("content",),
    "admission": ("content", "room"),
    "never_fits": ("content", "room"),
    "allocate": ("seq", "content", "room"),
    "extend": ("seq", "to"),
    "can_extend": ("targets",),
    "publish": ("seq", "content", "num_tokens"),
    "withdraw": ("seq", "num_tokens"),
    "fork": ("parent", "child", "num_tokens"),
    "free": ("seq",),
    "reset_cache": (),
    "table": ("seq",),
    "usage": (),
}
FULL_OPTIONAL: dict[str, tuple[str, ...]] = {
    "swap_size": ("unit",),
    "swap_out": ("unit",),
    "swap_in": ("targets", "keep_free"),
}
FULL_VALUES = ("geometry", "can_share", "can_cache")


@dataclass(frozen=True, slots=True)
class Met:
    """The contract that a class meets; ``forks``: it has a fork."""

    contract: str
    forks: bool


def contract_of(made: object, name: str) -> Met:
    """What an object of the class ``name`` meets. Raises InputError, with what is missing for each contract."""
    lacks_simple = _lacking(made, SIMPLE_METHODS, SIMPLE_VALUES)
    lacks_full = _lacking(made, FULL_METHODS, FULL_VALUES)
    if not lacks_full:
        _check_calls(made, name, FULL_METHODS, FULL_OPTIONAL)
        return Met(FULL, forks=True)
    if not lacks_simple:
        _check_calls(made, name, SIMPLE_METHODS, SIMPLE_OPTIONAL)
        return Met(SIMPLE, forks=_has(made, "fork"))
    raise InputError(
        f"{name} meets neither contract: for the simple one it lacks {', '.join(lacks_simple)}; for the full one it "
        f"lacks {', '.join(lacks_full)}; `pagesim check --template simple` writes a file to start from"
    )


def check_constructor(found: Callable[..., object], name: str) -> None:
    """Raises InputError unless it can be made from (num_blocks, block_size)."""
    wrong = _mismatch(found, MAKE)
    if wrong is not None:
        raise InputError(
            f"{name} could not be made: it takes ({wrong}), and is made as {name}(num_blocks, block_size)"
        )


def template(contract: str) -> str:
    """The text of a file to start from. Raises InputError for a contract that there is not."""
    if contract not in (SIMPLE, FULL):
        raise InputError(f"--template {contract} was given; it is simple or full")
    file = files("pagesim.practice") / "templates" / f"{contract}_manager.txt"
    return file.read_text("utf-8")


def _has(made: object, part: str) -> bool:
    """A property may fail when it is looked at: that is for later, it is there."""
    return hasattr(type(made), part) or part in getattr(made, "__dict__", {})


def _lacking(
    made: object, methods: dict[str, tuple[str, ...]], values: tuple[str, ...]
) -> list[str]:
    return [part for part in (*values, *methods) if not _has(made, part)]


def _check_calls(
    made: object,
    name: str,
    needed: dict[str, tuple[str, ...]],
    optional: dict[str, tuple[str, ...]],
) -> None:
    for method, parameters in {**needed, **optional}.items():
        if not _has(made, method):
            continue
        function: object = getattr(made, method)
        if not callable(function):
            raise InputError(
                f"{name}.{method} is of type {type(function).__name__}; it must be a method "
                f"{method}({', '.join(parameters)})"
            )
        wrong = _mismatch(function, parameters)
        if wrong is not None:
            raise InputError(
                f"{name}.{method} takes ({wrong}); the contract's is {method}({', '.join(parameters)})"
            )


def _mismatch(function: Callable[..., object], parameters: tuple[str, ...]) -> str | None:
    """Its own parameters, if it cannot be called with so many."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*parameters)
    except TypeError:
        return ", ".join(signature.parameters)
    return None
