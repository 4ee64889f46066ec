"""Examples for checks: listed ones, and drawn ones that are shrunk to the smallest that fails.

The same examples in every process. Knows nothing about what is examined.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Generic, NamedTuple, TypeVar, cast

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from pagesim.practice.exercise import RETURNS, WRITTEN, Fault
from pagesim.practice.learner import Learner
from pagesim.practice.shrinking import simpler, simpler_twice, smallest

Drawn = TypeVar("Drawn")
Seen = TypeVar("Seen")
Answer = TypeVar("Answer")

SHRINK_S = 4.0
"""How long at most a failing example is made smaller; only slow code ever takes as long."""
MOST_IN_VAIN = 100
"""So many examples in a row that are no smaller failing ones end it, too."""
MOST_BEGUN, TRIES_EACH, TRIES_TWICE = 3, 100, 300
"""So many failing examples are made smaller, with so many tries each, and one of them with so many more."""
SLOW_CALL_S = 0.25
"""While an example with an endless call is made smaller, a call is given so long."""


class _Enough(KeyboardInterrupt):
    """Not an interrupt of anybody's: the one thing that Hypothesis lets through at once."""


def _play(
    strategy: SearchStrategy[Drawn],
    body: Callable[[Drawn], None],
    examples: int,
    *phases: Phase,
    with_seed: int | None = None,
) -> None:
    """Call ``body`` with so many drawn examples: the same ones, whatever ``body`` is, until it raises."""

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(strategy)
    def play(example: Drawn) -> None:
        body(example)

    (play if with_seed is None else seeded(with_seed)(play))()


def _size(fault: Fault) -> tuple[int, int]:
    """How much there is to read."""
    return len(fault.operations), sum(map(len, fault.operations))


class _Search:
    """What was found while one check's examples are played."""

    def __init__(self) -> None:
        self.first_at: float | None = None
        self.smallest: tuple[tuple[int, int], object, Fault] | None = None
        self.slow = False
        self._in_vain = 0

    def found(self, example: object, fault: Fault) -> None:
        if self.first_at is None:
            self.first_at = monotonic()
        self.slow |= fault.endless
        size = _size(fault)
        if self.smallest is None or size < self.smallest[0]:
            self.smallest = size, example, fault
            self._in_vain = 0

    def goes_on(self) -> bool:
        """Is one more example worth while? Asked before each."""
        if self.first_at is None:
            return True
        self._in_vain += 1
        return self._in_vain <= MOST_IN_VAIN and monotonic() - self.first_at <= SHRINK_S


def for_each(learner: Learner, cases: Iterable[Drawn], examine: Callable[[Drawn], None]) -> None:
    """Examine these cases in order. Raises the first Fault, with the calls that led there."""
    for case in cases:
        _examine(learner, case, examine)


def for_all(
    learner: Learner,
    strategy: SearchStrategy[Drawn],
    examine: Callable[[Drawn], None],
    *,
    examples: int = 60,
    seed: int | None = None,
) -> None:
    """Examine so many drawn examples. Raises the Fault of the smallest failing one, with the calls that led there.

    Another ``seed`` means other examples.
    """
    search, seconds = _Search(), learner.call_seconds

    def body(example: Drawn) -> None:
        if not search.goes_on():
            raise _Enough
        try:
            _examine(learner, example, examine)
        except Fault as fault:
            search.found(example, fault)
            if search.slow:
                learner.call_seconds = min(SLOW_CALL_S, seconds)
            raise

    try:
        phases = (Phase.generate, Phase.shrink)[: 1 + learner.shrinks]
        _play(strategy, body, examples, *phases, with_seed=seed)
    except Fault as fault:
        if not search.slow:
            raise
        shrunk = fault
    except (_Enough, Flaky):
        assert search.smallest is not None
        shrunk = search.smallest[2]
    else:
        return
    finally:
        learner.call_seconds = seconds
    raise _once_more(learner, search, examine, shrunk) from None


def _examine(learner: Learner, example: Drawn, examine: Callable[[Drawn], None]) -> None:
    learner.begin()
    try:
        examine(example)
    except Fault as fault:
        raise learner.complete(fault) from None


def _once_more(
    learner: Learner, search: _Search, examine: Callable[[Drawn], None], shrunk: Fault
) -> Fault:
    """The smallest example that was seen, played with all the time a call may have."""
    assert search.smallest is not None
    _, example, seen = search.smallest
    try:
        _examine(learner, cast(Drawn, example), examine)
    except Fault as fault:
        return fault
    return shrunk if search.slow else not_again(seen)


def not_again(seen: Fault) -> Fault:
    """A fault that does not come when the same calls are made once more."""
    return Fault(
        f"{seen.sentence}; played once more, the same calls went well: does something outlive the object, such as a "
        "list in the class or in a default argument?",
        seen.operations,
        seen.film,
        law=seen.law or RETURNS,
    )


# -- many laws over the same examples ----------------------------------------------------------------------

Look = Callable[[Seen], None]
"""Looks at one thing seen, and raises Fault where a law is broken."""


class _Verdict(NamedTuple):
    """What broke first in one example: the number of a law, or ``None`` for an error in the learner's code."""

    law: int | None
    fault: Fault


