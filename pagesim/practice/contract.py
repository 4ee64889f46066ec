"""What a task file asks for, read from its text: functions and classes, their methods, and their parameters.

A learner's module is compared with it. Knows nothing about what they are to do.
"""

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ARTICLES = {"function": "a function", "class": "a class"}


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters in order, without ``self``; those in ``optional`` have defaults. ``gives``: something
    is to come back."""

    name: str
    parameters: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    gives: bool = False

    def shown(self) -> str:
        parts = [f"{p}=..." if p in self.optional else p for p in self.parameters]
        return f"{self.name}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Asked:
    """A function, with its one signature, or a class with those of its methods."""

    name: str
    kind: str
    signatures: tuple[Signature, ...]


def read_contract(task: Path, names: Sequence[str]) -> tuple[Asked, ...]:
    """What the task file says of these names. KeyError if it lacks one."""
    found: dict[str, Asked] = {}
    for node in ast.parse(task.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = Asked(node.name, "function", (_signature(node, method=False),))
        elif isinstance(node, ast.ClassDef):
            found[node.name] = Asked(node.name, "class", _methods(node))
    return tuple([found[name] for name in names])


def _methods(node: ast.ClassDef) -> tuple[Signature, ...]:
    """The methods that others call; properties and attributes are looked at when they are needed."""
    return tuple(
        [
            _signature(item, method=True)
            for item in node.body
            if isinstance(item, ast.FunctionDef)
            and not item.decorator_list
            and (item.name == "__init__" or not item.name.startswith("_"))
        ]
    )


def _signature(node: ast.FunctionDef, *, method: bool) -> Signature:
    given = node.args
    positional = [a.arg for a in (*given.posonlyargs, *given.args)][1 if method else 0 :]
    keywords = [a.arg for a in given.kwonlyargs]
    optional = positional[len(positional) - len(given.defaults) :] if given.defaults else []
    optional += [
        name
        for name, default in zip(keywords, given.kw_defaults, strict=True)
        if default is not None
    ]
    gives = node.returns is not None and ast.unparse(node.returns) != "None"
    return Signature(node.name, (*positional, *keywords), frozenset(optional), gives)


def departure(module: ModuleType, contract: Sequence[Asked]) -> str | None:
    """How the module is not what was asked for, in a sentence; ``None``: it is."""
    for asked in contract:
        there: object = getattr(module, asked.name, None)
        if there is None:
            return f"there is no {asked.kind} {asked.name}, which the task asks for"
        if asked.kind == "class" and not inspect.isclass(there):
            return f"{asked.name} is {_kind_of(there)}, and the task asks for a class"
        if not callable(there):
            return (
                f"{asked.name} is {_kind_of(there)}, and the task asks for {ARTICLES[asked.kind]}"
            )
        for signature in asked.signatures:
            wrong = _wrong(there, asked, signature)
            if wrong is not None:
                return wrong
    return None


def _wrong(there: object, asked: Asked, signature: Signature) -> str | None:
    owner, function = "", there
    if asked.kind == "class":
        owner = f"{asked.name}."
        function = getattr(there, signature.name, None)
        if function is None:
            return f"{asked.name} has no {signature.shown()}, which the task asks for"
        if not callable(function):
            return (
                f"{owner}{signature.name} is {_kind_of(function)}, and the task asks for a method"
            )
    own = _parameters(function, method=asked.kind == "class")
    if own is None or _accepts(own, signature):
        return None
    have = ", ".join([f"{p.name}=..." if _has_default(p) else p.name for p in own])
    return (
        f"{owner}{signature.name} takes ({have}), and the task asks for "
        f"({', '.join(signature.parameters)})"
    )


def _parameters(function: object, *, method: bool) -> list[inspect.Parameter] | None:
    """As callers see them; ``None`` where Python cannot tell."""
    try:
        own = list(inspect.signature(function).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    is_plain = inspect.isfunction(function)
    return own[1:] if method and is_plain else own


def _accepts(own: Sequence[inspect.Parameter], signature: Signature) -> bool:
    """Can it be called with these parameters, by place and by name, and with nothing else?"""
    kinds = inspect.Parameter
    if any(p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in own):
        return True  # a wrapper: calls will tell
    names = [p.name for p in own]
    wanted = list(signature.parameters)
    if names[: len(wanted)] != wanted:
        return False
    more = own[len(wanted) :]
    lacking = [p for p in own[: len(wanted)] if p.name in signature.optional]
    return all(_has_default(p) for p in (*more, *lacking))


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty


def _kind_of(value: object) -> str:
    return f"of type {type(value).__name__}"
