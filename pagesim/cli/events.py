"""``pagesim events``: what happened in a logged run and why, one sentence an event.

Reads the log once from its start to the last event asked for, and keeps one state. Knows nothing about how a
sentence is made.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.core.events import Event
    from pagesim.replay.cursor import Cursor
    from pagesim.replay.log import RunLog, UnknownEvent
    from pagesim.replay.run_state import RunState

MOST_NAMED = 12  # in a message about an unknown name


class Told(NamedTuple):
    """One event: ``place`` is the number of events up to it; ``step`` was planned last (``None``: none yet) and
    ``between`` says that it is over; ``time_ns`` is the time just after it."""

    place: int
    step: int | None
    time_ns: int
    event: "Event | UnknownEvent"
    sentence: str
    between: bool


def events(
    log: Annotated[Path, typer.Argument(help="A log that `pagesim run --log` wrote.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only events of this kind, such as preempted; may be given again."),
    ] = None,
    request: Annotated[
        str | None, typer.Option(help="Only events of this request, or of this sample of one.")
    ] = None,
    from_step: Annotated[int | None, typer.Option(help="Begin where this step is planned.")] = None,
    to_step: Annotated[
        int | None, typer.Option(help="Stop before the step after this one is planned.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many events.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array and nothing else.")
    ] = False,
) -> None:
    """Tell what happened and why, one sentence an event.

    Each line: the event's number (`pagesim show LOG@e7` shows the memory just after e7), the step that was planned
    last, the simulated time, and the sentence.
    """
    from itertools import islice

    from pagesim.replay.cursor import Cursor
    from pagesim.replay.log import read_log
    from pagesim.views.console import clean, make_console

    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit} was given; it must be 1 or more")
    run = read_log(log)
    errors = make_console(stderr=True)
    for warning in run.warnings:
        errors.print(f"note: {clean(warning, errors.encoding)}", soft_wrap=True)
    cursor = Cursor.of_log(run)
    _check_kinds(run, kind or ())
    is_about = _about(cursor, log.name, request)
    within = _places_of_steps(cursor, log.name, from_step, to_step)
    places = _places(cursor, within, kind, is_about)
    told = islice(_told(run, cursor, log.name, places), limit)
    if as_json:
        _print_json(told)
    elif not _print_lines(told, cursor):
        errors.print("note: no event of this log is like that", soft_wrap=True)


# -- which events ----------------------------------------------------------------------------------------


def _check_kinds(log: "RunLog", kinds: Sequence[str]) -> None:
    """Known is what this version knows, and what the log says that it may hold."""
    from pagesim.core.events import KINDS

    said = log.header.get("kinds")
    known = [*KINDS, *(name for name in (said if isinstance(said, dict) else ()))]
    for kind in kinds:
        if kind not in known:
            names = ", ".join(dict.fromkeys(known))
            raise InputError(f"{kind!r} is no kind of event; the kinds are {names}")


def _about(
    cursor: "Cursor", log_name: str, request: str | None
) -> "Callable[[Event | UnknownEvent], bool]":
    """Is an event about the request? About a sample of it, if it is named as ``r1.2``."""
    from pagesim.replay.cursor import concerns

    if request is None:
        return lambda _: True
    names: dict[str, list[int]] = {}
    samples: dict[str, list[int]] = {}
    for place in cursor.places_of(("arrived", "submitted", "refused")):
        event = cursor.events[place - 1]
        name = getattr(event, "request", "")
        seqs = names.setdefault(name, [])
        seq, sample = getattr(event, "seq", None), getattr(event, "sample", 0)
        if seq is not None:
            seqs.append(seq)
            samples.setdefault(f"{name}.{sample}", []).append(seq)
    wanted = names.get(request, samples.get(request))
    if wanted is None:
        raise InputError(f"{log_name} has no request {request!r}; {_some(list(names))}")

    def is_about(event: "Event | UnknownEvent") -> bool:
        named = getattr(event, "request", None) == request
        return named or any(concerns(event, seq) for seq in wanted)

    return is_about


def _some(names: Sequence[str]) -> str:
    from pagesim.replay.phrases import one_line

    if not names:
        return "it has none at all"
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"it has {one_line(', '.join(names[:MOST_NAMED]))}{more}"


def _places_of_steps(
    cursor: "Cursor", log_name: str, from_step: int | None, to_step: int | None
) -> range:
    """The places from where the first of these steps is planned to just before the one after the last is."""
    steps = cursor.step_places
    for step in (from_step, to_step):
        if step is not None and not 0 <= step < len(steps):
            there = f"steps 0 to {len(steps) - 1}" if steps else "no steps"
            raise InputError(f"step {step} was asked for and {log_name} has {there}")
    first = 1 if from_step is None else steps[from_step]
    if to_step is None or to_step + 1 == len(steps):
        return range(first, cursor.num_events + 1)
    if from_step is not None and from_step > to_step:
        raise InputError(f"--from-step {from_step} is after --to-step {to_step}; swap them")
    return range(first, steps[to_step + 1])


def _places(
    cursor: "Cursor",
    within: range,
    kinds: Sequence[str] | None,
    is_about: "Callable[[Event | UnknownEvent], bool]",
) -> Iterator[int]:
    """The places of the events asked for, in order; of other kinds nothing is decoded here."""
    for place in cursor.places_of(dict.fromkeys(kinds)) if kinds else within:
        if place in within and is_about(cursor.events[place - 1]):
            yield place


# -- their story -----------------------------------------------------------------------------------------


def _told(log: "RunLog", cursor: "Cursor", log_name: str, places: Iterable[int]) -> Iterator[Told]:
    """Raises InputError naming the line where an event does not follow from those before it."""
    from bisect import bisect_right

    from pagesim.replay.explain import explainer, is_between_steps
    from pagesim.replay.run_state import RunState

    explain = explainer(log.header)
    state, here = RunState(cursor.geometry), 0
    for place in places:
        _advance(state, cursor, here, place - 1, log_name)
        event = cursor.events[place - 1]
        sentence, between = explain(event, state), is_between_steps(event, state)
        _advance(state, cursor, place - 1, place, log_name)
        here = place
        number = bisect_right(cursor.step_places, place) - 1
        step = None if number < 0 else number
        yield Told(place, step, state.time_ns, event, sentence, between)


def _advance(state: "RunState", cursor: "Cursor", start: int, stop: int, log_name: str) -> None:
    from pagesim.replay.feeding import CONTRADICTIONS

    for position in range(start, stop):
        try:
            state.apply(cursor.events[position])  # type: ignore[arg-type]  # unknown kinds change nothing
        except CONTRADICTIONS:
            raise InputError(
                f"{log_name}, line {position + 2}: this event does not follow from those before it; restore the "
                "file or record the run again"
            ) from None


def _print_lines(told: Iterable[Told], cursor: "Cursor") -> int:
    """One line an event; returns how many."""
    from pagesim.views.console import clean, make_console

    console = make_console()
    places, steps = len(f"e{cursor.num_events}"), len(str(cursor.num_steps))
    number = 0
    for entry in told:
        number += 1
        when = "after" if entry.between and entry.step is not None else "step"
        step = "-" if entry.step is None else str(entry.step)
        time = f"{entry.time_ns / 1e9:,.6f} s"
        line = f"{f'e{entry.place}':>{places}}  {when:>5} {step:>{steps}}  {time:>14}  {entry.sentence}"
        console.file.write(f"{clean(line, console.encoding)}\n")
    console.file.flush()
    return number


def _print_json(told: Iterable[Told]) -> None:
    """One object a line, written as they come, so that a long log needs no memory."""
    import json
    import sys

    from pagesim.replay.explain import kind_of
    from pagesim.replay.log import UnknownEvent, encode

    start = "["
    for entry in told:
        event = entry.event
        values = json.loads(encode(event))[1:]
        unknown = isinstance(event, UnknownEvent)
        shown = {
            "place": entry.place,
            "step": entry.step,
            "time_ns": entry.time_ns,
            "kind": kind_of(event),
            "fields": values if unknown else dict(zip(event._fields, values, strict=True)),
            "sentence": entry.sentence,
        }
        sys.stdout.write(f"{start}\n{json.dumps(shown, ensure_ascii=True)}")
        start = ","
    sys.stdout.write("[]\n" if start == "[" else "\n]\n")
