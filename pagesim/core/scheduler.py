"""Continuous batching: which sequences compute how many tokens in the next step, and who gives way.

One step first serves the running sequences, then (if nobody had to be preempted) admits waiting ones, under
one token budget. Knows nothing about time, tensors or how memory is laid out: it asks a ``KVCacheManager``.

    submit ->  waiting  -- admit -->  running  -- last token -->  finished
                  ^                      |
                  +------ preempt -------+        (computed tokens are lost, output tokens are kept)
"""

from collections.abc import Sequence

from pagesim.core import events as ev
from pagesim.core.content import Content
from pagesim.core.errors import LawBrokenError
from pagesim.core.intake import final_length, stop_length, why_refused
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan
from pagesim.core.policy import choose_victim, waiting_queue
from pagesim.core.request import Refusal, Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import FinishReason, SampleGroup, SequenceState, Status
from pagesim.core.types import Copy, Grant, Room, blocks_for


class Scheduler:
    """The only writer of ``SequenceState`` and of the queues, and the only caller of the memory's commands.

    Use: ``submit`` requests; then ``plan`` a step, have it executed, and ``commit`` its samples (or
    ``rollback`` if it failed), as long as ``has_work``.
    """

    def __init__(
        self, config: SchedulerConfig, memory: KVCacheManager, emit: ev.Emit | None = None
    ) -> None:
        self.config = config
        self.memory = memory
        self.running: list[SequenceState] = []
        self.waiting = waiting_queue(config.order)
        self.num_steps = 0
        self._emit = emit
        self._live: dict[str, list[SequenceState]] = {}
        self._num_submitted = 0
        self._num_unforked = 0  # sequences that running leaders will fork: they have seats already
        self._context_tokens = 0  # sum of num_computed over running
        self._in_flight: StepPlan | None = None
        # Whose waiting was told last, and how much was free then.
        self._blocked_head: tuple[SequenceState, int] | None = None
        self._abort_asked: list[str] = []  # requests to end when the step in flight is committed
        self._pending_copies: list[Copy] = []
        self._block_size = memory.geometry.block_size
        self._caching = memory.can_cache

    # -- requests come and go ----------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        return bool(self.running) or len(self.waiting) > 0

    @property
    def num_live(self) -> int:
        """Requests that are queued or running."""
        return len(self._live)

    def submit(self, request: Request) -> Refusal | None:
        """Queue a request. What can never be served is refused, with the reason, and nothing changes."""
        if request.id in self._live:
            reason = f"request {request.id} is still being served; a second one needs another id"
            return self._refuse(request, reason)
        reason_or_none = why_refused(request, self.config, self.memory)
        if reason_or_none is not None:
            return self._refuse(request, reason_or_none)
        samples = [self._new_sequence(request, number) for number in range(request.num_samples)]
        self._live[request.id] = samples
        if self.config.fork_samples and len(samples) > 1:
            group = SampleGroup(list(samples))
            for seq in samples:
                seq.group = group
                seq.status = Status.FOLLOWING
            samples[0].status = Status.WAITING
        for seq in samples:
            if seq.status is Status.WAITING:
                self.waiting.add(seq)
        return None

    def abort(self, request_id: str) -> bool:
        """End every sample of a request, in whatever state; ``False`` if no such request lives.

        A request that a step in flight computes for ends when that step is committed.
        """
        live = self._live.get(request_id)
        if live is None:
            return False
        in_flight = self._in_flight is not None and any(
            s in self._in_flight.sequences for s in live
        )
        for seq in tuple(live):
            if not in_flight:
                self._end(seq, FinishReason.ABORT)
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
        plan = StepPlan(self.num_steps, copies=self._pending_copies)
        self._pending_copies = []
        self.num_steps += 1
        budget = self.config.max_tokens_per_step
        chunk = self.config.long_prefill_chunk
        if not chunk or len(self.running) + len(self.waiting) < 2:
            chunk = budget
        budget = self._plan_running(plan, budget, chunk)
        if not plan.preempted and budget and len(self.waiting):
            self._admit(plan, budget, chunk)
        self._close(plan)
        self._in_flight = plan
        return plan

    def commit(self, plan: StepPlan, samples: Sequence[int]) -> list[SequenceState]:
        """Append the sampled tokens and end what is complete; returns what ended, in step order."""
        assert plan is self._in_flight, "commit the plan made last, once"
        sampling = plan.sampling
        if len(samples) != len(sampling):
            raise ValueError(f"{len(sampling)} samples are due and {len(samples)} were given")
        self._in_flight = None
        if plan.has_forks:
            sampling = self._fork(sampling)
        if self._emit is not None and sampling:
            self._emit(ev.TokensSampled(tuple([seq.seq for seq in sampling]), tuple(samples)))
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
            self._end(seq, reason)
        self._end_asked()
        return [seq for seq, _ in finished]

    def rollback(self, plan: StepPlan) -> None:
        """The step failed: undo what ``plan`` planned, as if its tokens had never been scheduled.

        Sequences admitted in it go back to the front of the queue; copies ordered in it are ordered again, or
        where that cannot be (contiguous runs) those who were to get them give way and recompute.
        """
        assert plan is self._in_flight, "roll back the plan made last, once"
        self._in_flight = None
        self._pending_copies = plan.copies
        if self._emit is not None:
            self._emit(ev.StepFailed(plan.step))
        for seq, count in zip(plan.sequences, plan.counts, strict=True):
            seq.num_computed -= count
            self._context_tokens -= count
            seq.checkpoint = 0
            self.memory.withdraw(seq.seq, seq.num_computed)
        leaders = [s for s in plan.admitted if s.status is Status.RUNNING and s.unit[0] is s]
        for leader in reversed(leaders):
            for seq in leader.unit:
                self._vacate(seq)
                if self._emit is not None and seq in plan.admitted:
                    self._emit(ev.SequenceRequeued(seq.seq))
            self._requeue(leader)
        if plan.copies and not self.memory.can_share:
            self._compute_again(plan)
        self._end_asked()

    def _compute_again(self, plan: StepPlan) -> None:
        """Copies between runs cannot be ordered twice: a source is freed, and the step may have filled it anew.

        (Shared blocks stay where they are, and only slots behind the copied ones are written.) Who was to get
        a copy recomputes, and so does everybody after it: first come first served order survives.
        """
        self._pending_copies = []
        targets = [copy.target for copy in plan.copies]
        for position, seq in enumerate(self.running):
            table = self.memory.table(seq.seq)
            if any(target in table for target in targets):
                first = min(position, self.running.index(seq.unit[0]))
                leaders = [s for s in self.running[first:] if s.unit[0] is s]
                for leader in reversed(leaders):
                    # in a plan of its own: nothing is scheduled any more
                    self._preempt(leader, StepPlan(plan.step), leader, 0)
                return

    def _end_asked(self) -> None:
        while self._abort_asked:
            for seq in tuple(self._live.get(self._abort_asked.pop(), ())):
                self._end(seq, FinishReason.ABORT)

    # -- the running sequences ---------------------------------------------------------------------------

    def _plan_running(self, plan: StepPlan, budget: int, chunk: int) -> int:
        """Give running sequences their tokens, in order of admission; returns the budget left."""
        add_sequence = plan.sequences.append
        for seq in self.running.copy():
            computed = seq.num_computed
            if computed < seq.checkpoint:  # decoding, with room: the hot path
                seq.num_computed = computed + 1
                add_sequence(seq)
                budget -= 1
            elif seq.status is Status.RUNNING:  # else it was preempted earlier in this pass
                left = self._advance(seq, plan, budget, chunk)
                if left is None:
                    break
                budget = left
            if not budget:
                break
        return budget

    def _advance(self, seq: SequenceState, plan: StepPlan, budget: int, chunk: int) -> int | None:
        """Schedule a sequence that may need memory; returns the budget left. ``None``: it gave way itself."""
        if seq.group is not None and seq.group.forked:
            return (
                budget if seq.unit[0] is not seq else self._advance_group(seq, plan, budget, chunk)
            )
        count = seq.num_tokens - seq.num_computed
        if count > 1:
            count = min(count, chunk, budget)
        elif not count:
            return budget
        to = seq.num_computed + count
        if to > seq.writable:
            while (grant := self.memory.extend(seq.seq, to)) is None:
                victim = choose_victim(self.config.order, self.running)
                budget += self._preempt(victim, plan, seq, to)
                if victim is seq:
                    return None
            self._use(seq, grant, plan)
        self._schedule(seq, count, plan)
        return budget - count

    def _advance_group(
        self, leader: SequenceState, plan: StepPlan, budget: int, chunk: int
    ) -> int | None:
        """The same for samples that have forked: they grow all or none."""
        unit = tuple(leader.unit)
        shares = self._share_budget(unit, budget, chunk)
        if not shares:
            return 0
        targets = [(s.seq, s.num_computed + n) for s, n in shares]
        while not self.memory.can_extend(targets):
            victim = choose_victim(self.config.order, self.running)
            budget += self._preempt(victim, plan, leader, leader.num_tokens)
            if victim in unit:
                return None
        for seq, count in shares:
            to = seq.num_computed + count
            if to > seq.writable:
                grant = self.memory.extend(seq.seq, to)
                assert grant is not None, "can_extend promised this"
                self._use(seq, grant, plan)
            self._schedule(seq, count, plan)
            budget -= count
        return budget

    def _share_budget(
        self, unit: Sequence[SequenceState], budget: int, chunk: int
    ) -> list[tuple[SequenceState, int]]:
        """How many tokens each of a unit computes now: decodes all or none, what is to be recomputed in order."""
        if len(unit) > budget and all(seq.num_tokens - seq.num_computed == 1 for seq in unit):
            return []
        shares: list[tuple[SequenceState, int]] = []
        leader = unit[0]
        prompt = len(leader.request.prompt) // self._block_size * self._block_size
        for seq in unit:
            if shares and leader.num_computed + shares[0][1] < prompt <= seq.num_computed:
                continue  # it shares blocks that its leader has yet to compute
            count = min(seq.num_tokens - seq.num_computed, chunk, budget)
            if count > 0:
                shares.append((seq, count))
                budget -= count
        return shares

    def _schedule(self, seq: SequenceState, count: int, plan: StepPlan) -> None:
        computed = seq.num_computed
        to = seq.num_computed = computed + count
        plan.sequences.append(seq)
        if count > 1:
            plan.fill_counts(len(plan.sequences) - 1)
            plan.counts.append(count)
            plan.has_prefill = True
        if self._caching and to // self._block_size > computed // self._block_size:
            self.memory.publish(seq.seq, seq.content, to)
        if to < seq.num_tokens:
            plan.has_chunks = True
        elif seq.group is None:
            # From now on it decodes. A block that fills up must be published, so stop one token earlier for it.
            seq.checkpoint = seq.writable - 1 if self._caching else seq.writable
        elif not seq.group.forked:
            plan.has_forks = True

    def _use(self, seq: SequenceState, grant: Grant, plan: StepPlan) -> None:
        seq.writable = grant.writable
        if grant.copies:
            plan.copies += grant.copies

    def _preempt(self, victim: SequenceState, plan: StepPlan, by: SequenceState, to: int) -> int:
        """Free the victim's unit and queue it again; returns the budget it had been given in this step.

        ``by`` could not grow to ``to`` tokens.
        """
        returned = 0
        unit = tuple(victim.unit)
        for seq in unit:
            if seq in plan.sequences:
                plan.fill_counts(len(plan.sequences))
                position = plan.sequences.index(seq)
                del plan.sequences[position]
                count = plan.counts.pop(position)
                seq.num_computed -= count
                self.memory.withdraw(seq.seq, seq.num_computed)
                returned += count
        for seq in unit:
            if seq.status is Status.RUNNING:
                plan.preempted.append(seq)
                seq.num_preemptions += 1
                if self._emit is not None:
                    self._emit(ev.SequencePreempted(seq.seq, seq.num_computed, by.seq, to))
            self._vacate(seq)
        self._requeue(unit[0])
        return returned

    def _requeue(self, leader: SequenceState) -> None:
        """Out of running, to the front of waiting (or where its urgency puts it)."""
        unit = leader.unit
        if leader.group is not None and not leader.group.forked:
            self._num_unforked -= len(unit) - 1
        self.running = [seq for seq in self.running if seq not in unit]
        for seq in unit:
            seq.status = Status.FOLLOWING
        leader.status = Status.WAITING
        self.waiting.put_back(leader)

    # -- the waiting sequences ---------------------------------------------------------------------------

    def _admit(self, plan: StepPlan, budget: int, chunk: int) -> None:
        """Admit from the head of the queue; the first that cannot go ends admission for the step."""
        while budget and len(self.waiting):
            leader = self.waiting.head()
            unit = leader.unit
            if len(self.running) + self._num_unforked + len(unit) > self.config.max_num_seqs:
                return
            cached = self.memory.cached_tokens(leader.content)
            count = min(leader.num_tokens - cached, chunk)
            whole = leader.group is not None  # a group takes all its memory at once
            if not self.config.chunked_prefill and count > budget and not whole:
                return
            count = min(count, budget)
            if not self._start(leader, leader.num_tokens if whole else cached + count, plan):
                if self.running:
                    plan.blocked = True
                    return
                leaked = self.memory.usage().granted
                if leaked:
                    raise LawBrokenError(
                        f"conservation: nothing runs, and {leaked:,} blocks are still granted; free() gave back too "
                        "little"
                    )
                self._refuse_head(leader, plan)
                continue
            starting = unit if _is_forked(leader) else (leader,)
            for seq, share in self._share_budget(starting, budget, chunk):
                self._schedule(seq, share, plan)
                budget -= share

    def _start(self, leader: SequenceState, now: int, plan: StepPlan) -> bool:
        """Take the memory for a unit, all or nothing, and move it to running."""
        unit = leader.unit
        keep_free = 0
        if self.running or self.config.watermark_always:
            keep_free = self.config.watermark_blocks
        shared = len(leader.request.prompt) // self._block_size * self._block_size
        children = unit[1:]
        if children and _is_forked(leader) and self.memory.can_share:
            keep_free += sum(
                blocks_for(seq.num_tokens, self._block_size) - shared // self._block_size
                for seq in children
            )
        if not self._allocate(leader, now, keep_free, plan):
            return False
        if children and not self.memory.can_share:
            for number, seq in enumerate(children):
                if not self._allocate(seq, seq.num_tokens, keep_free, plan):
                    for started in unit[: number + 1]:
                        self._vacate(started)
                        plan.cached_tokens.pop(started, None)
                    return False
        elif children and _is_forked(leader):
            for seq in children:
                self._refork(leader, seq, shared, plan)
        self._enter(leader, plan)
        return True

    def _allocate(self, seq: SequenceState, now: int, keep_free: int, plan: StepPlan) -> bool:
        room = Room(
            now=now,
            present=seq.num_tokens if self.config.admit_only_if_whole_prompt_fits else now,
            limit=seq.stop_at,
            final=seq.final,
            keep_free=keep_free,
        )
        grant = self.memory.allocate(seq.seq, seq.content, room)
        if grant is None:
            self._tell_blocked(seq, room)
            return False
        seq.num_computed = grant.cached_tokens
        self._context_tokens += grant.cached_tokens
        plan.cached_tokens[seq] = grant.cached_tokens
        self._use(seq, grant, plan)
        return True

    def _tell_blocked(self, seq: SequenceState, room: Room) -> None:
        if self._emit is None:
            return
        # Of slabs it is told again when some memory came free, and still not enough in one piece.
        free = 0 if self.memory.can_share else self.memory.usage().free
        if self._blocked_head != (seq, free):
            self._blocked_head = (seq, free)
            cached = self.memory.cached_tokens(seq.content)
            tokens = max(room.now, room.present)
            self._emit(ev.AdmissionBlocked(seq.seq, tokens, cached, room.keep_free))

    def _refork(
        self, leader: SequenceState, seq: SequenceState, shared: int, plan: StepPlan
    ) -> None:
        """Bring a forked sample back: share the prompt's full blocks with the leader again, take the rest."""
        if shared:
            fork = self.memory.fork(leader.seq, seq.seq, shared)
            assert fork is not None, "sharing takes no block"
            seq.num_computed = shared
            self._context_tokens += shared
            plan.cached_tokens[seq] = shared
            grant = self.memory.extend(seq.seq, seq.num_tokens)
            assert grant is not None, "the leader's admission kept these blocks free"
            self._use(seq, grant, plan)
        else:
            started = self._allocate(seq, seq.num_tokens, 0, plan)
            assert started, "the leader's admission kept these blocks free"

    def _enter(self, leader: SequenceState, plan: StepPlan) -> None:
        popped = self.waiting.pop()
        assert popped is leader
        self._blocked_head = None
        unit = leader.unit
        starting = unit if _is_forked(leader) else (leader,)
        self._num_unforked += len(unit) - len(starting)
        for seq in starting:
            seq.status = Status.RUNNING
            self.running.append(seq)
            plan.admitted.append(seq)
            if self._emit is not None:
                self._emit(
                    ev.SequenceAdmitted(
                        seq.seq,
                        seq.num_tokens,
                        plan.cached_tokens.get(seq, 0),
                        int(seq.num_preemptions > 0),
                    )
                )

    def _refuse_head(self, leader: SequenceState, plan: StepPlan) -> None:
        """Nothing is held and still the head does not fit: it never will."""
        slots = self.memory.geometry.num_slots
        reason = (
            f"request {leader.request.id} needs room for {len(leader.unit)} times {leader.num_tokens:,} tokens and "
            f"what they may become, and an empty memory of {slots:,} tokens does not have it"
        )
        for seq in tuple(self._live[leader.request.id]):
            self._end(seq, FinishReason.ABORT)
        plan.refused.append(self._refuse(leader.request, reason))

    # -- parts -------------------------------------------------------------------------------------------

    def _new_sequence(self, request: Request, sample: int) -> SequenceState:
        number = self._num_submitted
        self._num_submitted += 1
        content = Content(
            request.prompt, request.salt, request.adapter, reads_cache=request.read_cache
        )
        if self._emit is not None:
            self._emit(
                ev.RequestSubmitted(
                    number,
                    request.id,
                    sample,
                    len(request.prompt),
                    request.max_tokens,
                    request.priority,
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
        plan.fill_counts(len(plan.sequences))
        plan.num_tokens = sum(plan.counts)
        self._context_tokens += plan.num_tokens
        plan.kv_tokens = self._context_tokens
        if len(plan.sequences) < len(self.running):
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
        if plan.has_chunks or plan.has_forks:
            plan.sampling = []
            for seq in plan.sequences:
                if seq.num_computed == seq.num_tokens:
                    times = 1 if seq.group is None or seq.group.forked else len(seq.group.members)
                    plan.sampling += [seq] * times
        if self._emit is not None:
            seqs = tuple([seq.seq for seq in plan.sequences])
            blocked = plan.blocked or bool(plan.preempted)
            self._emit(
                ev.StepPlanned(plan.step, seqs, tuple(plan.counts), len(self.waiting), int(blocked))
            )

    def _fork(self, sampling: Sequence[SequenceState]) -> list[SequenceState]:
        """Fork each leader whose prompt is computed; returns ``sampling`` with the children in its place."""
        result: list[SequenceState] = []
        for seq in sampling:
            if seq.group is None or (seq.group.forked and seq not in result):
                result.append(seq)
            elif not seq.group.forked:
                seq.group.forked = True
                children = seq.group.members[1:]
                self._num_unforked -= len(children)
                position = self.running.index(seq) + 1
                self.running[position:position] = children
                for child in children:
                    self._fork_one(seq, child)
                result += seq.group.members
        return result

    def _fork_one(self, leader: SequenceState, child: SequenceState) -> None:
        tokens = leader.num_computed
        fork = self.memory.fork(leader.seq, child.seq, tokens)
        assert fork is not None, (
            "a sharing memory never refuses; a copying one gave the child its memory before"
        )
        child.status = Status.RUNNING
        child.content = leader.content.forked()
        child.outputs = child.content.outputs
        child.num_computed = tokens
        self._context_tokens += tokens
        child.writable = fork.child.writable
        leader.writable = fork.parent_writable
        self._pending_copies += fork.child.copies

    def _vacate(self, seq: SequenceState) -> None:
        """Free what the sequence holds, if anything."""
        if seq.writable:
            self.memory.free(seq.seq)
        self._context_tokens -= seq.num_computed
        seq.num_computed = seq.writable = seq.checkpoint = 0

    def _end(self, seq: SequenceState, reason: FinishReason) -> None:
        """The sequence is over, in whatever state."""
        if seq.status is Status.RUNNING:
            self.running.remove(seq)
        elif seq.status is Status.WAITING:
            self.waiting.remove(seq)
        group = seq.group
        if group is not None:
            self._leave_group(seq, group)
        self._vacate(seq)
        seq.status = Status.ABORTED if reason is FinishReason.ABORT else Status.FINISHED
        seq.finish_reason = reason
        live = self._live[seq.request.id]
        live.remove(seq)
        if not live:
            del self._live[seq.request.id]
        if self._emit is not None:
            self._emit(ev.SequenceFinished(seq.seq, seq.num_outputs, reason.value))

    def _leave_group(self, seq: SequenceState, group: SampleGroup) -> None:
        if seq.status is Status.RUNNING and not group.forked:
            self._num_unforked -= len(group.members) - 1
        group.members.remove(seq)
        seq.group = None
        if group.forked and len(group.members) == 1:
            group.members[0].group = None  # the last one goes on alone

    def _refuse(self, request: Request, reason: str) -> Refusal:
        if self._emit is not None:
            self._emit(ev.RequestRefused(request.id, reason))
        return Refusal(request.id, reason)


def _is_forked(seq: SequenceState) -> bool:
    return seq.group is not None and seq.group.forked
