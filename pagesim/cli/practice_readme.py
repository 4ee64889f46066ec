"""The README of a learner's folder. Knows nothing about the folder."""

from collections.abc import Sequence

from pagesim.practice.task import HOW_TO_INSTALL, Task

TEXT = """\
# Exercises: the memory of an LLM server, written by you

Each file here is one exercise. It says what is to be written, with a picture; write it in place of every
`raise NotImplementedError`, then check it. Any editor will do.

    pagesim practice next            what to do now, and in which file
    pagesim practice check           does it keep the laws? if not, the shortest calls that show it
    pagesim practice watch           checks whenever you save, until you press q
    pagesim practice hint            a hint, a stronger one each time
    pagesim practice list            how far you are
    pagesim practice reset NAME      begin one anew; what you wrote is kept in backups/
    pagesim practice solution NAME   our solution, once you have passed

A check that fails writes a log into logs/, and `pagesim view` opens it at the step that went wrong. Your code runs
in a process of its own, with limits of time and memory. What you have done is kept in .pagesim-practice.json.

They are best done in this order; the lessons (`pagesim learn NUMBER`) teach what they need. When pagesim has new ones,
`pagesim practice init .` adds them, and leaves all other files alone.

"""


def readme(tasks: Sequence[Task]) -> str:
    rows = [("", "file", "exercise", "lesson"), ("---", "---", "---", "---")]
    for task in tasks:
        needs = f" (needs {', '.join(task.exercise.needs)})" if task.exercise.needs else ""
        rows.append(
            (
                str(task.number),
                f"`{task.file_name}`",
                task.exercise.title + needs,
                str(task.exercise.lesson),
            )
        )
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
    needed = sorted({need for task in tasks for need in task.exercise.needs})
    if needed:
        table += f"\nWhat {' and '.join(needed)} are needed for: `{HOW_TO_INSTALL}` brings them.\n"
    return TEXT + table
