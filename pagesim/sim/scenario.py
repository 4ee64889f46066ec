"""Small stories as files: a memory, rules, and requests that come in at given steps, in TOML.

    [memory]                        [[request]]
    blocks = 8                      id = "A"
    block_size = 4                  prompt = "Four score and seven years ago our"
    free_order = [7, 1, 3]          outputs = 2

One step takes one millisecond of simulated time, so that what says ``step = 3`` comes in before step 3 (unless
nothing was there to do before: steps in which nothing runs are passed over). Knows nothing about drawing.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from pagesim.core.beam import BeamSearch, Candidate, EarlyStopping
from pagesim.core.errors import InputError
from pagesim.core.loop import Arriving, ServingLoop
from pagesim.core.memories import PLACERS, MemorySettings, build_memory
from pagesim.core.memory import KVCacheManager
from pagesim.core.order import FCFS
from pagesim.core.plan import samples_due
from pagesim.core.preempt_mode import RECOMPUTE, SWAP
from pagesim.core.request import Abort, Request, ResetCache
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState
from pagesim.core.token_ids import FreshIds
from pagesim.sim.allocators import ALLOCATORS, FREED_BLOCKS_GO, UNKEYED_FIRST
from pagesim.sim.beam_script import BeamScript, parse_step
from pagesim.sim.beam_tokens import seeded_candidates
from pagesim.sim.executor import STEP_NS, StepClock
from pagesim.sim.policies import order_named, preempt_mode_named, victim_named
from pagesim.sim.scenario_fields import Fields
from pagesim.sim.simulate import MakeListeners, put_together

T = TypeVar("T")
MOST_BLOCKS, MOST_TOKENS, MOST_REQUESTS = 1_000_000, 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """One story. ``look_for`` says what to watch; ``source`` where it is from, if from somewhere."""

    name: str
    title: str
    look_for: str
    source: str
    allocator: str
    memory: MemorySettings
    free_order: Sequence[int] | None
    scheduler: SchedulerConfig
    arrivals: tuple[tuple[int, Arriving], ...]
    outputs: Mapping[str, Sequence[int]]  # scripted output tokens by sequence name
    beam_scripts: Mapping[str, BeamScript]  # by request
    words: Sequence[str] = ()  # a word's position is its token id

    def loop(
        self, make_listeners: MakeListeners | None = None, memory: KVCacheManager | None = None
    ) -> ServingLoop:
        """A fresh run of the story, not started. ``memory``: another one than the story's own."""
        memory = memory or build_memory(self.allocator, self.memory, self.free_order)
        clock = StepClock(Scripted(self.outputs, self.beam_scripts))
        return put_together(memory, self.scheduler, clock, self.arrivals, make_listeners)


class Scripted:
    """Scripted tokens where there are any, else ones that nobody had before."""

    def __init__(
        self, outputs: Mapping[str, Sequence[int]], beam_scripts: Mapping[str, BeamScript]
    ) -> None:
        self._outputs = outputs
        self._beam_scripts = beam_scripts
        self._next = 3 << 61

    def sample(self, sampling: Sequence[SequenceState]) -> list[int]:
        return [self._token(seq, sample) for seq, sample in samples_due(sampling)]

    def candidates(self, beams: Sequence[SequenceState]) -> list[Sequence[Candidate]]:
        found: list[Sequence[Candidate]] = []
        for name, search in groupby(beams, key=lambda seq: seq.request.id):
            together = list(search)
            script = self._beam_scripts.get(name)
            if script is not None and script.covers(together[0]):
                found += script.candidates(together)
            else:
                found += seeded_candidates(together)
        return found

    def _token(self, seq: SequenceState, sample: int) -> int:
        several = seq.request.num_samples > 1
        script = self._outputs.get(f"{sample}_{seq.request.id}" if several else seq.request.id)
        if script is not None:
            return script[seq.num_outputs]
        self._next += 1
        return self._next


