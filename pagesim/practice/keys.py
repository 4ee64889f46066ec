"""Keys and lines from a terminal, one key at a time and without waiting longer than asked.

The terminal is only changed while a key is waited for, and is left as it was found however that ends. Knows nothing
about what keys mean.
"""

import codecs
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_ESCAPE = re.compile(r"\x1b(?:[\[O][0-9;]*[A-Za-z~]|.)?", re.DOTALL)
END = ""
"""What ``Keys.key`` gives when there is nothing more to read."""


def at_a_terminal() -> bool:
    """Is there somebody who can type, and see it?"""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and stream.isatty() for stream in streams)


class Keys:
    """Reads standard input. What was typed ahead is kept."""

    def __init__(self) -> None:
        self._ahead = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def key(self, seconds: float | None = None) -> str | None:
        """The next key as the terminal sends it; ``None``: nobody pressed one for so long (``None``: wait for ever).

        END where nothing more comes. Ctrl-C raises KeyboardInterrupt, as always.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while not self._ahead:
            left = None if until is None else max(until - time.monotonic(), 0)
            more = _read_some(left)
            if more is None:
                return None
            if not more or more == b"\x04":
                return END
            self._ahead += self._decoder.decode(more)
        found = _ESCAPE.match(self._ahead)
        size = 1 if found is None else found.end()
        key, self._ahead = self._ahead[:size], self._ahead[size:]
        return key

    def key_or_end(self) -> str:
        """The next key, however long it takes; END where nothing more comes."""
        return self.key() or END

    def forget(self) -> None:
        """Drop what was typed ahead."""
        self._ahead = ""
        while _read_some(0.0):
            pass

    def line(self) -> str:
        """A line, edited with the terminal's own keys. Raises EOFError where nothing more comes."""
        ahead, self._ahead = self._ahead, ""
        first, newline, rest = ahead.replace("\r", "\n").partition("\n")
        if newline:
            self._ahead = rest
            return first
        typed = sys.stdin.readline()
        if not typed:
            raise EOFError
        return first + typed.rstrip("\n")


def _read_some(seconds: float | None) -> bytes | None:
    try:
        import termios
        import tty
    except ImportError:
        return _read_windows(seconds)
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number, termios.TCSADRAIN)
        if not select.select([number], [], [], seconds)[0]:
            return None
        return os.read(number, 1024)
    except OSError:  # the terminal is gone
        return b""
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _read_windows(seconds: float | None) -> bytes | None:
    import msvcrt

    until = None if seconds is None else time.monotonic() + seconds
    while not msvcrt.kbhit():  # type: ignore[attr-defined]
        if until is not None and time.monotonic() >= until:
            return None
        time.sleep(0.02)
    typed: str = msvcrt.getwch()  # type: ignore[attr-defined]
    if typed == "\x03":
        raise KeyboardInterrupt
    return b"\x04" if typed in ("\x04", "\x1a") else typed.encode()


@contextmanager
def tidy_end() -> Iterator[None]:
    """Signals that end a program end it by way of its ``finally`` clauses."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGHUP", "SIGQUIT", "SIGTERM") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    before = [signal.signal(number, _leave) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)
