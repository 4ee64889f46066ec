"""A learner's file, checked in a process of its own, with limits; whatever it does, an Outcome comes back.

The file is never loaded here. Knows nothing about what is checked.
"""

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import IO, cast

from pagesim.practice.exercise import FILE, RETURNS, Exercise
from pagesim.practice.outcome import Outcome, from_plain

START_S = 60.0
"""How long a process may take until it is ready; torch alone takes seconds."""
MOST_OUTPUT = 20_000
MOST_LINE = 20_000_000
CHILD = "pagesim.practice.child"
NOT_HANDED_DOWN = ("PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONSAFEPATH")
SETTINGS = {
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "TRITON_INTERPRET": "1",
}


class Running:
    """The processes at work just now, for whoever may want to end them all, from another thread."""

    def __init__(self) -> None:
        self.ended = False
        self._lock = threading.Lock()
        self._children: list[Child] = []

    def end(self) -> None:
        """End them, and all that are still to come."""
        with self._lock:
            self.ended = True
            for child in self._children:
                child.kill()

    @contextmanager
    def one_more(self, child: "Child") -> Iterator[None]:
        with self._lock:
            self._children.append(child)
            if self.ended:
                child.kill()
        try:
            yield
        finally:
            with self._lock:
                self._children.remove(child)


def check_file(
    exercise: Exercise, checks: str, file: Path, running: Running | None = None
) -> Outcome:
    """What came of one file. ``checks`` is the module that has the exercise as ``EXERCISE``."""
    return check_files(exercise, checks, [file], running)[0]


def check_files(
    exercise: Exercise, checks: str, files: Sequence[Path], running: Running | None = None
) -> list[Outcome]:
    """The same for several, one after another in one process, as long as it lives; only for files that one trusts
    not to meddle with each other."""
    outcomes: list[Outcome] = []
    running = Running() if running is None else running
    while len(outcomes) < len(files):
        left = [str(file.resolve()) for file in files[len(outcomes) :]]
        with (
            TemporaryDirectory(prefix="pagesim-", ignore_cleanup_errors=True) as folder,
            started(CHILD, {"checks": checks, "files": left}, folder) as child,
            running.one_more(child),
        ):
            outcomes += child.outcomes(exercise, len(left))
        if child.lost_in_call and not running.ended:
            file = left[len(outcomes) - len(files) - 1]
            outcomes[-1] = _with_calls(outcomes[-1], exercise, checks, file, running)
    return outcomes


def _with_calls(
    lost: Outcome, exercise: Exercise, checks: str, file: str, running: Running
) -> Outcome:
    """What is told of a process that was lost, with the calls that led there, if it is lost once more: each is now
    told before it is made."""
    job = {"checks": checks, "files": [file], "calls": True}
    with (
        TemporaryDirectory(prefix="pagesim-", ignore_cleanup_errors=True) as folder,
        started(CHILD, job, folder) as child,
        running.one_more(child),
    ):
        again = list(child.outcomes(exercise, 1))
    if not child.lost_in_call or not child.calls or again[0].sentence != lost.sentence:
        return lost
    sentence = f"{lost.sentence}, in the last of these calls"
    return replace(lost, sentence=sentence, operations=tuple(child.calls))


