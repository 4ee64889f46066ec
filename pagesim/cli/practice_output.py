"""What ``pagesim practice`` shows: the list, what to do next, hints, and what came of a check.

Knows nothing about how any of it came about. Learners' own words are made safe to show.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.constrain import Constrain
from rich.table import Table
from rich.text import Text

from pagesim.cli.practice_tasks import shown_path
from pagesim.practice.checking import Checked
from pagesim.practice.exercise import GENERAL, WRITTEN
from pagesim.practice.folder import SOLVED, PracticeFolder, Standing, State, next_standing
from pagesim.practice.records import NUM_HINTS
from pagesim.practice.task import HOW_TO_INSTALL, Task, still_to_write
from pagesim.replay.phrases import counted
from pagesim.views.glyphs import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDEST = 100
"""Prose is not set wider."""
BROKEN, GOOD, COMMAND = "bold #d55e00", "bold #00966b", "#2f9bd8"
MOST_CALLS, MOST_PRINTED, MOST_WIDE = 60, 12, 500
MARKS = {
    State.PASSED: "+",
    State.CHANGED: "+",
    State.FAILS: "!",
    State.BEGUN: "*",
    State.UNTOUCHED: " ",
    State.GONE: "!",
    State.LACKS: "-",
}


def command(*words: str) -> str:
    return " ".join(["pagesim practice", *words])


def print_parts(console: "Console", parts: "Iterator[RenderableType]") -> None:
    """Prose is folded at the width; what is to be copied is not: the terminal itself wraps it."""
    for part in parts:
        if isinstance(part, Verbatim):
            console.print(part, soft_wrap=True)
        else:
            console.print(Constrain(part, WIDEST))


class Verbatim(Text):
    """A line that is to be copied."""


def _facts(rows: Sequence[tuple[str, Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, text)
    return table


# -- the list ----------------------------------------------------------------------------------------------


def list_parts(standings: Sequence[Standing]) -> "Iterator[RenderableType]":
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    heads = ("", "", "exercise", "", "lesson", "state")
    table.add_row(*(Text(head, style="dim") for head in heads))
    for standing in standings:
        exercise = standing.task.exercise
        style = GOOD if standing.state in (State.PASSED, State.CHANGED) else ""
        table.add_row(
            Text(MARKS[standing.state], style),
            str(standing.task.number),
            Text(exercise.name, "bold"),
            exercise.title,
            str(exercise.lesson),
            Text(state_in_words(standing), style.removeprefix("bold ")),
        )
    yield table


def state_in_words(standing: Standing) -> str:
    words = standing.state.value
    if standing.state is State.LACKS:
        words = f"needs {' and '.join(standing.task.lacks())}"
    if standing.record.gave_up:
        words += ", solution seen"
    elif standing.record.hints and standing.state not in SOLVED:
        words += f", {counted(standing.record.hints, 'hint')}"
    if standing.older and standing.state not in (State.PASSED, State.CHANGED):
        words += ", older version"
    return words


def summary(standings: Sequence[Standing]) -> str:
    states = [standing.state for standing in standings]
    passed, lacking = sum(state in SOLVED for state in states), states.count(State.LACKS)
    words = f"{passed} of {counted(len(standings) - lacking, 'exercise')} passed"
    if fails := states.count(State.FAILS):
        words += f", {fails} of which {'does' if fails == 1 else 'do'} not pass now"
    return f"{words}; {lacking} cannot be checked here" if lacking else words


def older_lines(older: Sequence[Standing]) -> Iterator[str]:
    """Of files that an older pagesim wrote: that there is a new one, and how to get it."""
    for standing in older:
        task, reset = standing.task, command("reset", standing.task.name)
        if standing.state is State.UNTOUCHED:
            yield f"{task.file_name} is an older version; `{reset}` gives the new one."
        elif standing.state not in (State.PASSED, State.CHANGED):
            yield f"{task.file_name} was begun in an older version; `{reset}` gives the new one, and keeps yours."


# -- what to do --------------------------------------------------------------------------------------------


def next_parts(standing: Standing | None, file: Path | None) -> "Iterator[RenderableType]":
    """What is to be done now."""
    if standing is None or file is None:
        yield Text("Every exercise is passed.", GOOD)
        return
    task, exercise = standing.task, standing.task.exercise
    yield title(task)
    yield Text()
    rows = [("file", Text(shown_path(file)))]
    if standing.state is State.GONE:
        rows.append(("gone", Text(f"{command('reset', task.name)} writes it anew", COMMAND)))
    else:
        writes = still_to_write(_text_of(file))
        rows.append(("write", Text(", ".join(writes) or "it is begun: check it")))
    rows += [("older", Text(line)) for line in older_lines([standing] if standing.older else [])]
    rows += [
        ("about", Text(f"pagesim learn {exercise.lesson}", COMMAND)),
        ("check", Text(f"{command('check')}, or {command('watch')} while you write", COMMAND)),
        ("stuck", Text(command("hint"), COMMAND)),
    ]
    yield _facts(rows)


def title(task: Task) -> Text:
    text = Text(f"{task.number}  {task.name}", "bold")
    return text.append(f"  {task.exercise.title}", "not bold")


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def hint_parts(task: Task, shown: int, new: int) -> "Iterator[RenderableType]":
    """The first so many hints, the last ``new`` of which are shown for the first time."""
    yield title(task)
    yield Text()
    yield _facts(
        [
            (f"hint {number}", Text(hint, "" if number > shown - new else "dim"))
            for number, hint in enumerate(task.exercise.hints[:shown], start=1)
        ]
    )
    if shown < NUM_HINTS:
        text = f"{NUM_HINTS - shown} more: {command('hint', task.name)}"
    else:
        text = f"That was the last. The way out: {command('solution', task.name, '--give-up')}"
    yield Text()
    yield Text(text, "dim")


# -- what came of a check ----------------------------------------------------------------------------------


def checked_parts(checked: Checked, encoding: str) -> "Iterator[RenderableType]":
    if checked.outcome.passed:
        yield from _passed(checked, encoding)
    else:
        yield from _broken(checked, encoding)
    for warning in checked.warnings:
        yield Text(clean(warning, encoding), "dim")


def _passed(checked: Checked, encoding: str) -> "Iterator[RenderableType]":
    yield title(checked.task).append("  passed", GOOD)
    yield Text()
    yield Text("These laws are kept:", "dim")
    rows = [(check.law, Text(check.says)) for check in checked.task.exercise.checks]
    yield _facts(rows)
    yield from _printed(checked, encoding)


def _broken(checked: Checked, encoding: str) -> "Iterator[RenderableType]":
    task, outcome = checked.task, checked.outcome
    if outcome.law == WRITTEN:
        yield title(task).append("  not written yet", "bold")
        yield Text()
        yield Text(clean(outcome.sentence, encoding))
    else:
        yield title(task).append("  does not pass", BROKEN)
        yield Text()
        kind = "broken" if outcome.law not in GENERAL else "not so"
        rows = [
            (kind, Text(f"{outcome.law}: {task.exercise.says(outcome.law)}")),
            ("found", Text(clean(outcome.sentence, encoding), "bold")),
        ]
        yield _facts(rows)
    if outcome.operations:
        yield Text()
        yield Text("These calls lead there; they can be pasted into Python:", "dim")
        for line in _calls(task, outcome.operations):
            yield Verbatim(clean(line, encoding))
    yield from _printed(checked, encoding)
    yield Text()
    if checked.log is not None:
        shown = shown_path(checked.log)
        yield _facts(
            [
                ("log", Text(clean(shown, encoding))),
                ("see it", Text(clean(f"pagesim view {quote(shown)}", encoding), COMMAND)),
                ("stuck", Text(command("hint", task.name), COMMAND)),
            ]
        )
    else:
        yield _facts([("stuck", Text(command("hint", task.name), COMMAND))])


def _calls(task: Task, lines: Sequence[str]) -> Iterator[str]:
    """The import that they need, where it is not among them, and the calls; of very many the last."""
    used, source = " ".join(lines), f"from {task.exercise.module} import "
    names = [name for name in task.exercise.names if re.search(rf"\b{name}\b", used)]
    if "math." in used and not any(line.startswith("import math") for line in lines):
        yield "import math"
    if not any(line.startswith(source) for line in lines):
        yield f"{source}{', '.join(names or task.exercise.names)}"
    if len(lines) > MOST_CALLS:
        yield f"# ... {len(lines) - MOST_CALLS:,} calls before these ..."
    yield from lines[-MOST_CALLS:]


def _printed(checked: Checked, encoding: str) -> "Iterator[RenderableType]":
    lines = checked.outcome.output.strip().splitlines()
    if not lines:
        return
    yield Text()
    cut = len(lines) > MOST_PRINTED
    yield Text(f"Your code printed{f', the last {MOST_PRINTED} lines' if cut else ''}:", "dim")
    for line in lines[-MOST_PRINTED:]:
        safe = clean(line[:MOST_WIDE], encoding)
        yield Verbatim(f"  {safe}" + ("..." if len(line) > MOST_WIDE else ""))


def lacking(task: Task) -> str:
    """Why it cannot be checked here."""
    return (
        f"{task.name} needs {' and '.join(task.lacks())}, which is not installed; `{HOW_TO_INSTALL}` "
        "brings it; it does not count until then"
    )


def after_passing(
    task: Task, folder: PracticeFolder | None, tasks: Sequence[Task]
) -> "Iterator[RenderableType]":
    """What comes next."""
    yield Text()
    rows = [("ours", Text(command("solution", task.name), COMMAND))]
    if folder is not None:
        standing = next_standing(folder.standings(tasks))
        if standing is None:
            yield Text("That was the last: every exercise is passed.", GOOD)
        else:
            file = shown_path(folder.file_of(standing.task))
            rows.append(("next", Text(f"{standing.task.name}, in {file}")))
            rows.append(("", Text(command("next"), COMMAND)))
        yield _facts(rows)


def all_parts(results: Sequence[Checked], encoding: str) -> "Iterator[RenderableType]":
    """A line for each exercise."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for checked in results:
        outcome = checked.outcome
        word, style = ("passed", GOOD) if outcome.passed else (outcome.law, BROKEN)
        if outcome.law == WRITTEN:
            word, style = "to write", "bold"
        if outcome.skipped:
            word, style = "not checked", "dim"
        table.add_row(
            str(checked.task.number),
            Text(checked.task.name, "bold"),
            Text(word, style),
            Text(clean(outcome.sentence, encoding)),
        )
    yield table
