"""Plays a script of requests, aborts, resets and failing steps, and checks every law after each step.

It stands where the serving loop and an executor stand: a shadow memory is the tensor, and a sampled token
depends on everything its sequence reads from there, so wrong memory gives wrong answers.
"""

from dataclasses import dataclass, field

from run_scripts import Abort, Paged, Script, Submit

from pagesim.core import events as ev
from pagesim.core import laws
from pagesim.core.beam import Candidate, Hypothesis, is_done, num_candidates
from pagesim.core.intake import is_group
from pagesim.core.order import FCFS
from pagesim.core.preempt_mode import RECOMPUTE, Price
from pagesim.core.recorded import Recorded
from pagesim.core.scheduler import Scheduler
from pagesim.core.sequence import SequenceState, Status
from pagesim.core.shadow import Prefixes, ShadowMemory
from pagesim.core.victim import LATEST
from pagesim.replay.free_queue import FreeQueue
from pagesim.replay.run_state import RunState

LIVE = (Status.WAITING, Status.FOLLOWING, Status.RUNNING, Status.SWAPPED)


@dataclass
class CheckedRun:
    script: Script
    alphabet: int = 2
    events: list[ev.Event] = field(default_factory=list)
    states: list[SequenceState] = field(default_factory=list)

    def __post_init__(self):
        script = self.script
        self.config = script.config
        self.manager = script.memory.build(script.config)
        self.told = RunState(self.manager.geometry)
        self.queue = None
        if isinstance(script.memory, Paged):
            first = script.memory.keep_unkeyed_first
            self.queue = FreeQueue(self.manager.geometry, keep_unkeyed_first=first)
        self.shadow = ShadowMemory(self.manager.geometry)
        self.prefixes = Prefixes()
        memory = Recorded(self.manager, self.emit)
        self.scheduler = Scheduler(script.config, memory, self.emit, prices)
        self.time_ns = 0
        self.sampled: dict[int, list[int]] = {}
        self.answers_ended: dict[str, list[tuple[int, ...]]] = {}
        self.ended: dict[int, int] = {}
        requests = [entry.request for entry in script.inputs if isinstance(entry, Submit)]
        self.is_foretold = all(r.known_output in (None, r.max_tokens) for r in requests)
        lengths = [(len(r.prompt) + r.max_tokens) * r.num_samples for r in requests]
        self.bound = sum(lengths) + len(script.failures)
        self.keeps_arrival_order = self.config.order is FCFS and (
            self.config.chosen_victim is LATEST
            and (self.config.preempt is RECOMPUTE or not self.manager.can_swap)
        )
        if not (self.keeps_arrival_order and self.is_foretold):
            self.bound = sum(lengths) ** 2 + len(script.failures)

    def emit(self, event):
        if isinstance(event, ev.SequenceAdmitted):
            view = self.told.sequences[event.seq]
            assert event.tokens == view.prompt_tokens + view.outputs
        elif isinstance(event, ev.TokensSampled):
            for seq, token in zip(event.seqs, event.tokens, strict=True):
                self.sampled.setdefault(seq, []).append(token)
        elif isinstance(event, ev.BeamsChosen):
            before = {seq: list(self.sampled.get(seq, [])) for seq in event.parents}
            for seq, parent, token in zip(event.seqs, event.parents, event.tokens, strict=True):
                self.sampled[seq] = [*before[parent], token]
        elif isinstance(event, ev.HypothesisEnded):
            answer = (*self.sampled.get(event.seq, []), event.token)
            assert len(answer) == event.output_tokens
            name = self.told.sequences[event.seq].request
            self.answers_ended.setdefault(name, []).append(answer)
        elif isinstance(event, ev.AnswersRanked):
            self.rank(event)
        elif isinstance(event, ev.SequenceFinished):
            assert event.seq not in self.ended
            self.ended[event.seq] = event.output_tokens
        self.events.append(event)
        self.told.apply(event)
        if self.queue is not None:
            self.queue.apply(event)

    def rank(self, event):
        """The best answers are among those that ended and those that lived to the end."""
        states = [self.states[seq] for seq in event.seqs]
        whole = [tuple(self.sampled[seq]) for seq in event.seqs]
        whole += self.answers_ended.pop(states[0].request.id, [])
        for state in states:
            assert tuple(state.outputs) in whole
            self.sampled[state.seq] = list(state.outputs)

    def run(self):
        inputs = sorted(self.script.inputs, key=lambda entry: entry.step)  # stable
        failures = {failure.step: failure.after for failure in self.script.failures}
        number = 0
        while True:
            late = [entry for entry in inputs if isinstance(entry, Abort) and entry.in_flight]
            due = [entry for entry in inputs if entry.step <= number and entry not in late]
            for entry in due:
                self.apply(entry)
                self.check()
            inputs = [entry for entry in inputs if entry not in due]
            if self.scheduler.has_work:
                aborts = [entry for entry in late if entry.step <= number]
                inputs = [entry for entry in inputs if entry not in aborts]
                self.step(aborts, failures.get(number))
                laws.check_ends(self.scheduler.num_steps, self.bound)
            elif not inputs:
                break
            elif all(entry in late for entry in inputs):
                inputs = []  # nothing will be in flight any more
            number += 1
        self.check_end()
        return self

    def apply(self, entry):
        scheduler = self.scheduler
        if isinstance(entry, Submit):
            self.submit(entry.request)
        elif isinstance(entry, Abort):
            lived = self.lives(entry.request)
            assert scheduler.abort(entry.request) == lived
            assert not self.lives(entry.request)
        else:
            assert scheduler.reset_prefix_cache() == (not self.manager.usage().granted)

    def lives(self, name):
        return any(s.request.id == name and s.status in LIVE for s in self.states)

    def submit(self, request):
        scheduler, config = self.scheduler, self.config
        is_double = self.lives(request.id)
        before = laws.picture(self.manager, self.holders())
        waiting = list(scheduler.waiting)
        refusal = scheduler.submit(request)
        reason = None if refusal is None else refusal.reason
        most = min(config.max_num_seqs, config.max_tokens_per_step)
        if (
            is_double
            or not 0 < len(request.prompt) < config.max_model_len
            or (is_group(request, config) and request.num_samples > most)
        ):
            assert reason is not None
            assert request.id in reason
        else:
            sizes = self.script.memory.sizes(request, config)
            laws.check_rejects_the_impossible(request.id, reason, *sizes)
        if refusal is not None:
            after = laws.picture(self.manager, self.holders())
            laws.check_none_changes_nothing(before, after, f"request {request.id}")
            assert list(scheduler.waiting) == waiting
        else:
            self.states += scheduler.samples_of(request.id)

    def step(self, aborts, failure):
        scheduler, config = self.scheduler, self.config
        live = [*scheduler.running, *scheduler.waiting]
        groups = self.groups_now()
        must = self.keeps_arrival_order and self.is_foretold
        oldest = min(live, key=lambda seq: seq.order) if must else None
        num_before = len(scheduler.running)
        plan = scheduler.plan()
        laws.check_progress(plan, oldest)
        laws.check_budget(plan, config.max_tokens_per_step)
        laws.check_atomic(plan, scheduler.running, groups)
        laws.check_held_back(plan, len(scheduler.swapped))
        if config.watermark_always and plan.admitted:
            num_before = max(num_before, 1)
        free = self.manager.usage().free
        laws.check_watermark(plan, num_before, free, config.watermark_blocks)
        if isinstance(self.script.memory, Paged):
            assert not plan.refused, "what fits an empty memory is never refused later"
        self.check_arithmetic(plan)
        self.check()
        for entry in aborts:
            lived = self.lives(entry.request)
            assert scheduler.abort(entry.request) == lived
            self.check()
        if failure is None:
            self.finish(plan)
        else:
            self.fail(plan, failure)
        assert not any(self.lives(entry.request) for entry in aborts)
        self.check()

    def finish(self, plan):
        scheduler = self.scheduler
        self.shadow.copy(plan.copies)
        self.write(plan)
        paths = {seq.seq: self.path(seq)[: self.computed(seq)] for seq in scheduler.running}
        laws.check_content(self.manager, self.shadow, paths)
        samples = self.samples(plan)
        self.time_ns += 1
        candidates = [self.candidates(seq) for seq in plan.beams]
        self.emit(ev.StepDone(plan.step, self.time_ns))
        scheduler.commit(plan, samples, candidates)

    def fail(self, plan, after):
        if after != "nothing":
            self.shadow.copy(plan.copies)
        if after == "writes":
            self.write(plan)
        self.scheduler.rollback(plan)

    def write(self, plan):
        for seq, count in zip(plan.sequences, plan.counts, strict=True):
            path, table = self.path(seq), self.manager.table(seq.seq)
            for position in range(seq.num_computed - count, seq.num_computed):
                self.shadow.write(table, position, path[position])

    def samples(self, plan):
        """For each entry a token that depends on all that its sequence reads, and on the sample's number."""
        tokens = []
        for number, seq in enumerate(plan.sampling):
            table = self.manager.table(seq.seq)
            prefix = self.shadow.read(table, seq.num_computed - 1)
            read = self.prefixes.tokens(prefix)
            sample = seq.sample
            if seq.group is not None and not seq.group.forked:
                sample = seq.group.members[plan.sampling[:number].count(seq)].sample
            tokens.append((sum(read) * 7 + len(read) * 3 + sample) % self.alphabet + 1)
        return tokens

    def candidates(self, seq):
        """Log-probabilities that depend on all that the beam reads."""
        prefix = self.shadow.read(self.manager.table(seq.seq), seq.num_computed - 1)
        return candidates_after(self.prefixes.tokens(prefix), seq.request)

    def groups_now(self):
        groups = {id(seq.group): seq.group for seq in self.states if seq.status in LIVE}
        return [
            laws.GroupBefore(
                tuple(group.members),
                tuple(seq for seq in group.members if seq.status is Status.RUNNING),
                all(seq.num_tokens - seq.num_computed == 1 for seq in group.members),
            )
            for group in groups.values()
            if group is not None and group.forked
        ]

    def path(self, seq):
        request = seq.request
        tokens = [*request.prompt, *seq.outputs]
        return self.prefixes.path(tokens, request.salt, request.adapter)

    def computed(self, seq):
        """A sample that comes back shares prompt blocks which its leader may have yet to compute."""
        leader = seq.unit[0]
        return min(seq.num_computed, leader.num_computed) if _is_forked(seq) else seq.num_computed

    # -- laws ------------------------------------------------------------------------------------------

    def holders(self):
        return [seq.seq for seq in self.states if seq.status in LIVE and seq.writable]

    def check(self):
        """Every law that must hold between any two calls."""
        scheduler, manager, told = self.scheduler, self.manager, self.told
        holders = self.holders()
        laws.check_conservation(manager, holders)
        laws.check_refcount(manager, holders)
        spans = {}
        for number in holders:
            seq = self.states[number]
            spans[number] = laws.Span(seq.num_computed, seq.writable, self.computed(seq))
        laws.check_single_writer(manager, spans)
        rank = self.config.order.rank
        for queue in (scheduler.waiting, scheduler.swapped):
            laws.check_order([(rank(seq), seq.order) for seq in queue])
        laws.check_fold(
            manager,
            {v.seq: (v.table, v.written) for v in told.sequences.values() if len(v.table)},
            {seq: self.states[seq].num_computed for seq in holders},
            told.ref_counts,
            told.cached,
        )
        if self.queue is not None:
            assert self.queue.blocks == list(manager.pool.free_queue()), "fold: the free queue"
            assert list(self.queue.cached) == list(told.cached)
        for seq in self.states:
            if seq.status in LIVE:
                view = told.sequences[seq.seq]
                is_running = "running" if seq.status is Status.RUNNING else "waiting"
                if view.status == "swapped":
                    assert seq.unit[0].status is Status.SWAPPED
                    is_running = "swapped"
                assert (view.status, view.outputs) == (is_running, seq.num_outputs)
                if not seq.writable:
                    assert seq.num_computed == 0, "fold: computed tokens without memory"
        self.check_groups()

    def check_groups(self):
        running = self.scheduler.running
        assert len(running) == len(set(running)) <= self.config.max_num_seqs
        for seq in running:
            assert seq.status is Status.RUNNING

    def check_arithmetic(self, plan):
        assert plan.num_tokens == sum(plan.counts)
        assert plan.kv_tokens == sum(seq.num_computed for seq in plan.sequences)
        pairs = 0
        for seq, count in zip(plan.sequences, plan.counts, strict=True):
            pairs += sum(range(seq.num_computed - count + 1, seq.num_computed + 1))
        assert plan.pairs == pairs
        due = [seq for seq in plan.sequences if seq.num_computed == seq.num_tokens]
        assert list(dict.fromkeys(plan.sampling)) == [seq for seq in due if not seq.is_beam]
        assert plan.beams == [seq for seq in due if seq.is_beam]

    def check_end(self):
        """Nothing is left, and every output was emitted once and in order."""
        laws.check_clock(self.events)
        assert not self.manager.usage().granted
        assert not self.told.sequences
        assert self.scheduler.num_live == 0
        refused = [e.request for e in self.events if isinstance(e, ev.RequestRefused)]
        for seq in self.states:
            assert seq.status not in LIVE
            assert self.sampled.get(seq.seq, []) == seq.outputs
            assert self.ended[seq.seq] == seq.num_outputs
            request = seq.request
            if seq.status is Status.FINISHED and seq.is_beam:
                expected = self.expected_answers(request)[seq.sample]
                assert expected == seq.outputs, f"beam: {seq.name} is {seq.outputs}, not {expected}"
            elif seq.status is Status.FINISHED:
                longest = min(request.max_tokens, self.config.max_model_len - len(request.prompt))
                assert seq.num_outputs == longest or (
                    seq.outputs[-1] in request.stop_ids and seq.num_outputs < longest
                )
            else:
                aborted = [e.request for e in self.script.inputs if isinstance(e, Abort)]
                assert request.id in (*aborted, *refused)
        assert self.manager.reset_cache()

    def expected_answers(self, request):
        """The same search without any memory: only tokens."""
        limit = min(request.max_tokens, self.config.max_model_len - len(request.prompt))
        return search(request, limit)

    def answers(self):
        return {seq.name: seq.outputs for seq in self.states}


