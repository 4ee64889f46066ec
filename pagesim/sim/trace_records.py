"""The rows of a trace as text, whatever the file: CSV with a header, or one JSON object a line.

Knows nothing about what the values mean; ``traces.py`` reads them. Here the format is recognised,
and each row is checked to have the shape that the first one announced.
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.sim.trace_formats import CSV_FORMATS, JSONL_FORMATS, TraceFormat
from pagesim.sim.trace_text import TraceLines
from pagesim.sim.trace_values import shown


class Record(NamedTuple):
    """One row: the texts of its values; ``None`` where the file has no such column."""

    line: int
    prompt: str
    output: str
    time: str | None
    id: str | None
    hash_ids: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Records:
    """All rows of a file, in its order. ``columns`` are those that are read, as the file spells
    them; ``unread`` are the others."""

    format: TraceFormat
    columns: dict[str, str]
    unread: tuple[str, ...]
    rows: Iterator[Record]

    @property
    def has_time(self) -> bool:
        return self.format.time in self.columns


def read_records(lines: TraceLines) -> Records:
    """Recognises the format by the first line that is not blank; InputError if it is unknown."""
    for first in lines:
        if not first.isspace():
            is_json = first.lstrip().startswith("{")
            return _json_records(first, lines) if is_json else _csv_records(first, lines)
    raise InputError(f"{lines.name} is empty; give a trace of one request or more")


def _csv_records(first: str, lines: TraceLines) -> Records:
    rows = _csv_rows(first, lines)
    header = next(rows, [])
    columns = [name.strip().lower() for name in header]
    format_ = _recognised(columns, CSV_FORMATS, f"the header {shown(first.strip())}", lines)
    places: dict[str, int] = {}
    for place, column in enumerate(columns):
        if column in format_.reads and places.setdefault(column, place) != place:
            raise lines.error(f"column {column} appears twice; rename one of them")
    spelled = {column: header[place].strip() for column, place in places.items()}
    unread = tuple(
        name for name, column in zip(header, columns, strict=True) if column not in places
    )
    return Records(format_, spelled, unread, _csv_picked(rows, lines, format_, places, len(header)))


def _csv_rows(first: str, lines: TraceLines) -> Iterator[list[str]]:
    """Rows that are not blank; quoting after the rules of the csv module, errors as sentences."""
    rows = csv.reader(chain([first], lines), strict=True)
    try:
        for row in rows:
            if len(row) > 1 or (row and row[0].strip()):
                yield row
    except csv.Error as error:
        raise lines.error(f"this is not a well-formed CSV row ({error}); fix the line") from None


def _csv_picked(
    rows: Iterable[list[str]],
    lines: TraceLines,
    format_: TraceFormat,
    places: dict[str, int],
    num_columns: int,
) -> Iterator[Record]:
    prompt, output = places[format_.prompt], places[format_.output]
    time = places.get(format_.time)
    id_ = places.get(format_.id) if format_.id else None
    for row in rows:
        if len(row) != num_columns:
            raise lines.error(
                f"the header names {num_columns} columns, the row has {len(row)}; fix the line"
            )
        yield Record(
            lines.number,
            row[prompt],
            row[output],
            None if time is None else row[time],
            None if id_ is None else row[id_],
            None,
        )


class _Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


_decode = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_Number).decode


def _json_records(first: str, lines: TraceLines) -> Records:
    spelled = {_key(name): name.strip() for name in _object(first, lines)}
    found = f"an object with the keys {shown(', '.join(spelled.values()))}"
    format_ = _recognised(spelled, JSONL_FORMATS, found, lines)
    read = {name: spelled[name] for name in format_.reads if name in spelled}
    unread = tuple(spelled[name] for name in spelled if name not in read)
    return Records(format_, read, unread, _json_picked(chain([first], lines), lines, format_, read))


def _json_picked(
    texts: Iterable[str], lines: TraceLines, format_: TraceFormat, read: Collection[str]
) -> Iterator[Record]:
    absent = [name for name in format_.reads if name not in read]
    time = format_.time if format_.time in read else None
    id_ = format_.id if format_.id in read else None
    hash_ids = format_.hash_ids
    for text in texts:
        if text.isspace():
            continue
        row = {_key(name): value for name, value in _object(text, lines).items()}
        for name in read:
            if name not in row:
                raise lines.error(f"there is no {name}, which the first row has; add it")
        for name in absent:
            if name in row:
                raise lines.error(f"there is a {name}, which the first row lacks; add it there")
        yield Record(
            lines.number,
            _text(row[format_.prompt]),
            _text(row[format_.output]),
            None if time is None else _text(row[time]),
            None if id_ is None else _name(row[id_], lines),
            None if hash_ids is None else _texts(row[hash_ids], lines),
        )


def _object(text: str, lines: TraceLines) -> dict[str, object]:
    try:
        row: object = _decode(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise lines.error(f"{shown(text.strip())} is not a JSON object; fix the line")
    return row


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    return name.strip().lower()


def _text(value: object) -> str:
    """A number as it was written; any other value as JSON, which no reader of numbers accepts."""
    return str(value) if isinstance(value, _Number) else json.dumps(value)


def _name(value: object, lines: TraceLines) -> str:
    if isinstance(value, str):
        return value
    raise lines.error(f"id {shown(_text(value))} is neither a text nor a number; fix the line")


def _texts(value: object, lines: TraceLines) -> Sequence[str]:
    if not isinstance(value, list):
        raise lines.error(f"hash_ids {shown(_text(value))} is not a list; fix the line")
    return [_text(item) for item in value]


def _recognised(
    columns: Collection[str], formats: Sequence[TraceFormat], found: str, lines: TraceLines
) -> TraceFormat:
    for format_ in formats:
        if format_.fits(columns):
            return format_
    names = "; ".join(format_.columns for format_ in formats)
    raise lines.error(f"{found} is not one of a known trace, which are {names}; rename the columns")
