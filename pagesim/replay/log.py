"""A run on disk: a header line, then one event a line, as JSON arrays; ``.gz`` is compressed.

    {"pagesim_log": 2, "memory": {...}, "command": "...", "kinds": {"taken": ["seq", "blocks", "wanted"], ...}}
    ["taken", 0, [7, 1], 32]

Knows nothing about what the events mean. Files are byte-identical for the same run, compressed or not.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from types import NoneType, TracebackType
from typing import NamedTuple, cast, overload

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.token_ids import ChainedRanges
from pagesim.core.types import Geometry

LOG_VERSION = 2
FLUSH_EVERY = 512

Json = dict[str, object]
_NAMES = {kind: name for name, kind in ev.KINDS.items()}
_FIELD_TYPES: dict[object, tuple[type, ...]] = {
    int: (int,),
    int | None: (int, NoneType),
    str: (str,),
    range: (range,),
}
_TYPES = {  # what each field may be; those that are not plain are tuples of numbers, or ranges
    kind: tuple(
        _FIELD_TYPES.get(kind.__annotations__[name], (tuple, range, ChainedRanges))
        for name in kind._fields
    )
    for kind in ev.KINDS.values()
}
_USUAL = {
    kind: tuple(types[0] for types in fields) for kind, fields in _TYPES.items()
}  # checked first: quick


class UnknownEvent(NamedTuple):
    """An event of a kind that this version does not know; kept as it was."""

    kind: str
    fields: tuple[object, ...]


REMARK = "remark"
"""A kind of line that no run writes: a text about what happens there, by whoever made the log. It changes nothing."""


LAW_BROKEN = "law_broken"
"""The last line of a run that broke a law: which, and how. It changes nothing."""


def remark(text: str) -> UnknownEvent:
    return UnknownEvent(REMARK, (text,))


def law_broken(law: str, sentence: str) -> UnknownEvent:
    return UnknownEvent(LAW_BROKEN, (law, sentence))


class LoggedEvents(Sequence["ev.Event | UnknownEvent"]):
    """The events of a log, decoded when looked at, a chunk of lines at a time. Kinds can be read without that.

    Raises InputError, naming the line, where a line turns out to be no event.
    """

    CHUNK = 1024
    KEPT = 64  # decoded chunks

    def __init__(self, name: str, lines: Sequence[bytes]) -> None:
        """``lines`` are those after the header; ``name`` is for messages."""
        self._name = name
        self._lines = lines
        self._chunks: dict[int, list[ev.Event | UnknownEvent]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> "ev.Event | UnknownEvent": ...
    @overload
    def __getitem__(self, index: slice) -> "list[ev.Event | UnknownEvent]": ...
    def __getitem__(
        self, index: int | slice
    ) -> "ev.Event | UnknownEvent | list[ev.Event | UnknownEvent]":
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"event {index} of {len(self)}")
        return self._chunk(position // self.CHUNK)[position % self.CHUNK]

    def __iter__(self) -> "Iterator[ev.Event | UnknownEvent]":
        for number in range(-(-len(self) // self.CHUNK)):
            yield from self._chunk(number)

    def starts_with(self, position: int, prefix: bytes) -> bool:
        """Does the line begin so? ``kind_prefix`` makes the beginning of a kind's lines."""
        return self._lines[position].startswith(prefix)

    def find(self, prefixes: tuple[bytes, ...], start: int, stop: int, step: int = 1) -> int | None:
        """The first position in ``range(start, stop, step)`` whose line begins with one of the prefixes."""
        lines = self._lines
        for position in range(start, stop, step):
            if lines[position].startswith(prefixes):
                return position
        return None

    def check(self) -> None:
        """Decode every line once. Raises InputError naming the first that is no event, and how many are not."""
        bad = [number for number, line in enumerate(self._lines) if _decoded(line) is None]
        if bad:
            raise self._bad_line(bad[0], len(bad))

    def _chunk(self, number: int) -> "list[ev.Event | UnknownEvent]":
        chunk = self._chunks.get(number)
        if chunk is None:
            if len(self._chunks) >= self.KEPT:
                del self._chunks[next(iter(self._chunks))]
            chunk = self._decode(number * self.CHUNK)
            self._chunks[number] = chunk
        return chunk

    def _decode(self, first: int) -> "list[ev.Event | UnknownEvent]":
        lines = self._lines[first : first + self.CHUNK]
        with suppress(ValueError, KeyError, TypeError):  # all at once is several times quicker
            rows = json.loads(b"[" + b",".join(lines) + b"]")
            if len(rows) == len(lines):
                return [_event(row) for row in rows]
        chunk = []
        for position, line in enumerate(lines, start=first):
            event = _decoded(line)
            if event is None:
                raise self._bad_line(position, 1)
            chunk.append(event)
        return chunk

    def _bad_line(self, position: int, count: int) -> InputError:
        lines = "1 line is" if count == 1 else f"{count} lines are"
        shown = self._lines[position][:40].decode("utf-8", errors="replace")
        return InputError(
            f"{self._name}, line {position + 2} is not an event ({shown!r}); {lines} bad of {len(self) + 1}, and "
            "what follows cannot be trusted: restore the file or record the run again"
        )


