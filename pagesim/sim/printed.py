"""What a person's own code prints: the first lines go to standard error, and of the rest is said how much it is.

Standard output is pagesim's. Knows nothing about the code.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import TextIOBase

MOST_LINES = 10
MOST_CHARACTERS = 2_000


@contextmanager
def first_lines_only(whose: str) -> Iterator[None]:
    """While this is open. ``whose`` code it is, is for the note at the end."""
    out = sys.stderr
    printed = _FirstLines(out)
    try:
        with redirect_stdout(printed):
            yield
    finally:
        if printed.left_out:
            lines = f"{printed.num_lines:,} {'line' if printed.num_lines == 1 else 'lines'}"
            print(f"\n... {whose} printed {lines} in all; the rest is not shown", file=out)


class _FirstLines(TextIOBase):
    """Passes on so many lines, and so many characters."""

    def __init__(self, out: "TextIOBase | object") -> None:
        self._out = out
        self._characters = 0
        self.num_lines = 0
        self.left_out = False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.num_lines < MOST_LINES and self._characters < MOST_CHARACTERS:
            lines = text.splitlines(keepends=True)[: MOST_LINES - self.num_lines]
            shown = "".join(lines)[: MOST_CHARACTERS - self._characters]
            print(shown, end="", file=self._out)  # type: ignore[arg-type]
            self._characters += len(shown)
            self.left_out |= len(shown) < len(text)
        else:
            self.left_out |= bool(text)
        self.num_lines += text.count("\n")
        return len(text)

    def flush(self) -> None:
        print(end="", flush=True, file=self._out)  # type: ignore[arg-type]