class Examples(Generic[Drawn, Seen]):
    """Examples that many laws look at together. Each is played once; only a failing one is played again, smaller and
    smaller: without some of the operations in its lists, and with smaller numbers (see ``shrinking``).

    ``play`` makes the calls of one example and yields what there is to see after each. The law that breaks first in an
    example is the one it is told for (at one moment: the one that was named first), as what comes later may only
    follow from that. An error in the learner's code ends an example, and is told after all laws.
    """

    def __init__(
        self,
        strategy: SearchStrategy[Drawn],
        play: Callable[[Learner, Drawn], Iterable[Seen]],
        *,
        examples: int = 60,
    ) -> None:
        self._strategy = strategy
        self._play = play
        self._num_examples = examples
        self._drawn: list[Drawn] = []
        self._laws: list[Callable[[], Look[Seen]]] = []

    def always(self, look: Look[Seen]) -> Callable[[Learner], None]:
        """A check: ``look`` finds nothing in anything seen."""
        return self.throughout(lambda: look)

    def throughout(self, begin: Callable[[], Look[Seen]]) -> Callable[[Learner], None]:
        """The same, where ``begin`` gives a new ``look`` for each example, one that remembers what it saw."""
        number = len(self._laws)
        self._laws.append(begin)
        return lambda learner: self._check(learner, number)

    def errors(self, learner: Learner) -> None:
        """Raises the fault that an error in the learner's code was, if it ended an example."""
        self._check(learner, None)

    def _check(self, learner: Learner, law: int | None) -> None:
        failing = [
            (example, verdict)
            for example, verdict in zip(self._drawn, self._verdicts(learner), strict=False)
            if verdict is not None and verdict.law == law
        ]
        if failing:
            failing.sort(key=lambda pair: _size(pair[1].fault))
            first = failing[0][1].fault
            if first.law != WRITTEN and learner.shrinks:
                raise self._shrunk(learner, failing[: 1 if first.endless else MOST_BEGUN], law)
            raise first

    def _shrunk(
        self, learner: Learner, failing: Sequence[tuple[Drawn, _Verdict]], law: int | None
    ) -> Fault:
        """The fault of the smallest example found that breaks the same law first. Each of these is made smaller as far
        as it goes quickly, and the one that is then the smallest further."""

        def fails(other: Drawn) -> Fault | None:
            learner.begin()
            verdict = self._judge(learner, other)
            return None if verdict is None or verdict.law != law else verdict.fault

        seconds, until = learner.call_seconds, monotonic() + SHRINK_S
        if failing[0][1].fault.endless:
            learner.call_seconds = min(SLOW_CALL_S, seconds)
        try:
            begun = [smallest(e, v.fault, fails, until, simpler, TRIES_EACH) for e, v in failing]
            best = min(begun, key=lambda pair: _size(pair[1]))
            example, fault = smallest(*best, fails, until, simpler_twice, TRIES_TWICE)
        finally:
            learner.call_seconds = seconds
        again = fails(example)
        if again is not None:
            return again
        return failing[0][1].fault if fault.endless else not_again(fault)

    def _verdicts(self, learner: Learner) -> list[_Verdict | None]:
        """Of all examples, played on this learner's code; after an endless call, no more."""
        if self not in learner.kept:
            if not self._drawn:
                _play(self._strategy, self._drawn.append, self._num_examples, Phase.generate)
            verdicts: list[_Verdict | None] = []
            learner.kept[self] = verdicts
            for example in self._drawn:
                learner.begin()
                verdict = self._judge(learner, example)
                verdicts.append(verdict)
                if verdict is not None and verdict.fault.endless:
                    break
        return cast("list[_Verdict | None]", learner.kept[self])

    def _judge(self, learner: Learner, example: Drawn) -> _Verdict | None:
        """What broke first, ``None`` if nothing did."""
        looks = [begin() for begin in self._laws]
        try:
            for seen in self._play(learner, example):
                for number, look in enumerate(looks):
                    try:
                        look(seen)
                    except Fault as fault:
                        return _Verdict(number, learner.complete(fault))
        except Fault as fault:
            return _Verdict(None, learner.complete(fault))
        return None


# -- usual mistakes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mistake(Generic[Drawn, Answer]):
    """What people compute instead, and the words that say so, after "... gave 3": ", the block's number"."""

    formula: Callable[[Drawn], Answer]
    words: str


def recognise(
    learner: Learner,
    cases: Sequence[Drawn],
    ask: Callable[[Drawn], Answer],
    right: Callable[[Drawn], Answer],
    mistakes: Sequence[Mistake[Drawn, Answer]],
    told: Callable[[Drawn, Answer, str], Fault],
) -> None:
    """If the learner's answers to all cases are those of a usual mistake, raise what ``told`` makes of the first case
    that it gets wrong. Answers that are right, or wrong in another way, are left to other checks."""
    answers: list[Answer] = []
    for case in cases:
        learner.begin()
        try:
            answers.append(ask(case))
        except Fault as fault:
            if fault.endless:
                raise learner.complete(fault) from None
            return
    for mistake in mistakes:
        wrong = [mistake.formula(case) for case in cases]
        if answers == wrong:
            for case in cases:
                if mistake.formula(case) != right(case):

                    def examine(case: Drawn, words: str = mistake.words) -> None:
                        raise told(case, ask(case), words)

                    _examine(learner, case, examine)
