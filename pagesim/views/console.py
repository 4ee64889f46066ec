"""The console every command prints with: when there is colour, how wide, and in which characters.

Knows nothing about what is printed. Rules: no escape byte where the stream is no terminal (unless
FORCE_COLOR asks for it, rich's convention); a NO_COLOR that is not empty beats everything; a width
of 100 where there is no terminal to ask; characters that the stream cannot write become "?".
"""

import codecs
import os
import sys
from collections.abc import Mapping
from typing import IO, TextIO, cast

from rich.console import Console

from pagesim.views.glyphs import ASCII, UNICODE, Glyphs, clean, glyphs_for

__all__ = ["ASCII", "UNICODE", "Glyphs", "clean", "glyphs_for", "make_console"]

DEFAULT_WIDTH = 100
DEFAULT_HEIGHT = 25


class SafeStream:
    """A text stream that never fails on a character: what the encoding lacks is written as "?".

    It has what rich asks of a file. Closing is left to the stream's owner.
    """

    def __init__(self, stream: TextIO, encoding: str) -> None:
        self._stream = stream
        self.encoding = encoding

    def write(self, text: str) -> int:
        self._stream.write(text.encode(self.encoding, "replace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def make_console(
    *,
    stderr: bool = False,
    stream: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> Console:
    """A console on standard output (or error, or ``stream``). Text is printed as it is: no markup."""
    known = os.environ if environ is None else environ
    target = (sys.stderr if stderr else sys.stdout) if stream is None else stream
    no_color = bool(known.get("NO_COLOR"))
    is_terminal = target.isatty()
    safe = SafeStream(target, stream_encoding(target, known))
    return Console(
        file=cast(IO[str], safe),
        width=_width(target, known),
        height=DEFAULT_HEIGHT if not is_terminal else None,
        color_system=None if no_color else "auto",
        no_color=no_color,
        force_terminal=False if no_color and not is_terminal else None,
        markup=False,
        emoji=False,
        highlight=False,
        _environ=known,
    )


def stream_encoding(stream: TextIO, environ: Mapping[str, str]) -> str:
    """What the stream's reader understands.

    Python writes UTF-8 under LC_ALL=C all the same; whoever sets that asked for ASCII, unless
    PYTHONIOENCODING or PYTHONUTF8 says otherwise.
    """
    if (
        environ.get("LC_ALL") in ("C", "POSIX")
        and not environ.get("PYTHONIOENCODING")
        and environ.get("PYTHONUTF8") != "1"
    ):
        return "ascii"
    try:
        return codecs.lookup(getattr(stream, "encoding", None) or "utf-8").name
    except LookupError:
        return "ascii"


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    if not stream.isatty():
        return DEFAULT_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
