"""Runs the viewer in a terminal, and leaves the terminal as it was found however that ends.

Knows nothing about what the viewer shows.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.tui.app import ViewerApp

# What Textual switches on: alternate screen, mouse, paste, focus, resize reports, no wrap, hidden cursor, keys.
OFF = "".join(f"\x1b[?{mode}l" for mode in (1000, 1002, 1003, 1006, 1015, 1016, 2004, 1004, 2048))
ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
    if hasattr(signal, name)
)
GRACE_S = 3.0
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
def restored_terminal(stop: Callable[[int], None]) -> Iterator[None]:
    """The terminal's settings as they were, whatever happens inside; after an error, all modes off as well.

    Signals that end a program call ``stop`` with the exit code. Should that not help, because the terminal is
    gone and whoever writes to it waits for ever, the program ends all the same.
    """
    before = _settings()
    watchdogs: list[threading.Timer] = []

    def end(number: int, _: object) -> None:
        watchdogs.append(threading.Timer(GRACE_S, _give_up, (128 + number, before)))
        watchdogs[-1].daemon = True
        watchdogs[-1].start()
        stop(128 + number)

    handlers = {number: signal.signal(number, end) for number in ENDING}
    finished = False
    try:
        yield
        finished = True
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _restore(before, modes=not finished)
        for watchdog in watchdogs:
            watchdog.cancel()


def _settings() -> "list[Any] | None":
    """``None``: there is nothing to restore, as on Windows, or the terminal is gone already."""
    try:
        import termios
    except ImportError:
        return None
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _restore(before: "list[Any] | None", *, modes: bool) -> None:
    with suppress(OSError):  # the terminal is gone
        if modes:
            os.write(2, LEAVE.encode())
    if before is not None:
        import termios

        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, before)


def _give_up(code: int, before: "list[Any] | None") -> None:
    _restore(before, modes=True)
    os._exit(code)


def run_in_terminal(app: "ViewerApp") -> int:
    """Run it to its end; the exit code. An error inside is one sentence on standard error."""
    try:
        with restored_terminal(app.stop):
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
