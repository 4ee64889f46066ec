"""A run as plain data: a memory, settings, requests, aborts, resets and failing steps; and strategies for them.

``checked_run`` plays it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.core.beam import BeamSearch, EarlyStopping
from pagesim.core.block_manager import BlockManager
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.core.order import AGED_PRIORITY, FCFS, PRIORITY, SHORTEST_PROMPT
from pagesim.core.preempt_mode import BY_GROUP, CHEAPER, RECOMPUTE, SWAP
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.victim import LARGEST, LATEST, LEAST_PROGRESS

# -- scripts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paged:
    num_blocks: int
    block_size: int
    caching: bool = True
    keep_unkeyed_first: bool = True
    num_host_blocks: int = 0

    def build(self, config):
        return BlockManager(
            self.num_blocks,
            self.block_size,
            prefix_caching=self.caching,
            keep_unkeyed_first=self.keep_unkeyed_first,
            num_host_blocks=self.num_host_blocks,
        )

    def sizes(self, request, config):
        """Blocks needed, present, and needed besides: for further samples, and the watermark."""
        stop = min(len(request.prompt) + request.max_tokens, config.max_model_len)
        needed = -(-(stop - 1) // self.block_size)
        kept = config.watermark_blocks if config.watermark_always else 0
        if config.fork_samples or request.beam is not None:
            own = needed - len(request.prompt) // self.block_size
            kept += (request.num_samples - 1) * own
        return needed, self.num_blocks, kept


@dataclass(frozen=True)
class Contiguous:
    num_slots: int
    placer: str = "first-fit"
    reservation: str = "oracle"

    def build(self, config):
        rule = RESERVATIONS[self.reservation](config.max_model_len)
        return ContiguousManager(PLACERS[self.placer](self.num_slots), rule, self.reservation)

    def sizes(self, request, config):
        prompt, longest = len(request.prompt), config.max_model_len
        stop = min(prompt + request.max_tokens, longest)
        final = stop if request.known_output is None else min(prompt + request.known_output, stop)
        power = min(p for p in (1, 2, 4, 8, 16, 32) if p >= max(final - prompt, 1))
        needed = {"max": longest, "pow2": min(prompt + power, longest), "oracle": final}
        slots = needed[self.reservation]
        piece = self.num_slots
        if self.placer == "buddy":
            piece = max(p for p in (1, 2, 4, 8, 16, 32, 64) if p <= piece)
        if slots > piece:
            return slots, piece, 0
        if self.placer == "buddy":
            slots = min(p for p in (1, 2, 4, 8, 16, 32, 64) if p >= slots)
        return slots, self.num_slots, config.watermark_blocks if config.watermark_always else 0


class Submit(NamedTuple):
    step: int
    request: Request


class Abort(NamedTuple):
    """``in_flight``: after the step is planned and before it is done, not before it."""

    step: int
    request: str
    in_flight: bool = False


class Reset(NamedTuple):
    step: int


class Fail(NamedTuple):
    """The step fails ``after`` nothing, after its copies, or after its writes."""

    step: int
    after: str


class Script(NamedTuple):
    memory: Paged | Contiguous
    config: SchedulerConfig
    inputs: tuple[Submit | Abort | Reset, ...]
    failures: tuple[Fail, ...] = ()


# -- strategies ------------------------------------------------------------------------------------------

token_ids = st.integers(1, 2)
prompts = st.one_of(
    st.integers(1, 12).map(lambda length: (1,) * length),
    st.lists(token_ids, min_size=1, max_size=12).map(tuple),
)


orders = st.sampled_from([FCFS, FCFS, FCFS, PRIORITY, SHORTEST_PROMPT, AGED_PRIORITY])
victims = st.sampled_from([None, None, None, LATEST, LEAST_PROGRESS, LARGEST])
modes = st.sampled_from([SWAP, BY_GROUP, CHEAPER, RECOMPUTE])
searches = st.builds(
    BeamSearch, st.sampled_from([1.0, 1.0, 0.0, 2.0, -1.0]), st.sampled_from(EarlyStopping)
)


@st.composite
def configs(draw):
    longest = draw(st.integers(8, 20))
    chunked = draw(st.sampled_from([True, True, False]))
    budget = draw(st.sampled_from([16, 8, 5, 3, 2, 1]))
    return SchedulerConfig(
        max_num_seqs=draw(st.sampled_from([8, 6, 4, 3, 2, 1])),
        max_tokens_per_step=budget if chunked else longest + budget,
        max_model_len=longest,
        chunked_prefill=chunked,
        long_prefill_chunk=draw(st.sampled_from([0, 0, 1, 3])),
        watermark_blocks=draw(st.sampled_from([0, 0, 1, 2])),
        watermark_always=draw(st.booleans()),
        admit_only_if_whole_prompt_fits=draw(st.booleans()),
        order=draw(orders),
        victim=draw(victims),
        preempt=draw(modes),
        fork_samples=draw(st.booleans()),
    )


@st.composite
def requests(draw, foretold):
    max_tokens = draw(st.sampled_from([8, 7, 6, 5, 4, 3, 2, 1]))
    known = st.none() | st.just(max_tokens)
    return Request(
        id=draw(st.sampled_from("abcdefghijklmnop")),
        prompt=draw(prompts),
        max_tokens=max_tokens,
        num_samples=draw(st.sampled_from([1, 1, 2, 3])),
        priority=draw(st.integers(0, 2)),
        salt=draw(st.sampled_from(["", "", "", "s"])),
        adapter=draw(st.sampled_from(["", "", "", "s"])),
        read_cache=draw(st.sampled_from([True, True, True, False])),
        stop_ids=frozenset(draw(st.sampled_from([(), (), (2,)]))),
        known_output=draw(known if foretold else st.integers(1, 8)),
        beam=draw(
            st.sampled_from([None, None, None, BeamSearch()]).flatmap(
                lambda b: searches if b else st.none()
            )
        ),
    )


@st.composite
def scripts(draw, memories, foretold=True, with_aborts=True):
    steps = st.sampled_from([0, 0, 0, 1, 2, 3, 5, 8])
    inputs = draw(st.lists(st.builds(Submit, steps, requests(foretold)), min_size=4, max_size=8))
    if not with_aborts:
        inputs = [
            entry._replace(request=replace(entry.request, id=f"{entry.request.id}{number}"))
            for number, entry in enumerate(inputs)
        ]
    else:
        names = [entry.request.id for entry in inputs] + ["unknown"]
        aborts = st.builds(Abort, steps, st.sampled_from(names), st.booleans())
        inputs += draw(st.lists(aborts, max_size=4))
        inputs += draw(st.lists(st.builds(Reset, steps), max_size=2))
        inputs = draw(st.permutations(inputs))
    after = st.sampled_from(["nothing", "copies", "writes"])
    failures = draw(st.lists(st.builds(Fail, st.integers(0, 12), after), max_size=5))
    return Script(draw(memories), draw(configs()), tuple(inputs), tuple(failures))


def paged_memories(caching, keep_unkeyed_first=True):
    sizes = st.tuples(
        st.integers(12, 32), st.sampled_from([2, 3, 4, 1]), st.sampled_from([0, 3, 12])
    )
    return sizes.map(
        lambda size: Paged(size[0] // size[1], size[1], caching, keep_unkeyed_first, size[2])
    )


def contiguous_memories(placer, reservation):
    return st.builds(Contiguous, st.integers(12, 64), st.just(placer), st.just(reservation))
