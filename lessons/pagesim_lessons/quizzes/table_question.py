"""The question that several topics end with: what a request's block table lists at the end."""

from pagesim.practice.answers import Wholes
from pagesim_lessons.quizzes.problem import Question
from pagesim_lessons.quizzes.script import Player
from pagesim_lessons.quizzes.wording import ids


def table_question(player: Player, name: str, hints: tuple[str, str], more: str = "") -> Question:
    """``hints`` are the first two; ``more`` goes on where the answer's sentence ends."""
    table = player.table(name)
    return Question(
        f"Which blocks does {name}'s block table list at the end?",
        ("table", name),
        Wholes(table),
        (*player.said, f"{name}'s table at the end: {ids(table)}."),
        (*hints, player.begins),
        f"{name} lists {ids(table)}{more}.",
    )
