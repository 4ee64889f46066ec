"""``pagesim interview``: questions on LLM serving memory, as flash cards, against the clock, or printed.

Reads options and puts the parts together; what is asked and when is decided in ``pagesim_lessons.interview``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.interview_output import (
    export_cards,
    print_cards,
    print_list,
    print_standings,
    print_statements,
)
from pagesim.cli.options import AsJson
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.practice.keys import Keys
    from pagesim_lessons.interview.cards import Card, Topic
    from pagesim_lessons.interview.schedule import Memory
    from pagesim_lessons.interview.sitting import Desk

DEFAULT_QUESTIONS = 5
DEFAULT_SECONDS = 120
MOST_QUESTIONS, MOST_SECONDS = 1_000, 3_600


def interview(
    cards: Annotated[
        bool, typer.Option("--cards", help="Flash cards: what is due, and new ones.")
    ] = False,
    timed: Annotated[
        bool, typer.Option("--timed", help="A mock interview, against the clock.")
    ] = False,
    misconceptions: Annotated[
        bool,
        typer.Option("--misconceptions", help="True or false, on what is often misunderstood."),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Name all questions.")] = False,
    show: Annotated[
        str | None, typer.Option(metavar="ID", help="Show one question, whole.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write cards that Anki imports: .csv or .tsv."),
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None,
    difficulty: Annotated[int | None, typer.Option(help="1 basic, 2 usual, 3 hard.")] = None,
    questions: Annotated[
        int | None,
        typer.Option(help="How many.  [default: --timed 5; --cards all due and 10 new; else all]"),
    ] = None,
    seconds: Annotated[
        int | None, typer.Option(help="--timed: for one question.  [default: 120]")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="--timed, --misconceptions: which, in which order.  [default: goes on]"),
    ] = None,
    bank: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Questions of your own, TOML files.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --export: write over a file that exists.")
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget what was learnt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Practise interview questions: model answer, usual wrong answer, and a command that shows it.

    Alone: the topics, and what is due today; in a terminal, Enter then begins. Flash cards come back after days that
    grow with how well you knew them. Into a pipe everything is printed straight through, and nothing is kept.
    """
    modes = {
        "--cards": cards,
        "--timed": timed,
        "--misconceptions": misconceptions,
        "--list": list_,
        "--show": show is not None,
        "--export": export is not None,
        "--forget": forget,
    }
    mode = _mode(modes)
    _check(mode, topic, difficulty, questions, seconds, seed)
    if force and export is None:
        raise InputError("--force was given; it is for --export; leave it out")
    if forget:
        from pagesim_lessons.interview import store

        store.forget()
        typer.echo("What was learnt in interview practice is forgotten.")
        return
    from pagesim_lessons.interview.bank import built_in, card_called, chosen, read_bank

    topics = built_in() if bank is None else read_bank(bank)
    if show is not None:
        print_cards([card_called(topics, show)], topics, as_json=as_json, single=True)
        return
    found = chosen(topics, topic, difficulty)
    if export is not None:
        export_cards(export, found, topics, force=force)
    elif list_:
        print_list(found, topics, as_json=as_json)
    elif misconceptions:
        _misconceptions(found, topics, questions, seed, as_json=as_json)
    elif timed:
        _timed(found, topics, questions, seconds or DEFAULT_SECONDS, seed, as_json=as_json)
    elif cards or topic is not None or difficulty is not None or questions is not None:
        _cards(found, topics, questions, as_json=as_json)
    else:
        _overview(topics, as_json=as_json)


def _mode(modes: dict[str, bool]) -> str:
    given = [name for name, chosen in modes.items() if chosen]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} were given; leave out all but one")
    return given[0] if given else "--cards"


def _check(
    mode: str,
    topic: str | None,
    difficulty: int | None,
    questions: int | None,
    seconds: int | None,
    seed: int | None,
) -> None:
    """Raises InputError for an option out of bounds, or one that would change nothing."""
    for name, value, modes in (
        ("--topic", topic, ("--cards", "--timed", "--misconceptions", "--list", "--export")),
        (
            "--difficulty",
            difficulty,
            ("--cards", "--timed", "--misconceptions", "--list", "--export"),
        ),
        ("--questions", questions, ("--cards", "--timed", "--misconceptions")),
        ("--seconds", seconds, ("--timed",)),
        ("--seed", seed, ("--timed", "--misconceptions")),
    ):
        if value is not None and mode not in modes:
            raise InputError(f"{name} was given; it is for {' and '.join(modes)}; leave it out")
    for name, number, least, most in (
        ("--questions", questions, 1, MOST_QUESTIONS),
        ("--seconds", seconds, 1, MOST_SECONDS),
        ("--seed", seed, 0, 2**63 - 1),
    ):
        if number is not None and not least <= number <= most:
            raise InputError(
                f"{name} {number} was given; it is a whole number from {least} to {most:,}"
            )


def _overview(topics: "Sequence[Topic]", *, as_json: bool) -> None:
    from datetime import date

    from pagesim.practice.keys import Keys, at_a_terminal
    from pagesim.practice.progress import damage
    from pagesim.replay.phrases import counted
    from pagesim.views.console import make_console
    from pagesim_lessons.interview import store
    from pagesim_lessons.interview.bank import all_cards
    from pagesim_lessons.interview.deck import standing, to_ask
    from pagesim_lessons.interview.drawing import overview

    today, known, everything = date.today(), store.memories(), all_cards(topics)
    standings = {topic.name: standing(topic.cards, known, today) for topic in topics}
    together = standing(everything, known, today)
    if as_json:
        print_standings(topics, standings, together, today)
        return
    _note(damage())
    console = make_console()
    console.print(overview(topics, standings, together, today))
    for taken in store.interviews()[-1:]:
        went = f"{taken.well} of {taken.questions} right"
        console.print(f"Last mock interview, {taken.day.isoformat()}: {went}.")
    console.print()
    if not at_a_terminal():
        how = "Begin: pagesim interview --cards, or --timed for a mock interview; --list names all."
        console.print(how)
    elif waiting := len(to_ask(everything, known, today)):
        keys = Keys()
        if _enter(keys, f"begins with {counted(waiting, 'question')}"):
            _cards(everything, topics, None, as_json=False, keys=keys)
    else:
        console.print("All were asked and none is due: --timed asks at any time.")