def scenario_names() -> list[str]:
    """The stories that come with pagesim."""
    folder = files("pagesim.sim") / "scenarios"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def load_scenario(name: str) -> Scenario:
    """A shipped story by name, or a ``.toml`` file. Raises InputError naming the file, the field and the value."""
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_bytes()
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}") from None
        return parse_scenario(path.name, path.stem, text, path.parent)
    if name not in scenario_names():
        raise InputError(f"no scenario is named {name!r}; known are {', '.join(scenario_names())}")
    text = (files("pagesim.sim") / "scenarios" / f"{name}.toml").read_bytes()
    return parse_scenario(f"{name}.toml", name, text)


def parse_scenario(file: str, name: str, text: bytes, folder: Path = Path()) -> Scenario:
    """The story that ``text`` tells; ``folder`` is where its policies' files are. Raises InputError."""
    try:
        table = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is not TOML: {error}") from None
    top = Fields(file, "", table)
    title = top.text("title", name)
    look_for, source = top.text("look_for", ""), top.text("source", "")
    memory = top.table("memory")
    allocator = memory.choice("allocator", ALLOCATORS, "paged")
    rules = top.table("rules")
    max_model_len = rules.whole("max_model_len", 2048, 2, MOST_TOKENS)
    settings, free_order = _memory(memory, allocator, max_model_len)
    scheduler = _scheduler(rules, max_model_len, folder, can_swap=settings.host_slots > 0)
    scripts = _Scripts()
    arrivals: list[tuple[int, Arriving]] = []
    requests = top.tables("request", MOST_REQUESTS)
    if not requests:
        raise InputError(f"{file} has no [[request]]; a scenario needs at least one")
    for entry in requests:
        at = entry.whole("step", 0, 0, MOST_TOKENS) * STEP_NS
        arrivals.append((at, _request(entry, scripts)))
    for entry in top.tables("abort", MOST_REQUESTS):
        at = entry.whole("step", 0, 0, MOST_TOKENS) * STEP_NS
        arrivals.append((at, Abort(entry.required_text("id"))))
        entry.finish()
    for entry in top.tables("reset_cache", MOST_REQUESTS):
        arrivals.append((entry.whole("step", 0, 0, MOST_TOKENS) * STEP_NS, ResetCache()))
        entry.finish()
    top.finish()
    arrivals.sort(key=lambda arrival: arrival[0])
    return Scenario(
        name,
        title,
        look_for,
        source,
        allocator,
        settings,
        free_order,
        scheduler,
        tuple(arrivals),
        scripts.outputs,
        scripts.beams,
        tuple(scripts.words),
    )


@dataclass(slots=True)
class _Scripts:
    """What is gathered while requests are read: the words known so far, and what is to be sampled."""

    words: dict[str, int] = field(default_factory=dict)
    fresh: FreshIds = field(default_factory=FreshIds)
    outputs: dict[str, Sequence[int]] = field(default_factory=dict)
    beams: dict[str, BeamScript] = field(default_factory=dict)

    def token_of(self, word: str) -> int:
        return self.words.setdefault(word, len(self.words))


def _memory(
    memory: Fields, allocator: str, max_model_len: int
) -> tuple[MemorySettings, Sequence[int] | None]:
    if allocator != "paged":
        slots = memory.whole("slots", 64, 1, MOST_BLOCKS)
        placer = memory.choice("placer", tuple(PLACERS), "first-fit")
        memory.finish()
        return MemorySettings(slots, 1, max_model_len, placer), None
    num_blocks = memory.whole("blocks", 16, 1, MOST_BLOCKS)
    block_size = memory.whole("block_size", 4, 1, MOST_TOKENS)
    caching = memory.flag("prefix_caching", default=False)
    freed = memory.choice("freed_blocks_go", FREED_BLOCKS_GO, UNKEYED_FIRST)
    order = memory.numbers("free_order", num_blocks)
    num_host_blocks = memory.whole("host_blocks", 0, 0, MOST_BLOCKS)
    memory.finish()
    settings = MemorySettings(
        num_blocks * block_size,
        block_size,
        max_model_len,
        prefix_caching=caching,
        keep_unkeyed_first=freed == UNKEYED_FIRST,
        host_slots=num_host_blocks * block_size,
    )
    return settings, order


