"""A problem as plain data, for JSON. Knows nothing about how problems are made."""

from pagesim_lessons.quizzes.problem import Drawn, Problem, Question


def plain_problem(problem: Problem, *, answers: bool) -> dict[str, object]:
    """Answers, their whys and the working are there only if asked for."""
    return {
        "topic": problem.topic,
        "title": problem.title,
        "seed": problem.seed,
        "command": problem.repeat,
        "story": [
            {"drawn": list(part.lines)} if isinstance(part, Drawn) else part
            for part in problem.story
        ],
        "given": dict(problem.given),
        "questions": [
            _plain_question(number, question, answers=answers)
            for number, question in enumerate(problem.questions, start=1)
        ],
    }


def _plain_question(number: int, question: Question, *, answers: bool) -> dict[str, object]:
    plain: dict[str, object] = {
        "number": number,
        "prompt": question.prompt,
        "asks": list(question.asks),
        "form": question.answer.form,
        "hints": list(question.hints),
    }
    if answers:
        plain["answer"] = question.answer.shown()
        plain["why"] = question.why
        plain["steps"] = list(question.steps)
    return plain