def _enter(keys: "Keys", what: str) -> bool:
    """Was Enter pressed?"""
    from pagesim.practice.keys import tidy_end

    typer.echo(f"Enter {what}, any other key leaves; --help has more.")
    with tidy_end():
        try:
            return keys.key() in ("\r", "\n")
        except KeyboardInterrupt:
            return False


def _cards(
    found: "Sequence[Card]",
    topics: "Sequence[Topic]",
    questions: int | None,
    *,
    as_json: bool,
    keys: "Keys | None" = None,
) -> None:
    """``keys``: what was typed ahead is in them."""
    from datetime import date

    from pagesim.practice.keys import at_a_terminal, tidy_end
    from pagesim.views.console import make_console
    from pagesim_lessons.interview import store
    from pagesim_lessons.interview.deck import standing, to_ask
    from pagesim_lessons.interview.drawing import due_line
    from pagesim_lessons.interview.sitting import FlashCards

    if as_json or not at_a_terminal():
        print_cards(found[:questions], topics, as_json=as_json)
        return
    today, known = date.today(), store.memories()
    waiting = to_ask(found, known, today, questions)
    if not waiting:
        line = due_line(standing(found, known, today), today)
        make_console().print(f"{line} `pagesim interview --timed` asks at any time.")
        return

    keeps = _keeps()

    def tell(name: str, memory: "Memory") -> bool:
        return keeps and _kept(lambda: store.remember(name, memory))

    with tidy_end():
        FlashCards(_desk(topics, keys), known, today, tell).sit(waiting)


def _keeps() -> bool:
    """Can anything be kept? If not, it is said once, and practice goes on."""
    from pagesim.practice.progress import can_keep, damage

    why_not = can_keep()
    _note(why_not or damage())
    return why_not is None


def _kept(write: Callable[[], None]) -> bool:
    try:
        write()
    except InputError as error:
        _note(str(error))
        return False
    return True


def _note(sentence: str | None) -> None:
    if sentence is not None:
        typer.echo(f"note: {sentence}", err=True)


def _timed(
    found: "Sequence[Card]",
    topics: "Sequence[Topic]",
    questions: int | None,
    seconds: int,
    seed: int | None,
    *,
    as_json: bool,
) -> None:
    import time
    from datetime import date

    from pagesim.practice.keys import at_a_terminal, tidy_end
    from pagesim_lessons.interview import store
    from pagesim_lessons.interview.deck import drawn
    from pagesim_lessons.interview.schedule import Grade
    from pagesim_lessons.interview.sitting import MockInterview

    here = at_a_terminal() and not as_json
    seed = _seed(seed, here=here)
    asked = drawn(found, questions or DEFAULT_QUESTIONS, seed)
    if not here:
        print_cards(asked, topics, as_json=as_json)
        return
    keeps, desk = _keeps(), _desk(topics)
    desk.say(f"Mock interview, seed {seed}.", "bold")
    with tidy_end():
        taken = MockInterview(desk, time.monotonic, seconds, desk.console.is_terminal).sit(asked)
        if taken and keeps:
            well = sum(at.grade is not None and at.grade >= Grade.GOOD for at in taken)
            spent = round(sum(at.seconds for at in taken))
            sat = store.Interview(date.today(), len(taken), well, spent)
            _kept(lambda: store.remember_interview(sat))


def _misconceptions(
    found: "Sequence[Card]",
    topics: "Sequence[Topic]",
    questions: int | None,
    seed: int | None,
    *,
    as_json: bool,
) -> None:
    from pagesim.practice.keys import at_a_terminal, tidy_end
    from pagesim_lessons.interview.deck import statements
    from pagesim_lessons.interview.sitting import TrueOrFalse

    here = at_a_terminal() and not as_json
    sentences = statements(found, questions or MOST_QUESTIONS, _seed(seed, here=here))
    if not sentences:
        raise InputError(
            "there are no misconceptions among these questions; leave --topic or --difficulty out"
        )
    if here:
        with tidy_end():
            TrueOrFalse(_desk(topics)).sit(sentences)
        return
    print_statements(sentences, as_json=as_json)


def _seed(given: int | None, *, here: bool) -> int:
    """In a terminal another one after every mock interview; printed sheets are the same for ever."""
    from pagesim_lessons.interview import store

    return given if given is not None else len(store.interviews()) if here else 0


def _desk(topics: "Sequence[Topic]", keys: "Keys | None" = None) -> "Desk":
    from pagesim.practice.keys import Keys
    from pagesim.views.console import make_console
    from pagesim_lessons.interview.sitting import Desk

    console = make_console()
    titles = {topic.name: topic.title for topic in topics}
    return Desk(console, keys or Keys(), titles, _run_command)


def _run_command(command: str) -> None:
    """In a process of its own, on this terminal. Ctrl-C ends it and nothing else."""
    import shlex
    import subprocess
    import sys

    process = subprocess.Popen([sys.executable, "-m", "pagesim", *shlex.split(command)[1:]])
    while True:
        try:
            process.wait()
            return
        except KeyboardInterrupt:
            continue