def _scheduler(
    rules: Fields, max_model_len: int, folder: Path, *, can_swap: bool
) -> SchedulerConfig:
    """Policies of a file are looked for beside the story's own."""

    def beside(parse: Callable[[str], T]) -> Callable[[str], T]:
        return lambda text: parse(str(folder / text) if ":" in text else text)

    preempt = rules.parsed("preempt", beside(preempt_mode_named))
    if preempt not in (None, RECOMPUTE) and not can_swap:
        raise rules.error("preempt", preempt.name, "recompute, unless memory.host_blocks is there")
    config = SchedulerConfig(
        max_num_seqs=rules.whole("max_num_seqs", 256, 1, MOST_TOKENS),
        max_tokens_per_step=rules.whole("max_tokens_per_step", MOST_TOKENS, 1, MOST_TOKENS),
        max_model_len=max_model_len,
        chunked_prefill=rules.flag("chunked_prefill", default=True),
        long_prefill_chunk=rules.whole("long_prefill_chunk", 0, 0, MOST_TOKENS),
        watermark_blocks=rules.whole("watermark_blocks", 0, 0, MOST_BLOCKS),
        watermark_always=rules.flag("watermark_always", default=False),
        order=rules.parsed("order", beside(order_named)) or FCFS,
        victim=rules.parsed("victim", beside(victim_named)),
        preempt=preempt or (SWAP if can_swap else RECOMPUTE),
        fork_samples=rules.flag("fork_samples", default=True),
    )
    rules.finish()
    return config


def _request(entry: Fields, scripts: _Scripts) -> Request:
    """One [[request]]: its prompt is a number of tokens, a list of token ids, or words."""
    name = entry.required_text("id")
    width = entry.whole("beams", 0, 0, 1000)
    samples = entry.whole("samples", max(width, 1), 1, 1000)
    if width and samples != width:
        raise entry.error("samples", samples, "nothing: beams says how many there are")
    prompt = entry.tokens("prompt", scripts.words, scripts.fresh)
    stop_ids = frozenset(entry.words("stop", scripts.token_of))
    for only in ("beam_script", "length_penalty", "early_stopping"):
        if not width and entry.has(only):
            raise entry.error(only, "this", "only beside beams, which says how many there are")
    beam = _beam_search(entry, name, width, stop_ids, scripts) if width else None
    if beam is not None:
        known = entry.whole("outputs", len(scripts.beams[name].steps), 1, MOST_TOKENS)
    else:
        known = _sampled(entry, name, samples, scripts)
    request = Request(
        name,
        prompt,
        known,
        samples,
        entry.whole("priority", 0, -MOST_TOKENS, MOST_TOKENS),
        entry.text("salt", ""),
        entry.text("adapter", ""),
        entry.flag("read_cache", default=True),
        stop_ids,
        known_output=known,
        beam=beam,
    )
    entry.finish()
    return request


def _sampled(entry: Fields, name: str, samples: int, scripts: _Scripts) -> int:
    """Reads what is sampled; returns how many tokens that is for each sample."""
    script = entry.scripts("outputs", scripts.words)
    if isinstance(script, int):
        return script
    if len(script) != samples:
        raise entry.error("outputs", f"{len(script)} scripts", f"as many as samples: {samples}")
    for number, tokens in enumerate(script):
        scripts.outputs[name if samples == 1 else f"{number}_{name}"] = tokens
    if len({len(tokens) for tokens in script}) > 1:
        raise entry.error("outputs", "scripts of several lengths", "scripts of one length")
    return max(map(len, script))


def _beam_search(
    entry: Fields, name: str, width: int, stop_ids: frozenset[int], scripts: _Scripts
) -> BeamSearch:
    steps = []
    for number, text in enumerate(entry.texts("beam_script")):
        try:
            steps.append(
                parse_step(text, width, width if number else 1, scripts.token_of, stop_ids)
            )
        except ValueError as error:
            allowed = f"one BEAM:WORD for each beam, best first ({error})"
            raise entry.error("beam_script", text, allowed) from None
    scripts.beams[name] = BeamScript(tuple(steps))
    stopping = entry.choice("early_stopping", tuple(e.value for e in EarlyStopping), "heuristic")
    return BeamSearch(entry.number("length_penalty", 1.0, -10, 10), EarlyStopping(stopping))