def kind_prefix(name: str) -> bytes:
    """What the lines of an event kind begin with."""
    return f'["{name}"'.encode()


@dataclass(frozen=True, slots=True)
class RunLog:
    """What was read. ``warnings`` are sentences about what was dropped."""

    header: Json
    geometry: Geometry
    events: LoggedEvents
    warnings: tuple[str, ...] = ()


def log_header(geometry: Geometry, **facts: object) -> Json:
    """The first line of a log. ``facts`` are JSON values: the seed, the settings, the command that repeats it."""
    return {
        "pagesim_log": LOG_VERSION,
        "memory": geometry._asdict(),
        **facts,
        "kinds": {name: list(kind._fields) for name, kind in ev.KINDS.items()},
    }


def encode(event: "ev.Event | UnknownEvent") -> str:
    """One line, without its end."""
    if isinstance(event, UnknownEvent):
        return _dump([event.kind, *event.fields])
    return _dump([_NAMES[type(event)], *event])


def decode(line: str | bytes) -> "ev.Event | UnknownEvent":
    """The event of one line. ValueError if the line is none."""
    return _event(json.loads(line))


def _event(values: object) -> "ev.Event | UnknownEvent":
    """The event of one decoded line. ValueError if it is none."""
    if type(values) is not list or not values or type(values[0]) is not str:
        raise ValueError("not an array that starts with a kind")
    name = values[0]
    fields = [
        tuple(value) if type(value) is list else _plain(value) if type(value) is dict else value
        for value in values[1:]
    ]
    kind = ev.KINDS.get(name)
    if kind is None:
        return UnknownEvent(name, tuple(fields))
    if tuple(map(type, fields)) != _USUAL[kind] and not _right_types(kind, fields):
        raise ValueError(f"the fields of {name} are {', '.join(kind._fields)}")
    event: ev.Event = kind._make(fields)
    return event


def _right_types(kind: type[ev.Event], fields: Sequence[object]) -> bool:
    types = _TYPES[kind]
    return len(fields) == len(types) and all(map(isinstance, fields, types))


def _dump(values: object) -> str:
    return json.dumps(values, separators=(",", ":"), default=_json_range)


def _json_range(value: object) -> object:
    if isinstance(value, range):
        return {"range": [value.start, value.stop]}
    if isinstance(value, ChainedRanges):
        return {"ranges": [[part.start, part.stop] for part in value.ranges()]}
    raise TypeError(f"{type(value).__name__} has no place in a log")


def _plain(value: dict[str, list[int]]) -> range | ChainedRanges:
    if "ranges" in value:
        pairs = cast("list[list[int]]", value["ranges"])
        return ChainedRanges(range(first, stop) for first, stop in pairs)
    start, stop = value["range"]
    return range(start, stop)


