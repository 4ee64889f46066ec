"""Examines a learner's block manager: drawn rows of operations, then whole runs, and every law after each. Last come
rows in which some operations make no sense: such a fault is not to hide others.

Meant for a process that can be lost: the class is loaded and run here. Knows nothing about pipes or limits.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pagesim.core import events as ev
from pagesim.core.errors import InputError, LawBrokenError
from pagesim.core.laws import check_same_log
from pagesim.core.memory import KVCacheManager
from pagesim.core.recorded import Recorded
from pagesim.core.types import BlockId, SeqId
from pagesim.practice.drawing import Drawn, not_again
from pagesim.practice.driver import LONGEST, Driver
from pagesim.practice.exercise import Fault
from pagesim.practice.film import Film
from pagesim.practice.first_failing import first_failing
from pagesim.practice.full_manager import FullManager
from pagesim.practice.learner import Learner, Subject
from pagesim.practice.loading import OURS, load_module
from pagesim.practice.manager_contracts import FULL, Met, check_constructor, contract_of
from pagesim.practice.manager_report import ManagerReport, Tried
from pagesim.practice.operations import Extend, Free, Operation
from pagesim.practice.outcome import Outcome
from pagesim.practice.rows import WEIGHTS, operations, paged_sizes
from pagesim.practice.simple_manager import SimpleManager
from pagesim.practice.smaller import Example, simpler_rows, simpler_workloads, smaller
from pagesim.practice.whole_runs import CheckedRun, Moment, Workload, workloads
from pagesim.sim.plugin import lacks_it

VARIABLE = "m"
CALL_S = 1.0
RUNS_FOR_ROWS = 4  # one whole run for so many rows
SENSELESS_FOR_ROWS = 4  # in one of so many rows some operations make no sense
NONSENSE = 3  # as likely there as to begin a sequence
SIMPLE_KINDS = ("rest", "start", "compute", "free", "extend", "write", "all", "nonsense")
RUNS_FOR_TWINS = 5  # one of so many runs is done twice, and must be the same
SLOW_CALL_S = 0.05  # while an example with an endless call is made smaller
MOST_TRIES = 600
DEFAULTS = re.compile(
    r", (?:(?:taken|shared|evicted|dropped|copies)=(?:\(\)|\[\])"
    r"|final=None|keep_free=0|cached_tokens=0|wanted=None)"
)
SAMPLE = (8, 4)  # blocks and their size of the manager that is looked at first


class Job(NamedTuple):
    """``examples`` rows are played, and a quarter as many runs."""

    file: str
    class_name: str
    seed: int
    examples: int


def grade(job: Job, tell: Callable[[str], None]) -> ManagerReport:
    """The report. ``tell`` is told what is examined before it is."""
    path = Path(job.file)
    report = ManagerReport(job.class_name)
    sys.path.append(str(path.parent))
    try:
        tell("file")
        module = load_module(path, f"pagesim_loaded_{path.stem}", CALL_S * 5, OURS)
        found: object = getattr(module, job.class_name, None)
        if not callable(found):
            raise InputError(lacks_it(path.name, module, job.class_name, "class"))
        check_constructor(found, job.class_name)
        tell("operations")
        return _Grader(Learner(module, job.file, call_seconds=CALL_S), job).run(tell)
    except InputError as error:
        return replace(report, refusal=str(error))
    except Fault as fault:  # it could not be loaded
        return replace(report, refusal=fault.sentence)


class _Grader:
    """One examination. Counts what it tries."""

    def __init__(self, learner: Learner, job: Job) -> None:
        self._learner = learner
        self._job = job
        self._met = Met("", forks=False)  # not known yet
        self._tried = Tried()
        self._memory: SimpleManager | FullManager | None = None  # the one that is played

    def run(self, tell: Callable[[str], None]) -> ManagerReport:
        report = ManagerReport(self._job.class_name)
        try:
            memory = self._first_look()
            lacks = {
                "fork": memory.can_share,
                "prefix cache": memory.can_cache,
                "swap": memory.can_swap,
            }
            missing = tuple([name for name, there in lacks.items() if not there])
            report = replace(report, contract=self._met.contract, lacks=missing)
            kinds = self._kinds(memory)
            rows = st.tuples(paged_sizes, operations(kinds))
            examples = self._job.examples
            senseless = examples // SENSELESS_FOR_ROWS
            self._for_all(rows, self._play_sensible, simpler_rows, examples - senseless)
            tell("whole runs")
            drawn = workloads(
                can_share=memory.can_share, can_cache=memory.can_cache, can_swap=memory.can_swap
            )
            self._for_all(drawn, self._play_run, simpler_workloads, -(-examples // RUNS_FOR_ROWS))
            tell("operations that make no sense")
            rows = st.tuples(paged_sizes, operations(kinds, nonsense=NONSENSE))
            self._for_all(rows, self._play_any, simpler_rows, senseless)
        except Fault as fault:
            fault = self._learner.complete(fault)
            outcome = Outcome(
                passed=False,
                law=fault.law,
                sentence=fault.sentence,
                operations=tuple(map(_without_defaults, fault.operations)),
                film=fault.film,
            )
            return replace(report, contract=self._met.contract, tried=self._tried, outcome=outcome)
        return replace(report, tried=self._tried, outcome=Outcome(passed=True))

    def _first_look(self) -> KVCacheManager:
        """Which contract is it? Raises InputError for neither, and Fault where it cannot even be made."""
        self._learner.begin()
        with self._laws():
            subject = self._learner.make(VARIABLE, self._job.class_name, *SAMPLE)
            self._met = contract_of(subject.made, self._job.class_name)
            return self._adapted(subject, *SAMPLE)

    def _kinds(self, memory: KVCacheManager) -> tuple[str, ...]:
        if self._met.contract == FULL:
            return tuple(WEIGHTS)
        return (*SIMPLE_KINDS, "fork") if memory.can_share else SIMPLE_KINDS

    def _for_all(
        self,
        drawn: SearchStrategy[Drawn],
        play: Callable[[Drawn], None],
        simpler: Callable[[Drawn], Iterator[Drawn]],
        examples: int,
    ) -> None:
        """Play so many. Raises the fault of the first that fails, made smaller."""
        failed = first_failing(drawn, self._fault_of(play), examples, self._job.seed)
        if failed is None:
            return
        example, seen = failed
        tried, learner = self._tried, self._learner
        self._tried = Tried()  # what is tried to make it smaller does not count
        if seen.endless:
            learner.call_seconds = SLOW_CALL_S
        fault_of, kind = self._fault_of(play), _kind(seen)

        def fails(candidate: Drawn) -> bool:
            fault = fault_of(candidate)
            return fault is not None and _kind(fault) == kind

        small = smaller(example, simpler, fails, MOST_TRIES)
        learner.call_seconds = CALL_S
        found = fault_of(small) or fault_of(example)
        self._tried = tried
        raise self._blamed(found, small) if found else not_again(seen)

    def _blamed(self, fault: Fault, example: Drawn) -> Fault:
        """The same fault; or, if it is not one without a call that was to be refused, that call's."""
        doubtful = getattr(self._memory, "doubtful", [])
        if not doubtful or not isinstance(example, tuple):
            return fault
        tried = self._tried
        innocent = self._fault_of(self._play_sensible)(example) is not None
        self._tried = tried
        if innocent:
            return fault
        sentence = f"{doubtful[-1]}, and it changed something: {fault.sentence}"
        blamed = Fault(sentence, law="none-changes-nothing")
        blamed.operations, blamed.film = fault.operations, fault.film
        return blamed

    def _fault_of(self, play: Callable[[Drawn], None]) -> Callable[[Drawn], Fault | None]:
        def fault_of(example: Drawn) -> Fault | None:
            self._learner.begin()
            try:
                with self._laws():
                    play(example)
            except Fault as fault:
                return self._learner.complete(fault)
            return None

        return fault_of

    def _made(self, num_blocks: int, block_size: int) -> KVCacheManager:
        subject = self._learner.make(VARIABLE, self._job.class_name, num_blocks, block_size)
        return self._adapted(subject, num_blocks, block_size)

    def _adapted(
        self, subject: Subject, num_blocks: int, block_size: int
    ) -> SimpleManager | FullManager:
        self._memory = None
        if self._met.contract == FULL:
            self._memory = FullManager(subject)
        else:
            forks = self._met.forks
            self._memory = SimpleManager(
                subject, num_blocks, block_size, forks=forks, thorough=True
            )
        return self._memory

    @contextmanager
    def _laws(self) -> Iterator[None]:
        """A broken law becomes a fault, which is what is shrunk and told."""
        try:
            yield
        except LawBrokenError as error:
            law, _, sentence = str(error).partition(": ")
            raise Fault(sentence, law=law) from None

    def _longest(self, memory: KVCacheManager) -> int | None:
        reserves = self._met.contract == FULL and not memory.can_share
        return LONGEST if reserves else None

    def _count(self, rows: int = 0, operations: int = 0, runs: int = 0, steps: int = 0) -> None:
        now = self._tried
        self._tried = Tried(
            now.rows + rows, now.operations + operations, now.runs + runs, now.steps + steps
        )

    # -- rows of operations --------------------------------------------------------------------------------

    def _play_sensible(self, example: Example) -> None:
        """What makes no sense where it stands is left out."""
        self._play_row(example, sensible=True)

    def _play_any(self, example: Example) -> None:
        self._play_row(example, sensible=False)

    def _play_row(self, example: Example, *, sensible: bool) -> None:
        size, row = example
        self._count(rows=1)
        memory = self._made(*size)
        self._learner.film = film = _film(memory)
        told: list[ev.Event] = []
        driver = Driver(Recorded(memory, told.append), self._longest(memory))
        for operation in row:
            if not sensible or driver.error_for(operation) is None:
                self._perform(driver, operation, film, told)
        for seq in list(driver.held):
            self._perform(driver, Free(seq), film, told)
        driver.check_empty()

    def _perform(
        self, driver: Driver, operation: Operation, film: Film, told: list[ev.Event]
    ) -> None:
        if isinstance(operation, Extend) and driver.longest is not None:
            held = driver.held.get(operation.seq)
            if held is not None and held.written + operation.by > driver.longest:
                return  # no engine asks a memory that reserves for more than the longest
        lines, told[:] = len(self._learner.lines), []
        self._count(operations=1)
        went_wrong = True
        try:
            driver.perform(operation)
            went_wrong = False
        finally:
            called = self._learner.lines[lines:]
            line = "; ".join(map(_without_defaults, called)) or f"# {operation}"
            _shot(film, driver, line, told, self._tables(as_they_are=went_wrong))

    def _tables(self, *, as_they_are: bool) -> dict[SeqId, list[BlockId]]:
        """For a picture: by the book, and where something went wrong, as the learner's code says now."""
        memory, lines = self._memory, list(self._learner.lines)
        if memory is None:
            return {}
        tables = dict(memory.book.tables)
        if as_they_are:
            with suppress(LawBrokenError, Fault):
                tables = memory.tables_now()
            self._learner.lines[:] = lines
        return {seq: list(table) for seq, table in tables.items()}

    # -- whole runs ----------------------------------------------------------------------------------------

    def _play_run(self, workload: Workload) -> None:
        self._count(runs=1)
        run = self._whole_run(workload)
        if self._tried.runs % RUNS_FOR_TWINS == 1:
            self._learner.begin()
            check_same_log(run.events, self._whole_run(workload).events)

    def _whole_run(self, workload: Workload) -> CheckedRun:
        memory = self._made(workload.num_blocks, workload.block_size)
        self._learner.film = film = _film(memory)

        def watch(moment: Moment) -> None:
            film.shot(
                f"step {moment.step}",
                moment.tables,
                moment.written,
                forks=moment.forks,
                copies=moment.copies,
                waiting=moment.waiting,
                prompts=moment.prompts,
            )

        run = CheckedRun(workload, memory, watch)
        try:
            run.run()
        except (LawBrokenError, Fault):
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise LawBrokenError(f"contract: the scheduler could not go on ({what})") from None
        finally:
            self._count(steps=run.num_steps)
        return run


def _kind(fault: Fault) -> tuple[str, str]:
    """What a fault is about, whatever the numbers in it."""
    return fault.law, re.sub(r"[\d.\[\](), ]+", " ", fault.sentence)


def _without_defaults(line: str) -> str:
    """What is there by default is left out of rooms and grants."""
    return DEFAULTS.sub("", line)


def _film(memory: KVCacheManager) -> Film:
    return Film(memory.geometry.num_blocks_in_all, memory.geometry.block_size)


def _shot(
    film: Film,
    driver: Driver,
    line: str,
    told: Sequence[ev.Event],
    tables: dict[SeqId, list[BlockId]],
) -> None:
    """What the memory is now."""
    film.shot(
        line,
        tables,
        {seq: held.written for seq, held in driver.held.items()},
        forks={e.child: e.parent for e in told if isinstance(e, ev.SequenceForked)},
        copies=[(e.source, e.target, e.slots) for e in told if isinstance(e, ev.BlockCopied)],
        prompts={seq: len(held.content.prompt) for seq, held in driver.held.items()},
    )
