"""Continuous batching: which sequences compute how many tokens in the next step, and who gives way.

One step first serves the running sequences, then (if nobody had to be preempted) admits waiting ones, under
one token budget. Knows nothing about time, tensors or how memory is laid out: it asks a ``KVCacheManager``.

    submit ->  waiting  -- admit -->  running  -- last token -->  finished
                  ^                      |
                  +------ preempt -------+        (computed tokens are lost, output tokens are kept)
"""

from collections.abc import Sequence

from pagesim.core import admission, groups, preemption, running
from pagesim.core import events as ev
from pagesim.core.beam import Candidate
from pagesim.core.content import Content
from pagesim.core.errors import InputError
from pagesim.core.intake import final_length, is_group, stop_length, why_refused
from pagesim.core.live import Live
from pagesim.core.memory import KVCacheManager
from pagesim.core.order import WaitingQueue, waiting_queue
from pagesim.core.plan import StepPlan
from pagesim.core.preempt_mode import Prices
from pagesim.core.request import Refusal, Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import FinishReason, SampleGroup, SequenceState, Status
from pagesim.core.types import BlockId


class Scheduler:
    """The only caller of the memory's commands, and with its parts the only writer of ``SequenceState``.

    Use: ``submit`` requests; then ``plan`` a step, have it executed, and ``commit`` its samples (or
    ``rollback`` if it failed), as long as ``has_work``. The parts are running.py, admission.py, preemption.py
    and groups.py; what they share is in live.py.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        memory: KVCacheManager,
        emit: ev.Emit | None = None,
        prices: Prices | None = None,
    ) -> None:
        """``prices`` predicts what preempting costs. Raises InputError if the preempt mode needs it and it is not
        there."""
        if config.preempt.needs_price and prices is None:
            raise InputError(
                f"the preempt mode {config.preempt.name} compares predicted times, and this run has no cost model; "
                "take another, such as recompute or swap"
            )
        self.config = config
        self.memory = memory
        self.num_steps = 0
        self._live = Live(
            config, memory, waiting_queue(config.order), waiting_queue(config.order), emit, prices
        )
        self._in_flight: StepPlan | None = None
        self._abort_asked: list[str] = []  # requests to end when the step in flight is committed

    # -- requests come and go ----------------------------------------------------------------------------

    @property
    def running(self) -> list[SequenceState]:
        """In order of admission."""
        return self._live.running

    @property
    def waiting(self) -> WaitingQueue:
        return self._live.waiting

    @property
    def swapped(self) -> WaitingQueue:
        """Leaders of groups that are on the host."""
        return self._live.swapped

    @property
    def has_work(self) -> bool:
        live = self._live
        return bool(live.running) or len(live.waiting) > 0 or len(live.swapped) > 0

    @property
    def num_live(self) -> int:
        """Requests that are queued or running."""
        return len(self._live.requests)

    def samples_of(self, request_id: str) -> Sequence[SequenceState]:
        """The live samples of a request, none if there is no such request."""
        return tuple(self._live.requests.get(request_id, ()))

    def submit(self, request: Request) -> Refusal | None:
        """Queue a request. What can never be served is refused, with the reason, and nothing changes."""
        if request.id in self._live.requests:
            reason = f"request {request.id} is still being served; a second one needs another id"
            return self._live.refuse(request, reason)
        reason_or_none = why_refused(request, self.config, self.memory)
        if reason_or_none is not None:
            return self._live.refuse(request, reason_or_none)
        samples = [self._new_sequence(request, number) for number in range(request.num_samples)]
        self._live.requests[request.id] = samples
        if is_group(request, self.config):
            self._live.has_groups = True
            group = SampleGroup(list(samples))
            for seq in samples:
                seq.group = group
                seq.status = Status.FOLLOWING
            samples[0].status = Status.WAITING
        for seq in samples:
            if seq.status is Status.WAITING:
                self._live.waiting.add(seq)
        return None

    def abort(self, request_id: str) -> bool:
        """End every sample of a request, in whatever state; ``False`` if no such request lives.

        A request that a step in flight computes for ends when that step is committed.
        """
        samples = self.samples_of(request_id)
        if not samples:
            return False
        in_flight = self._in_flight is not None and any(
            s in self._in_flight.sequences for s in samples
        )
        for seq in samples:
            if not in_flight:
                self._live.end(seq, FinishReason.ABORT)
        if in_flight:
            self._abort_asked.append(request_id)
        return True

    def reset_prefix_cache(self) -> bool:
        """Forget all cached content; ``False``, and nothing changed, while any block is held."""
        return self.memory.reset_cache()

    # -- one step ----------------------------------------------------------------------------------------

    def plan(self) -> StepPlan:
        """Decide one step and take the memory for it. Must be followed by ``commit`` or ``rollback``."""
        assert self._in_flight is None, "the last plan was neither committed nor rolled back"
        live = self._live
        plan = StepPlan(self.num_steps, copies=live.pending_copies)
        live.pending_copies = []
        self.num_steps += 1
        budget = self.config.max_tokens_per_step
        chunk = self.config.long_prefill_chunk
        if not chunk or len(live.running) + len(live.waiting) < 2:
            chunk = budget
        budget = running.plan_running(live, plan, budget, chunk)
        if not plan.preempted and budget:
            if len(live.swapped):
                budget = admission.swap_in(live, plan, budget, chunk)
            if len(live.waiting) and budget and not len(live.swapped):
                admission.admit(live, plan, budget, chunk)
        self._close(plan)
        self._in_flight = plan
        return plan

    def commit(
        self,
        plan: StepPlan,
        samples: Sequence[int],
        candidates: Sequence[Sequence[Candidate]] = (),
    ) -> list[SequenceState]:
        """Append the sampled tokens and end what is complete; returns what ended, in step order.

        ``candidates`` are for ``plan.beams``. ValueError if there are too few or too many of either.
        """
        assert plan is self._in_flight, "commit the plan made last, once"
        sampling, live = plan.sampling, self._live
        if len(samples) != len(sampling) or len(candidates) != len(plan.beams):
            raise ValueError(
                f"{len(sampling)} samples and {len(plan.beams)} lists of candidates are due, and {len(samples)} and "
                f"{len(candidates)} were given"
            )
        self._in_flight = None
        if plan.has_groups:
            sampling = groups.fork_samples(live, sampling)
        if self._live.emit is not None and sampling:
            self._live.emit(ev.TokensSampled(tuple([seq.seq for seq in sampling]), tuple(samples)))
        finished = []
        for seq, token in zip(sampling, samples, strict=False):  # the lengths were compared above
            seq.outputs.append(token)
            num_tokens = seq.num_tokens + 1
            seq.num_tokens = num_tokens
            if num_tokens >= seq.look_at:
                if token in seq.request.stop_ids:
                    finished.append((seq, FinishReason.STOP))
                elif num_tokens >= seq.stop_at:
                    finished.append((seq, FinishReason.LENGTH))
        for seq, reason in finished:
            live.end(seq, reason)
        ended = [seq for seq, _ in finished]
        if plan.beams:
            ended += groups.advance_beams(live, plan.beams, candidates)
        self._end_asked()
        return ended

    def rollback(self, plan: StepPlan) -> None:
        """The step failed: undo what ``plan`` planned, as if its tokens had never been scheduled.

        Sequences admitted in it go back to their place in the queue; copies ordered in it are ordered again, or
        where that cannot be (contiguous runs, swaps) those who were to get them give way and recompute.
        """
        assert plan is self._in_flight, "roll back the plan made last, once"
        self._in_flight = None
        live = self._live
        if self._live.emit is not None:
            self._live.emit(ev.StepFailed(plan.step))
        for seq, count in zip(plan.sequences, plan.counts, strict=True):
            seq.num_computed -= count
            live.context_tokens -= count
            seq.checkpoint = 0
            self.memory.withdraw(seq.seq, seq.num_computed)
        leaders = [s for s in plan.admitted if s.status is Status.RUNNING and s.unit[0] is s]
        for leader in reversed(leaders):
            for seq in leader.unit:
                live.vacate(seq)
                if self._live.emit is not None and seq in plan.admitted:
                    self._live.emit(ev.SequenceRequeued(seq.seq))
            preemption.requeue(live, leader)
        self._order_again(plan)
        self._end_asked()

    def _order_again(self, plan: StepPlan) -> None:
        """Order the failed step's copies again, or have those compute again for whom they cannot be trusted.

        Blocks shared on the device stay where they are, and only slots behind the copied ones are written. But the
        source of a copy between runs, or of a swap, was given up, and the step may have filled it anew.
        """
        num_blocks = self.memory.geometry.num_blocks
        lost = plan.copies
        if self.memory.can_share:
            lost = [c for c in plan.copies if c.source >= num_blocks or c.target >= num_blocks]
            gone = set(lost)
            self._live.pending_copies = [copy for copy in plan.copies if copy not in gone]
        if lost:
            for leader in [s for s in plan.swapped_out if s.status is Status.SWAPPED]:
                # in a plan of its own: nothing is scheduled any more
                preemption.drop_swapped(self._live, leader, StepPlan(plan.step))
            self._compute_again({copy.target for copy in lost}, plan.step)

    def _compute_again(self, targets: set[BlockId], step: int) -> None:
        """Who was to get a copy recomputes, and so does everybody after it: first come first served order survives."""
        live = self._live
        lost = [s for s in live.running if not targets.isdisjoint(self.memory.table(s.seq))]
        if not lost:
            return
        for seq in lost:
            self.memory.withdraw(seq.seq, 0)  # what came back from the host may have been published
        first = min(live.running.index(seq.unit[0]) for seq in lost)
        leaders = [s for s in live.running[first:] if s.unit[0] is s]
        for leader in reversed(leaders):
            preemption.preempt(live, leader.unit, StepPlan(step), leader, 0, may_swap=False)

    def _end_asked(self) -> None:
        while self._abort_asked:
            for seq in self.samples_of(self._abort_asked.pop()):
                self._live.end(seq, FinishReason.ABORT)

    # -- parts -------------------------------------------------------------------------------------------

    def _new_sequence(self, request: Request, sample: int) -> SequenceState:
        number = self._live.num_submitted
        self._live.num_submitted += 1
        content = Content(
            request.prompt, request.salt, request.adapter, reads_cache=request.read_cache
        )
        if self._live.emit is not None:
            self._live.emit(
                ev.RequestSubmitted(
                    number,
                    request.id,
                    sample,
                    len(request.prompt),
                    request.max_tokens,
                    request.priority,
                    int(sample > 0 and is_group(request, self.config)),
                )
            )
        stop_at = stop_length(request, self.config)
        return SequenceState(
            seq=number,
            name=request.id if request.num_samples == 1 else f"{sample}_{request.id}",
            request=request,
            content=content,
            num_tokens=len(request.prompt),
            outputs=content.outputs,
            stop_at=stop_at,
            look_at=0 if request.stop_ids else stop_at,
            final=final_length(request, stop_at),
            order=number,
            sample=sample,
        )

    def _close(self, plan: StepPlan) -> None:
        """Add up the plan, and list who gets a token: those whose computed tokens are all there are."""
        live = self._live
        plan.fill_counts(len(plan.sequences))
        plan.num_tokens = sum(plan.counts)
        live.context_tokens += plan.num_tokens
        plan.kv_tokens = live.context_tokens
        if len(plan.sequences) < len(live.running):
            plan.kv_tokens = sum([seq.num_computed for seq in plan.sequences])
        plan.pairs = plan.kv_tokens
        if plan.has_prefill:
            # Query i of a chunk of n, which ends at ``computed``, attends to computed - n + i keys.
            plan.pairs = sum(
                [
                    n * seq.num_computed - n * (n - 1) // 2
                    for seq, n in zip(plan.sequences, plan.counts, strict=True)
                ]
            )
        plan.sampling = plan.sequences
        if plan.has_chunks or plan.has_groups:
            plan.sampling = []
            for seq in plan.sequences:
                if seq.num_computed < seq.num_tokens:
                    continue
                if seq.is_beam:
                    plan.beams.append(seq)
                else:
                    plan.sampling += [seq] * (len(seq.unit) if len(seq.active) == 1 else 1)
        if self._live.emit is not None:
            seqs = tuple([seq.seq for seq in plan.sequences])
            blocked = plan.blocked or bool(plan.preempted)
            counts = tuple(plan.counts)
            self._live.emit(ev.StepPlanned(plan.step, seqs, counts, live.num_waiting, int(blocked)))
