"""Runs the viewer in a terminal, and leaves the terminal as it was found however that ends.

Knows nothing about what the viewer shows.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.tui.app import ViewerApp

# What Textual switches on: alternate screen, mouse, paste, focus, resize reports, no wrap, hidden cursor, keys.
OFF = "".join(f"\x1b[?{mode}l" for mode in (1000, 1002, 1003, 1006, 1015, 1016, 2004, 1004, 2048))
LEAVE = f"{OFF}\x1b[<u\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"


def why_not(environ: Mapping[str, str], *streams: TextIO) -> str | None:
    """Why the viewer cannot run here, in a sentence; ``None``: it can."""
    other = "`pagesim show` and `pagesim events` print the same"
    if not all(stream.isatty() for stream in streams):
        return f"the viewer needs a terminal to draw on and keys to read; {other}"
    if environ.get("TERM", "") in ("dumb", "unknown", ""):
        return f"the viewer cannot draw on a terminal of type {environ.get('TERM') or 'none'!r}; {other}"
    return None


@contextmanager
def restored_terminal(stream: TextIO) -> Iterator[None]:
    """Settings as they were, whatever happens inside; after an error, all modes off as well."""
    try:
        import termios
    except ImportError:  # no such terminals on Windows
        yield
        return
    number = stream.fileno()
    before = termios.tcgetattr(number)
    finished = False
    try:
        yield
        finished = True
    finally:
        try:
            if not finished:
                os.write(sys.__stderr__.fileno(), LEAVE.encode())  # type: ignore[union-attr]
            termios.tcsetattr(number, termios.TCSADRAIN, before)
        except (OSError, termios.error):
            pass  # the terminal is gone


def run_in_terminal(app: "ViewerApp") -> int:
    """Run it to its end; the exit code. An error inside is one sentence on standard error."""
    try:
        with restored_terminal(sys.__stdin__):  # type: ignore[arg-type]  # why_not has looked
            app.run()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        app.failure = app.failure or error
        if os.environ.get("PAGESIM_DEBUG") == "1":
            raise
    if app.failure is None:
        return app.return_code or 0
    if isinstance(app.failure, InputError):
        print(f"pagesim: {app.failure}", file=sys.stderr)
        return 2
    kind, text = type(app.failure).__name__, " ".join(str(app.failure).split())
    print(
        f"pagesim: the viewer failed inside ({kind}: {text[:200]}); the log is as it was, and with "
        "PAGESIM_DEBUG=1 it says where",
        file=sys.stderr,
    )
    return 1