def prices(lengths, num_slots, num_blocks):
    """Any that goes now this way and now that."""
    return Price(sum(lengths), num_slots - num_blocks)


def candidates_after(tokens, request):
    """As many as are due, of tokens 1, 2, 3, ...; as good as never are two beams equally likely."""
    count = num_candidates(request.num_samples, len(request.stop_ids))
    seed = 0
    for token in tokens:
        seed = (seed * 6364136223846793005 + token * 1442695040888963407) % 2**64
    named = [
        Candidate(
            token, -1 - ((seed ^ token * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93 >> 20) % 2**40
        )
        for token in range(1, count + 1)
    ]
    return sorted(named, key=lambda candidate: -candidate.logprob)


def search(request, limit):
    """Beam search over lists of tokens, as plainly as can be."""
    width, penalty = request.num_samples, request.beam.length_penalty
    beams, ended = [([], 0)], []
    while True:
        grown = [
            ([*tokens, c.token], logprob + c.logprob)
            for tokens, logprob in beams
            for c in candidates_after([*request.prompt, *tokens], request)
        ]
        grown.sort(key=lambda beam: -beam[1])
        ended += [beam for beam in grown[:width] if beam[0][-1] in request.stop_ids]
        ended.sort(key=lambda beam: -beam[1] / 1e6 / len(beam[0]) ** penalty)
        ended = ended[:width]
        beams = [beam for beam in grown if beam[0][-1] not in request.stop_ids][:width]
        if len(beams[0][0]) >= limit:
            both = ended + beams
            both.sort(key=lambda beam: -beam[1] / 1e6 / len(beam[0]) ** penalty)
            return [tokens for tokens, _ in both[:width]]
        kept = [Hypothesis(tuple(tokens), logprob) for tokens, logprob in ended]
        if is_done(kept, width, beams[0][1], len(beams[0][0]), limit, request.beam):
            return [tokens for tokens, _ in ended]


def _is_forked(seq):
    return seq.group is not None and seq.group.forked
