"""The lines of a trace file, plain or gzipped, as text.

Knows nothing about columns, keys or requests. A file is read once, line by line, so that a small
``limit`` reads little of a large file; whatever is wrong with the bytes becomes one sentence.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from pagesim.core.errors import InputError
from pagesim.sim.trace_values import visible

MAX_LINE_BYTES = 16 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ByteLines(Protocol):
    """A file open for reading bytes."""

    def readline(self, size: int, /) -> bytes: ...


class TraceLines:
    """The lines of one file, line ends kept; ``number`` is that of the line handed out last."""

    __slots__ = ("_stream", "name", "number")

    def __init__(self, name: str, stream: ByteLines) -> None:
        self.name = name
        self.number = 0
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._stream.readline(MAX_LINE_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise InputError(
                f"{self.name}: the gzip data is damaged or cut short after line {self.number}; "
                f"fetch or compress the file again"
            ) from None
        except OSError as error:
            raise InputError(f"{self.name}: {_reason(error)} after line {self.number}") from None
        if not line:
            raise StopIteration
        self.number += 1
        if self.number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if len(line) > MAX_LINE_BYTES:
            raise self.error(f"the line is longer than {MAX_LINE_BYTES:,} bytes; is it a trace?")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8 "
                f"text; save the file as UTF-8"
            ) from None

    def error(self, problem: str, column: str | None = None) -> InputError:
        """An error in the line handed out last, for the caller to raise."""
        place = "" if column is None else f", column {visible(column)}"
        return InputError(f"{self.name}, line {self.number}{place}: {problem}")


@contextmanager
def open_trace(path: Path) -> Iterator[TraceLines]:
    """The lines of a file; gzip is told by its first two bytes. InputError if it cannot be read."""
    given = visible(str(path))
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"there is no file {given}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{given} is a folder; name the trace file in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{given} cannot be read ({_reason(error)}); check the path") from None
    name = visible(path.name)
    with file:
        try:
            first = file.peek(2)[:2]
        except OSError as error:
            raise InputError(f"{given} cannot be read ({_reason(error)})") from None
        if first == _GZIP_MAGIC:
            with gzip.open(file, "rb") as unpacked:
                yield TraceLines(name, unpacked)
        elif first and path.name.lower().endswith(".gz"):
            raise InputError(
                f"{name} ends in .gz but is not gzip data; drop .gz from its name or compress it"
            )
        else:
            yield TraceLines(name, file)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
