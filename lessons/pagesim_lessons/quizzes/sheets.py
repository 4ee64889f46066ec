"""Problems as plain text and as printable sheets: Markdown that reads well as it is, 80 columns wide.

A sheet has a problem with room for answers; its key, a file of its own, has the answers with their working. Knows
nothing about how problems are made.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from pagesim.core.errors import InputError
from pagesim_lessons.quizzes.problem import Drawn, Part, Problem, Question

WIDTH = 80
MOST_SHEETS = 1_000
PROBLEMS, ANSWERS = "problems", "answers"
"""The two folders of a batch: one to hand out, one to keep."""


def wrapped(text: str, width: int = WIDTH, first: str = "", rest: str | None = None) -> list[str]:
    """A paragraph's lines; ``first`` stands before the first of them, ``rest`` (by default as much room) before the
    others."""
    indent = " " * len(first) if rest is None else rest
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def story_lines(story: Sequence[Part], width: int = WIDTH) -> Iterator[str]:
    """Paragraphs with an empty line between them; what is drawn is set in by four columns, as Markdown has it."""
    for number, part in enumerate(story):
        if number:
            yield ""
        if isinstance(part, Drawn):
            yield from (f"    {line}" for line in part.lines)
        else:
            yield from wrapped(part, width)


def question_lines(number: int, question: Question, width: int = WIDTH) -> Iterator[str]:
    """The question, and what may be typed."""
    yield from wrapped(question.prompt, width, f"{number}. ")
    yield from wrapped(f"({question.answer.form})", width, "   ")


def answer_lines(number: int, question: Question, width: int = WIDTH) -> Iterator[str]:
    """The answer and its why."""
    yield from wrapped(question.answer.shown(), width, f"{number}. ")
    yield from wrapped(question.why, width, "   ")


def problem_sheet(problem: Problem) -> str:
    """To be printed and filled in."""
    lines = [f"# {problem.title}", "", f"Problem {problem.seed}", "", "Name: " + "_" * 30, ""]
    lines += story_lines(problem.story)
    for number, question in enumerate(problem.questions, start=1):
        lines += ["", *question_lines(number, question), "", "   Answer: " + "_" * 40]
    return "\n".join(lines) + "\n"


def answer_key(problem: Problem) -> str:
    """Every question with its answer, the why, and the working step by step."""
    lines = [f"# {problem.title}: answers", "", f"Problem {problem.seed}", ""]
    lines += ["Typed at a computer, with grading and hints:", "", f"    {problem.repeat}"]
    for number, question in enumerate(problem.questions, start=1):
        lines += ["", *wrapped(question.prompt, WIDTH, f"{number}. "), ""]
        lines += wrapped(question.answer.shown(), WIDTH, "   **Answer:** ", "   ")
        lines += ["", *wrapped(question.why, WIDTH, "   ", "   "), ""]
        for step in question.steps:
            lines += wrapped(step, WIDTH, "   - ")
    return "\n".join(lines) + "\n"


def write_batch(
    make: Callable[[int], Problem], seeds: range, folder: Path, *, force: bool
) -> list[Path]:
    """Write a sheet and a key for each seed; returns the sheets' paths.

    Raises InputError if the folder has files in it (unless ``force``: those of the same name are then overwritten),
    or cannot be written to.
    """
    if not 1 <= len(seeds) <= MOST_SHEETS:
        raise InputError(f"{len(seeds)} sheets were asked for; give 1 to {MOST_SHEETS:,}")
    try:
        if not force and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f"{folder} is not an empty folder; name another one, or write into it with --force"
            )
        problems = [make(seed) for seed in seeds]
        for name in (PROBLEMS, ANSWERS):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return [_write(problem, folder, seeds) for problem in problems]
    except OSError as error:
        raise InputError(
            f"{error.filename or folder} cannot be written: {error.strerror}; name another folder"
        ) from None


def _write(problem: Problem, folder: Path, seeds: range) -> Path:
    name = f"{problem.topic}-{problem.seed:0{len(str(seeds[-1]))}}.md"
    path = folder / PROBLEMS / name
    path.write_text(problem_sheet(problem), "utf-8")
    (folder / ANSWERS / name).write_text(answer_key(problem), "utf-8")
    return path
