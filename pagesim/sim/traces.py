"""Reads a trace file into a workload: who asks, when, and how long.

Knows nothing about how requests are served, and does not look at bytes or columns: the modules
``trace_text``, ``trace_records``, ``trace_formats`` and ``trace_values`` do. A trace is read whole
or refused whole; nothing in it is guessed or mended.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from pagesim.core.errors import InputError
from pagesim.core.request import Request
from pagesim.core.token_ids import ChainedRanges, FreshIds
from pagesim.sim.bulk import collection_paused
from pagesim.sim.trace_formats import TOKENS_PER_HASH, TraceFormat
from pagesim.sim.trace_records import Record, Records, read_records
from pagesim.sim.trace_text import TraceLines, open_trace
from pagesim.sim.trace_values import BadValueError, hash_id, request_id, token_count, visible
from pagesim.sim.workload import Arrival, Workload


def read_trace(path: Path, *, limit: int | None = None) -> Workload:
    """The requests of a trace file, sorted by time (rows of equal time keep their order).

    The earliest row arrives at 0; without a time column all wait from the start. ``limit`` reads
    only the first so many requests of the file. A request without an id is called ``r`` and the
    number of its row, from 1. InputError for anything that cannot be read, naming the line.
    """
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} requests was given; it must be 1 or more")
    with open_trace(path) as lines, collection_paused():
        records = read_records(lines)
        reader = _Reader(lines, records)
        arrivals = _from_zero(list(reader.arrivals(limit)))
    if not arrivals:
        raise InputError(_nothing(lines, reader.num_failed))
    return Workload(
        name=lines.name,
        about=f"{len(arrivals):,} requests of {lines.name} ({records.format.about})",
        arrivals=tuple(arrivals),
        saturated=not records.has_time,
        token_ids_known=records.format.hash_ids is not None,
        notes=tuple(_notes(records, reader.num_failed)),
    )


def _from_zero(arrivals: list[Arrival]) -> list[Arrival]:
    """Sorted by time, and the first at 0."""
    arrivals.sort(key=itemgetter(0))
    origin = arrivals[0].time_ns if arrivals else 0
    if not origin:
        return arrivals
    return [Arrival(time_ns - origin, request) for time_ns, request in arrivals]


class _Reader:
    """Turns records into arrivals; remembers the ids seen and counts the failed rows."""

    __slots__ = ("_fresh", "_lines", "_records", "_seen", "num_failed")

    def __init__(self, lines: TraceLines, records: Records) -> None:
        self._lines = lines
        self._records = records
        self._fresh = FreshIds()
        self._seen: dict[str, int] = {}
        self.num_failed = 0

    def arrivals(self, limit: int | None) -> Iterator[Arrival]:
        """In the order of the file, times as they are written there (in ns)."""
        format_ = self._records.format
        num_left = limit
        for number, record in enumerate(self._records.rows, start=1):
            arrival = self._arrival(format_, number, record)
            if arrival is None:
                self.num_failed += 1
                continue
            yield arrival
            if num_left is not None:
                num_left -= 1
                if not num_left:
                    return

    def _arrival(self, format_: TraceFormat, number: int, record: Record) -> Arrival | None:
        """``None`` for a request that failed where the trace was taken."""
        column: str | None = format_.time
        try:
            time_ns = 0 if record.time is None else format_.to_ns(record.time)
            column = format_.output
            output = token_count(record.output, least=0 if format_.zero_is_failed else 1)
            column = format_.prompt
            num_prompt = token_count(record.prompt, least=0 if output == 0 else 1)
            if output == 0:
                return None
            column = format_.id
            name = f"r{number}" if record.id is None else self._new_id(record.id, record.line)
            column = format_.hash_ids
            prompt: Sequence[int]
            if record.hash_ids is None:
                prompt = self._fresh.take(num_prompt)
            else:
                prompt = _hashed_prompt(record.hash_ids, num_prompt)
        except BadValueError as error:
            spelled = self._records.columns.get(column or "", column)
            raise self._lines.error(f"{error}; fix the line or remove it", spelled) from None
        return Arrival(time_ns, Request(name, prompt, output, known_output=output))

    def _new_id(self, text: str, line: int) -> str:
        name = request_id(text)
        first = self._seen.setdefault(name, line)
        if first != line:
            raise BadValueError(f'"{name}" is the id of the request in line {first} already')
        return name


def _hashed_prompt(hash_ids: Sequence[str], num_tokens: int) -> ChainedRanges:
    """Hash id ``h`` stands for the token ids from ``h * 512`` on; the last block may be cut."""
    num_blocks = -(-num_tokens // TOKENS_PER_HASH)
    if len(hash_ids) != num_blocks:
        raise BadValueError(
            f"{len(hash_ids)} ids for {num_tokens} tokens, which are {num_blocks} blocks of "
            f"{TOKENS_PER_HASH}"
        )
    starts = [hash_id(text) * TOKENS_PER_HASH for text in hash_ids]
    ranges = [range(start, start + TOKENS_PER_HASH) for start in starts]
    ranges[-1] = ranges[-1][: num_tokens - (num_blocks - 1) * TOKENS_PER_HASH]
    return ChainedRanges(ranges)


def _nothing(lines: TraceLines, num_failed: int) -> str:
    if num_failed:
        return (
            f"{lines.name} has only failed requests ({num_failed:,}); give a trace that has others"
        )
    return f"{lines.name} has a header but no requests; give a trace of one request or more"


def _notes(records: Records, num_failed: int) -> Iterator[str]:
    if not records.has_time:
        unread = (
            f" (columns not read: {visible(', '.join(records.unread))})" if records.unread else ""
        )
        yield f"no column {records.format.time}: every request waits from the start{unread}"
    if num_failed:
        yield f"failed requests (0 output tokens) that were skipped: {num_failed:,}"
