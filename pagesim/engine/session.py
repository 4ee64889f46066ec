"""An engine that is up: a model, its memory, the scheduler and the loop, and what came of each step.

The same scheduler, block manager and recorder as in the simulator; only the executor is another. Knows nothing about
commands, text or the network: requests are token ids, and so are answers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pagesim.core import events as ev
from pagesim.core.loop import Arriving, assemble
from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.memory import KVCacheManager
from pagesim.core.request import Abort, Refusal, Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import FinishReason, SequenceState
from pagesim.engine.kv_cache import KVCache
from pagesim.engine.models import OpenedModel
from pagesim.engine.sampling_params import SamplingParams
from pagesim.engine.torch_executor import OutputLogprob, TorchExecutor


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The memory and its rules. ``num_slots`` tokens of K and V on the device, ``host_slots`` on the host.

    ``allocator`` is "paged", or a contiguous reservation: max, pow2 or oracle. ``backend`` computes paged attention:
    triton, numba, torch, or ``None`` for the best there is.
    """

    num_slots: int
    scheduler: SchedulerConfig
    allocator: str = "paged"
    block_size: int = 16
    host_slots: int = 0
    prefix_caching: bool = True
    backend: str | None = None

    @property
    def memory(self) -> MemorySettings:
        return MemorySettings(
            self.num_slots,
            self.block_size,
            self.scheduler.max_model_len,
            placer="first-fit",
            prefix_caching=self.prefix_caching,
            host_slots=self.host_slots,
        )

    def build_memory(self) -> KVCacheManager:
        """Raises InputError for a memory that holds nothing, or an unknown allocator."""
        return build_memory(self.allocator, self.memory)


@dataclass(frozen=True, slots=True)
class Output:
    """What a step gave one sample of a request. ``finish`` is set with its last token.

    Beams are told only when the search is over, as whole answers: ``tokens`` may be many.
    """

    request: str
    sample: int
    tokens: tuple[int, ...]
    logprobs: tuple[OutputLogprob, ...] = ()
    finish: FinishReason | None = None


@dataclass(slots=True)
class _Waiting:
    """The samples of a request, and how many tokens of each were told; ``None``: all, and that it has ended."""

    samples: tuple[SequenceState, ...]
    told: list[int | None]


class Session:
    """``submit`` and ``abort`` between steps; ``step`` does one. Not for several threads at once."""

    def __init__(
        self,
        opened: OpenedModel,
        settings: SessionSettings,
        emit: ev.Emit | None = None,
        arrivals: Iterable[tuple[int, Arriving]] = (),
        memory: KVCacheManager | None = None,
    ) -> None:
        """``arrivals``: what is known to come; then ``loop`` runs by itself, and ``submit`` is not for use.

        ``memory``: one that ``settings`` built already, still empty.
        """
        config = opened.config
        self.settings = settings
        self._emit = emit
        self.memory = settings.build_memory() if memory is None else memory
        geometry = self.memory.geometry
        model = opened.model
        self.cache = KVCache(
            geometry,
            config.num_layers,
            config.num_kv_heads,
            config.head_dim,
            model.dtype,
            model.device,
        )
        self._params: dict[str, SamplingParams] = {}
        self.executor = TorchExecutor(
            model, self.memory, self.cache, self._params, backend=settings.backend
        )
        self.loop = assemble(self.memory, settings.scheduler, self.executor, arrivals, emit)
        self.scheduler = self.loop.scheduler
        self._waiting: dict[str, _Waiting] = {}

    @property
    def has_work(self) -> bool:
        return self.scheduler.has_work

    def submit(self, request: Request, params: SamplingParams | None = None) -> Refusal | None:
        """Queue a request; or say in one sentence why it can never be served."""
        refused = len(self.loop.refusals)
        if not self.has_work:
            self._pass_time()
        if request.id not in self._waiting and params is not None:
            self._params[request.id] = params
        self.loop.take_in(self.executor.now_ns, request)
        if len(self.loop.refusals) > refused:
            if request.id not in self._waiting:
                self._params.pop(request.id, None)
            return self.loop.refusals.pop()
        samples = tuple(self.scheduler.samples_of(request.id))
        self._waiting[request.id] = _Waiting(samples, [0] * len(samples))
        return None

    def abort(self, request_id: str) -> bool:
        """End a request in whatever state, its blocks freed; ``False`` if it is not being served."""
        known = request_id in self._waiting
        if known:
            self.loop.take_in(self.executor.now_ns, Abort(request_id))
            self._forget(request_id)
        return known

    def _pass_time(self) -> None:
        before = self.executor.now_ns
        self.executor.catch_up()
        if self._emit is not None and self.executor.now_ns > before:
            self._emit(ev.ClockAdvanced(self.executor.now_ns))

    def step(self) -> list[Output]:
        """One step; its new tokens, in order of submission. Nothing to do: nothing happens."""
        if not self.has_work:
            return []
        self.loop.step()
        return list(self._new_outputs())

    def end(self) -> None:
        """No more will come: the last event of a log."""
        self.loop.step()

    def _new_outputs(self) -> Iterator[Output]:
        for name, waiting in list(self._waiting.items()):
            for at, seq in enumerate(waiting.samples):
                told, finish = waiting.told[at], seq.finish_reason
                if told is None or (seq.is_beam and finish is None):
                    continue
                new = tuple(seq.outputs[told:])
                if new or finish is not None:
                    logprobs = self.executor.logprobs.get((name, seq.sample), [])[told:]
                    waiting.told[at] = told + len(new) if finish is None else None
                    yield Output(name, seq.sample, new, tuple(logprobs), finish)
            if all(told is None for told in waiting.told):
                self._forget(name)

    def _forget(self, name: str) -> None:
        waiting = self._waiting.pop(name)
        self._params.pop(name, None)
        for seq in waiting.samples:
            self.executor.logprobs.pop((name, seq.sample), None)
