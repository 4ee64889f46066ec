"""Jobs done by several processes, one at a time each.

Processes are spawned, so ``work`` is a function of a module, and jobs and results can be pickled. Processes
never see Ctrl-C; however the caller leaves, they are ended. Knows nothing about what the work is.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exc
from typing import Generic, TypeVar, cast

from pagesim.core.errors import PagesimError

Job = TypeVar("Job")
Result = TypeVar("Result")
Tell = Callable[[int, int], None]
"""Called by work now and then: how many of how many of its parts are done."""
Work = Callable[[Job, Tell], Result]


class WorkFailedError(RuntimeError):
    """Work raised something in another process; a note says where."""


@dataclass(frozen=True, slots=True)
class _Finished(Generic[Result]):
    result: Result


@dataclass(frozen=True, slots=True)
class _Failed:
    what: str
    where: str


def num_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def do_all(
    work: Work[Job, Result],
    jobs: Sequence[Job],
    num_processes: int,
    *,
    told: Callable[[int, int, int], None],
    finished: Callable[[int, Result], None],
) -> None:
    """Do every job; ``finished`` hears of each as it is done, in any order, ``told`` of parts done.

    Both get the job's number first. With one process or one job all is done in this one. Raises
    WorkFailedError if work raised, PagesimError if a process is lost.
    """
    num_processes = min(num_processes, len(jobs))
    if num_processes <= 1:
        for number, job in enumerate(jobs):
            finished(number, work(job, partial(told, number)))
        return
    waiting = deque(enumerate(jobs))
    busy: dict[Connection, int] = {}

    def give(connection: Connection) -> None:
        if waiting:
            number, job = waiting.popleft()
            with suppress(OSError):  # it is lost, which reading from it will say
                connection.send(job)
            busy[connection] = number

    with _processes(work, num_processes) as processes:
        for connection in processes:
            give(connection)
        while busy:
            for ready in cast(list[Connection], wait(list(busy))):
                number = busy[ready]
                said: _Finished[Result] | tuple[int, int] = _heard(ready, processes[ready])
                if isinstance(said, _Finished):
                    del busy[ready]
                    give(ready)
                    finished(number, said.result)
                else:
                    told(number, *said)


def results_of(
    work: Work[Job, Result], jobs: Sequence[Job], tell: Callable[[str, int], None]
) -> list[Result]:
    """What became of every job, in their order, done on all cores; ``tell`` hears of each run that is done."""
    found: dict[int, Result] = {}

    def finished(number: int, result: Result) -> None:
        found[number] = result
        tell("runs", len(found))

    do_all(work, jobs, num_cores(), told=lambda *_: None, finished=finished)
    return [found[number] for number in range(len(jobs))]


def _heard(connection: Connection, process: BaseProcess) -> "_Finished[Result] | tuple[int, int]":
    try:
        said = cast("_Finished[Result] | _Failed | tuple[int, int]", connection.recv())
    except (EOFError, OSError):
        process.join(5)
        code = process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        raise PagesimError(
            f"a process that was at work ended by itself ({how}), perhaps for want of memory; "
            "give fewer --jobs"
        ) from None
    if isinstance(said, _Failed):
        failed = WorkFailedError(said.what)
        failed.add_note(f"In the process that did the work:\n{said.where}")
        raise failed
    return said


@contextmanager
def _processes(work: Work[Job, Result], count: int) -> Iterator[dict[Connection, BaseProcess]]:
    """Started processes by our end of the line to each; ended and gone when left."""
    context = get_context("spawn")
    processes: dict[Connection, BaseProcess] = {}
    try:
        with interrupts_are_ours():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process: BaseProcess = context.Process(
                    target=_serve, args=(theirs, work), daemon=True
                )
                processes[ours] = process
                process.start()
                theirs.close()
        yield processes
    finally:
        with interrupts_are_ours():
            started = [process for process in processes.values() if process.pid is not None]
            for process in started:
                process.kill()
            for process in started:
                process.join()
            for connection in processes:
                connection.close()


def _serve(connection: Connection, work: Work[Job, Result]) -> None:
    """The life of a process: jobs until there are no more, or whoever gave them has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(done: int, total: int) -> None:
        connection.send((done, total))

    with suppress(EOFError, OSError):
        while True:
            job = connection.recv()
            try:
                answer: _Finished[Result] | _Failed = _Finished(work(job, tell))
            except Exception as error:
                answer = _Failed(f"{type(error).__name__}: {error}", format_exc())
            connection.send(answer)


@contextmanager
def interrupts_are_ours() -> Iterator[None]:
    """Processes started within never see Ctrl-C, and this one sees it when it has left."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