def _starts_like_a_log(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(4096)
    if start[:2] == b"\x1f\x8b":
        with suppress(zlib.error):
            start = zlib.decompressobj(wbits=31).decompress(start, 64)
    return start.startswith(b'{"pagesim_log"')


class LogWriter:
    """A listener that writes every event. Flushed now and then, so that a killed run leaves a readable log."""

    def __init__(self, path: Path, header: Json) -> None:
        """Raises InputError if the file cannot be written, or exists and is no log: nothing is lost."""
        self._path = path
        try:
            if path.is_file() and path.stat().st_size and not _starts_like_a_log(path):
                raise InputError(f"{path} exists and is not a pagesim log; name another file")
            self._raw = path.open("wb")
        except OSError as error:
            raise self._cannot(error) from None
        self._file: BufferedIOBase = self._raw
        if path.suffix == ".gz":  # no name and no time in it: the same run is the same file
            self._file = gzip.GzipFile("", "wb", 6, self._raw, mtime=0)
        self._lines = [_dump(header)]
        self._flush()

    def apply(self, event: "ev.Event | UnknownEvent") -> None:
        self._lines.append(encode(event))
        if len(self._lines) >= FLUSH_EVERY:
            self._flush()

    def _flush(self) -> None:
        data = ("\n".join(self._lines) + "\n").encode()
        self._lines = []
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise self._cannot(error) from None

    def close(self) -> None:
        try:
            if self._lines:
                self._flush()
            self._file.close()
        except OSError as error:
            raise self._cannot(error) from None
        finally:
            with suppress(OSError):
                self._raw.close()

    def _cannot(self, error: OSError) -> InputError:
        return InputError(f"{self._path} cannot be written: {error.strerror}; name another file")

    def __enter__(self) -> "LogWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


CHECK_AT_ONCE = 100_000


def read_log(path: Path) -> RunLog:
    """Read a whole log. A torn last line is dropped with a warning; unknown kinds are kept.

    Raises InputError for a file that is no log, and, naming the line, for any other line that is no event: at
    once, or in logs of more than ``CHECK_AT_ONCE`` lines when that line is looked at.
    """
    lines, cut_off = _read_lines(path)
    header = _read_header(path, lines[0] if lines else b"")
    warnings = []
    if len(lines) > 1 and _decoded(lines[-1]) is None:
        warnings.append(f"{path.name}: the last line, {len(lines)}, is cut off and was dropped")
        lines.pop()
    elif cut_off:
        warnings.append(
            f"{path.name}: the compressed file is cut off; what was left of it was read"
        )
    events = LoggedEvents(path.name, lines[1:])
    if len(events) <= CHECK_AT_ONCE:
        events.check()
    return RunLog(header, _geometry(path, header), events, tuple(warnings))


def _decoded(line: bytes) -> "ev.Event | UnknownEvent | None":
    try:
        return decode(line)
    except (ValueError, KeyError, TypeError):
        return None


def _read_lines(path: Path) -> tuple[list[bytes], bool]:
    """The lines without their ends, empty ones at the end left out; and whether compressed data end early."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    cut_off = False
    if data[:2] == b"\x1f\x8b":
        data, cut_off = _inflate(path, data)
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    return lines, cut_off


def _inflate(path: Path, data: bytes) -> tuple[bytes, bool]:
    """All that can be got out of a gzip file, and whether its end is missing."""
    decoder = zlib.decompressobj(wbits=31)
    try:
        plain = decoder.decompress(data) + decoder.flush()
    except zlib.error as error:
        raise InputError(f"{path.name} is damaged: {error}") from None
    return plain, not decoder.eof


def _read_header(path: Path, line: bytes) -> Json:
    try:
        header = json.loads(line)
        version = header["pagesim_log"]
    except (ValueError, KeyError, TypeError):
        shown = line[:40].decode("utf-8", errors="replace")
        raise InputError(
            f"{path.name} is not a pagesim log: its first line is {shown!r}; write one with `pagesim run --log`"
        ) from None
    if not isinstance(version, int) or version > LOG_VERSION:
        raise InputError(
            f"{path.name} is a log of version {version!r} and this pagesim reads up to {LOG_VERSION}; update pagesim"
        )
    if version < LOG_VERSION:
        raise InputError(
            f"{path.name} is a log of version {version} and this pagesim reads version {LOG_VERSION}: preemptions say "
            "more now; record the run again"
        )
    return dict(header)


def _geometry(path: Path, header: Json) -> Geometry:
    memory = header.get("memory")
    if not isinstance(memory, dict) or not all(
        isinstance(memory.get(name), int) and memory[name] >= least
        for name, least in zip(Geometry._fields, (1, 1, 0), strict=True)
    ):
        raise InputError(f"{path.name} has no memory size in its first line; record the run again")
    return Geometry(*[memory[name] for name in Geometry._fields])


def replayed(log: RunLog) -> Iterator[ev.Event]:
    """The events that this version knows."""
    for event in log.events:
        if not isinstance(event, UnknownEvent):
            yield event
