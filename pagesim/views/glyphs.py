"""The characters pictures are drawn with, and how text from outside is made safe to show.

Knows nothing about colours or runs. Every glyph is one cell wide.
"""

import unicodedata
from dataclasses import astuple, dataclass

from rich.console import ConsoleOptions

ZERO_WIDTH_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of drawing characters.

    ``used`` to ``free`` are the five kinds of memory. The three ``part`` glyphs are cells that are
    written in part, up to a third, up to two thirds and above.
    """

    used: str
    reserved: str
    internal: str
    external: str
    free: str
    part_low: str
    part_mid: str
    part_high: str
    shared: str
    cached: str
    rule: str

    def part(self, share: float) -> str:
        """The glyph of a cell of which ``share`` is written."""
        if share >= 1:
            return self.used
        if share * 3 > 2:
            return self.part_high
        return self.part_mid if share * 3 > 1 else self.part_low


UNICODE = Glyphs("█", "▒", "╱", "╳", "·", "▂", "▄", "▆", "&", "=", "─")
ASCII = Glyphs("#", ":", "/", "%", ".", "_", "-", "+", "&", "=", "-")


def glyphs_for(encoding: str) -> Glyphs:
    """The richest set that ``encoding`` can write whole; ASCII for an unknown encoding."""
    try:
        "".join(astuple(UNICODE)).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def glyphs_of(options: ConsoleOptions) -> Glyphs:
    """The set for where a view is being drawn; old Windows consoles lack some of the characters."""
    return ASCII if options.legacy_windows else glyphs_for(options.encoding)


def clean(text: str, encoding: str) -> str:
    """Text from outside as it can be shown: control characters written out (``\\x1b``), what has
    no picture or is not in ``encoding`` as a question mark."""
    shown = "".join(text if text.isprintable() else map(_visible, text))
    try:
        return shown.encode(encoding, "replace").decode(encoding)
    except LookupError:
        return shown.encode("ascii", "replace").decode("ascii")


_WRITTEN_OUT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _visible(character: str) -> str:
    if character.isprintable() or character == ZERO_WIDTH_JOINER:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    if character in _WRITTEN_OUT:
        return _WRITTEN_OUT[character]
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else "?"
