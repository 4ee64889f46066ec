"""The laws of an exercise for tests, with short limits."""

from pagesim.practice.drawing import for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, whole


def doubled(learner: Learner) -> None:
    def examine(number: int) -> None:
        found = whole(learner.call("twice", number), f"what twice gave for {number}")
        if found != 2 * number:
            raise Fault(f"twice {number} is {2 * number}, and twice gave {found}")

    for_each(learner, range(5), examine)


EXERCISE = Exercise(
    name="twice",
    title="Two times a number",
    lesson=1,
    names=("twice",),
    hints=("a", "b", "c"),
    checks=(Check("doubled", "what comes is two times what was given", doubled),),
    seconds=1.5,
    memory_mib=128,
    call_seconds=0.3,
)
