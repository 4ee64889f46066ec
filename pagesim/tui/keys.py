"""Every key of the viewer, once: what is bound and what the help screen says come from this table.

Knows nothing about how an action is done.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Key(NamedTuple):
    """``keys`` do ``action``, ``reverse`` undo it (empty: nothing to undo). Names are Textual's, with commas.

    An action with a reverse takes a direction: it is called as ``action(1)`` and ``action(-1)``, after the
    arguments it has in the table: ``"jump:copy"`` becomes ``jump('copy', 1)``.
    """

    keys: str
    reverse: str
    words: str
    action: str


SECTIONS: dict[str, tuple[Key, ...]] = {
    "Move (keys: forward, back)": (
        Key("right,l", "left,h", "one event; with a filter, one of its events", "events"),
        Key("down,j", "up,k", "one step", "steps:1"),
        Key("right_square_bracket,pagedown", "left_square_bracket,pageup", "ten steps", "steps:10"),
        Key("end,G", "home,g", "the end, the start", "ends"),
    ),
    "Jump to the next (capital: the previous)": (
        Key("p", "P", "preemption", "jump:preemption"),
        Key("c", "C", "copy", "jump:copy"),
        Key("e", "E", "eviction", "jump:eviction"),
        Key("r", "R", "refusal, or wait for memory", "jump:refusal"),
        Key("f", "F", "finish", "jump:finish"),
        Key("a", "A", "admission", "jump:admission"),
        Key("o", "O", "fork", "jump:fork"),
        Key("w", "W", "swap to the host, or back", "jump:swap"),
        Key("m", "M", "choice of beams, or ended answer", "jump:beam"),
    ),
    "Play": (
        Key("space", "", "play, pause", "play"),
        Key("plus,equals_sign", "minus", "faster, slower", "speed"),
    ),
    "Look": (
        Key("colon,s", "", "go to a step (12), an event (e345)", "ask:goto"),
        Key("slash", "", "follow a request (first letters), or sample r1.2", "ask:filter"),
        Key("b", "", "inspect a block, 7 or the host's h2: who held it", "ask:block"),
        Key("full_stop", "comma", "inspect the next block, the one before", "blocks"),
        Key("v", "V", "what is below the map on a small screen", "lower"),
        Key("tab", "shift+tab", "the other run, of two", "other"),
        Key("escape", "", "stop, close, clear, one at a time", "undo"),
    ),
    "": (
        Key("question_mark", "", "this help", "help"),
        Key("q", "", "quit", "leave"),
        Key("ctrl+c", "", "quit, also from here", "end"),
    ),
}

SHOWN = {
    "right": "→",
    "left": "←",
    "down": "↓",
    "up": "↑",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "end": "End",
    "home": "Home",
    "space": "Space",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "colon": ":",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "escape": "Esc",
    "question_mark": "?",
    "ctrl+c": "Ctrl-C",
}
ASCII_SHOWN = {"right": "Right", "left": "Left", "down": "Down", "up": "Up"}

HINT = "? help  ←→ event  ↑↓ step  Space play  p preemption  / request  b block  q quit"
ASCII_HINT = "? help  h l event  j k step  Space play  p preemption  / request  b block q quit"


def bindings() -> Iterator[tuple[str, str]]:
    """Pairs of keys, with commas between them, and the action they call."""
    for section in SECTIONS.values():
        for key in section:
            yield key.keys, _call(key, 1)
            if key.reverse:
                yield key.reverse, _call(key, -1)


def shown(keys: str, *, ascii_only: bool = False) -> str:
    """How keys are written on the screen: "→ l"."""
    names = ASCII_SHOWN if ascii_only else {}
    return " ".join(names.get(key) or SHOWN.get(key, key) for key in keys.split(","))


def _call(key: Key, direction: int) -> str:
    name, _, argument = key.action.partition(":")
    parts = [argument if argument.isdigit() else repr(argument)] if argument else []
    if key.reverse:
        parts.append(str(direction))
    return f"{name}({', '.join(parts)})"