class Child:
    """The process, and what it has said so far. ``lost_in_call``: it ended by itself in the midst of a check."""

    def __init__(self, process: "subprocess.Popen[bytes]", secret: str) -> None:
        self._process = process
        self._secret = secret
        self.calls: list[str] = []
        self.lost_in_call = False
        self._said: queue.Queue[dict[str, object] | None] = queue.Queue()
        self._output = bytearray()
        assert process.stdout is not None
        assert process.stderr is not None
        self._streams = (process.stdout, process.stderr)
        self._readers = [
            threading.Thread(target=self._listen, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._keep, args=(process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def outcomes(self, exercise: Exercise, count: int) -> Iterator[Outcome]:
        """One for each file, until the process is lost: the file it was lost with gets the last one."""
        law, ready, started = FILE, False, monotonic()
        deadline = started + START_S
        while count:
            said, in_time = self.next_said(deadline)
            if said is None:
                why = self.why_lost() if in_time else _too_slow(exercise, law, ready=ready)
                if not in_time and not ready:  # not the learner's fault
                    yield Outcome(passed=False, skipped=True, sentence=why)
                    return
                self.lost_in_call = in_time and law != FILE
                lost = Outcome(passed=False, law=RETURNS, sentence=_during(why, law))
                yield replace(lost, output=self.output(), seconds=monotonic() - started)
                return
            if "law" in said:
                law = str(said["law"])
            elif "calls" in said:
                self.calls = [str(call) for call in cast("list[object]", said["calls"])]
            elif "ready" in said:
                ready, started = True, monotonic()
                deadline = started + exercise.seconds
            else:
                count -= 1
                self.settle(0 if count else 0.5)
                yield replace(_outcome(said), output=self.output(), seconds=monotonic() - started)
                self._output.clear()
                law, started = FILE, monotonic()
                deadline = started + exercise.seconds

    def output(self) -> str:
        """What it printed; of very much, the end, as what fails is played last."""
        text = bytes(self._output).decode("utf-8", "replace")
        return text if len(text) <= MOST_OUTPUT else f"...\n{text[-MOST_OUTPUT:]}"

    def kill(self) -> None:
        """End it, with all that it started, at once; it is waited for elsewhere."""
        _kill(self._process)

    def settle(self, seconds: float) -> None:
        """Wait until it has ended and all it printed has come."""
        if seconds:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            self._readers[1].join(seconds)

    def next_said(self, deadline: float) -> tuple[dict[str, object] | None, bool]:
        """What it says next, ``None`` if it is lost; and whether that was in time."""
        try:
            return self._said.get(timeout=max(deadline - monotonic(), 0)), True
        except queue.Empty:
            return None, False

    def why_lost(self) -> str:
        """What became of it, in a clause."""
        self.settle(1)
        code = self._process.poll()
        if code is None:
            return "your code closed the way by which its results are told"
        if code >= 0:
            return "your code ended the program"
        name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
        if name in ("SIGSEGV", "SIGBUS", "SIGABRT"):
            return f"Python itself crashed ({name}), as it does when calls nest too deep"
        if name == "SIGXCPU":
            return "your code used up its processor time"
        return f"the program was ended ({name}), perhaps for want of memory"

    def close(self) -> None:
        """Close the pipes, but for those that some grandchild still holds open: reading them would wait for it."""
        for reader, stream in zip(self._readers, self._streams, strict=True):
            reader.join(0.2)
            if not reader.is_alive():
                stream.close()

    def _listen(self, stream: IO[bytes]) -> None:
        rest = b""
        with suppress(OSError, ValueError):
            while (data := os.read(stream.fileno(), 65_536)) and len(rest) < MOST_LINE:
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hear(line)
        self._said.put(None)

    def _hear(self, line: bytes) -> None:
        with suppress(ValueError, RecursionError):
            said = json.loads(line)
            if isinstance(said, dict) and said.pop("secret", None) == self._secret:
                self._said.put(said)

    def _keep(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(stream.fileno(), 65_536):
                self._output += data
                if len(self._output) > 8 * MOST_OUTPUT:
                    del self._output[: -4 * MOST_OUTPUT]


def _outcome(said: dict[str, object]) -> Outcome:
    try:
        return from_plain(said["outcome"])  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        sentence = "what the process said about your code cannot be read"
        return Outcome(passed=False, law=RETURNS, sentence=sentence)


def _too_slow(exercise: Exercise, law: str, *, ready: bool) -> str:
    if not ready:
        return f"Python did not start within {START_S:g} s"
    most = f"{exercise.seconds:g} s"
    if law == FILE:
        return f"your code did not come to an end within {most}"
    return f"the checks did not come to an end within {most}: something in your code takes too long"


def _during(why: str, law: str) -> str:
    return f"{why}, while the file was loaded" if law == FILE else f"{why}, while {law} was checked"


@contextmanager
def started(program: str, job: Mapping[str, object], folder: str) -> Iterator[Child]:
    """A child that runs the module ``program`` and has its job; gone, with all that it started, when left."""
    secret = secrets.token_hex(16)
    environ = {k: v for k, v in os.environ.items() if k not in NOT_HANDED_DOWN} | SETTINGS
    environ |= {
        "HYPOTHESIS_STORAGE_DIRECTORY": folder,
        "TRITON_CACHE_DIR": folder,
        "TMPDIR": folder,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environ,
        start_new_session=True,
    )
    child = Child(process, secret)
    try:
        assert process.stdin is not None
        with suppress(OSError):  # it is lost, which reading from it will say
            process.stdin.write(json.dumps({"secret": secret, **job}).encode() + b"\n")
            process.stdin.flush()
        yield child
    finally:
        _end(process)
        child.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        process.kill()


def _end(process: "subprocess.Popen[bytes]") -> None:
    _kill(process)
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
