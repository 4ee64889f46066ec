"""The one thread that the engine belongs to: takes jobs in between steps, and hands out what each step brought.

Knows nothing about HTTP or asyncio: whoever submits a job brings a function that takes its messages.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

import torch

from pagesim.core.sequence import FinishReason
from pagesim.engine.http.answer_text import AnswerText
from pagesim.engine.http.job import Asked, Job, Message, Piece, Taken, Trouble
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.session import Output, Session
from pagesim.engine.tokenizer import Tokenizer

MOST_FAILURES = 3
"""So many failed steps, one after the other, and the engine is given up."""
CLOSING = "the server is shutting down"


class _Submit(NamedTuple):
    job: Job


class _Withdraw(NamedTuple):
    job: Job


class _Close(NamedTuple):
    pass


_Inbox = _Submit | _Withdraw | _Close


@dataclass(slots=True, eq=False)
class _Serving:
    """A request in the engine: the texts of its samples that have not ended, by sample."""

    job: Job
    asked: Asked
    texts: dict[int, AnswerText]


class EngineWorker:
    """``start`` it once; ``submit`` and ``withdraw`` from any thread; ``close`` ends every request and the thread.

    The only one who touches ``session`` while it runs. ``metrics`` must be the session's listener.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        metrics: EngineMetrics,
        *,
        tell: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        """``tell`` is given a sentence when a step fails; ``on_end`` is called when the thread ends, however."""
        self.why_broken: str | None = None
        self._session = session
        self._tokenizer = tokenizer
        self._metrics = metrics
        self._tell = tell
        self._on_end = on_end
        self._inbox: SimpleQueue[_Inbox] = SimpleQueue()
        self._serving: dict[str, _Serving] = {}
        self._num_failures = 0
        self._num_threads = torch.get_num_threads()
        self._ended = Event()
        self._thread = Thread(target=self._run, name="pagesim-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._inbox.put(_Submit(job))
        if not self.is_running:
            self._refuse_queued()

    def withdraw(self, job: Job) -> None:
        """Nobody waits for it any more: what is left of it is aborted."""
        self._inbox.put(_Withdraw(job))

    def close(self) -> None:
        """Take nothing new, tell everybody, end all requests. Returns at once; ``join`` waits."""
        self._inbox.put(_Close())

    def join(self, seconds: float) -> bool:
        """Has it ended by then?"""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def is_running(self) -> bool:
        return not self._ended.is_set()

    # -- in the engine's thread --------------------------------------------------------------------------

    def _run(self) -> None:
        torch.set_num_threads(self._num_threads)  # a new thread's oneDNN would use all cores
        try:
            while self._take_messages() and self.why_broken is None:
                self._step()
        except Exception as error:
            self._broken(f"the engine's thread failed ({described(error)})")
        finally:
            with suppress(Exception):  # a broken engine may not even be able to free what it holds
                self._drop_all(Trouble(503, self.why_broken or CLOSING))
                self._see_memory()
            self._ended.set()
            self._refuse_queued()
            self._on_end()

    def _take_messages(self) -> bool:
        """All there are; waits for one while the engine has nothing to do. ``False``: close."""
        try:
            while True:
                if not self._session.has_work:
                    self._see_memory()
                message = self._inbox.get(block=not self._session.has_work)
                if isinstance(message, _Close):
                    return False
                if isinstance(message, _Submit):
                    self._take(message.job)
                else:
                    self._drop(message.job)
        except Empty:
            return True

    def _take(self, job: Job) -> None:
        for asked in job.asked:
            refusal = self._session.submit(asked.request, asked.params)
            if refusal is not None:
                self._drop(job)
                job.deliver([Trouble(400, refusal.reason)])
                return
            texts = {
                sample: AnswerText(self._tokenizer, asked.params.stops)
                for sample in range(asked.request.num_samples)
            }
            self._serving[asked.request.id] = _Serving(job, asked, texts)
        job.deliver([Taken()])

    def _step(self) -> None:
        num_failed = self._metrics.num_failed_steps
        try:
            outputs = self._session.step()
        except Exception as error:
            self._failed(error, undone=self._metrics.num_failed_steps > num_failed)
            return
        self._num_failures = 0
        self._see_memory()
        self._tell_refused()
        self._hand_out(outputs)

    def _hand_out(self, outputs: list[Output]) -> None:
        """One message list a job, so that an event loop is woken once for it."""
        brought: dict[int, tuple[Job, list[Message]]] = {}
        for output in outputs:
            serving = self._serving.get(output.request)
            if serving is not None and output.sample in serving.texts:
                piece = self._piece(serving, output)
                brought.setdefault(id(serving.job), (serving.job, []))[1].append(piece)
        for job, messages in brought.values():
            job.deliver(messages)

    def _piece(self, serving: _Serving, output: Output) -> Piece:
        """Ends the request in the engine if a stop string is found: such a request has one sample."""
        finish = output.finish
        said = serving.texts[output.sample].add(output.tokens, last=finish is not None)
        if said.stopped and finish is None:
            assert len(serving.texts) == 1, "samples with stop strings are requests of their own"
            with self._metrics.abort_is_stop():
                self._session.abort(output.request)
            self._see_memory()
        if said.stopped or finish is not None:
            del serving.texts[output.sample]
            if not serving.texts:
                del self._serving[output.request]
        if said.stopped:
            finish = FinishReason.STOP
        return Piece(
            serving.asked.first_choice + output.sample,
            said.text,
            output.tokens[: said.num_tokens],
            output.logprobs[: said.num_tokens],
            None if finish is None else finish.value,
        )

    def _tell_refused(self) -> None:
        """Requests that turned out to need more than an empty memory."""
        refusals = self._session.loop.refusals
        for refusal in refusals:
            serving = self._serving.get(refusal.request)
            if serving is not None:
                self._drop(serving.job)
                serving.job.deliver([Trouble(400, refusal.reason)])
        refusals.clear()

    # -- trouble -----------------------------------------------------------------------------------------

    def _failed(self, error: Exception, *, undone: bool) -> None:
        """Everybody is told, and the next ones may have better luck; unless nothing says that they could."""
        self._num_failures += 1
        what = f"a step of the engine failed ({described(error)})"
        if undone and self._num_failures < MOST_FAILURES:
            self._drop_all(Trouble(500, f"{what}; send the request again"))
            self._see_memory()
            self._tell(f"{what}; all requests in it were ended, and the server goes on")
        elif undone:
            self._broken(f"{what}, {self._num_failures} times in a row")
        else:
            self._broken(f"{what} and could not be undone")

    def _broken(self, why: str) -> None:
        self.why_broken = f"{why}; the server shuts down"
        self._tell(self.why_broken)

    def _drop(self, job: Job) -> None:
        """End what is left of a job, without a word."""
        for asked in job.asked:
            serving = self._serving.get(asked.request.id)
            if serving is not None and serving.job is job:
                del self._serving[asked.request.id]
                self._session.abort(asked.request.id)

    def _drop_all(self, trouble: Trouble) -> None:
        jobs = {id(serving.job): serving.job for serving in self._serving.values()}
        for job in jobs.values():
            job.deliver([trouble])
        for job in jobs.values():
            self._drop(job)

    def _refuse_queued(self) -> None:
        """Who came too late. In the submitter's thread if it is later still."""
        try:
            while True:
                message = self._inbox.get_nowait()
                if isinstance(message, _Submit):
                    message.job.deliver([Trouble(503, self.why_broken or CLOSING)])
        except Empty:
            return

    def _see_memory(self) -> None:
        memory = self._session.memory
        self._metrics.see_memory(memory.usage(), caching=memory.can_cache)


def described(error: Exception) -> str:
    """An exception in a few words, for a sentence."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__
