"""A program in a pseudo-terminal of its own: typed to, read from, and looked at afterwards."""

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress

ROWS, COLUMNS = 24, 80


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        env = {**os.environ, "TERM": "xterm-256color", **environ}
        for name in ("NO_COLOR", "COLUMNS", "LINES", "TEXTUAL"):
            if name not in environ:
                env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=env,
            preexec_fn=_own_terminal,  # a session and a controlling terminal of its own
        )
        self.output = ""

    def read(self, seconds: float, until: str = "") -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if until and until in self.output:
                break
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.output += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError as error:
                    if error.errno == errno.EIO:
                        break
                    raise
            elif self.process.poll() is not None and not until:
                break
        return self.output

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + 15
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.1)
        assert self.process.poll() is not None, "it has not ended"
        self.read(0.3)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for number in (self.master, self.slave):
            with suppress(OSError):
                os.close(number)


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
