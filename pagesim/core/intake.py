"""May a request be taken at all? Pure questions, asked once, when it is submitted.

Knows nothing about queues. Every answer is one sentence with what was given and what is allowed.
"""

from pagesim.core.content import Content, ranges_of
from pagesim.core.memory import KVCacheManager
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import Room, blocks_for

MAX_TOKEN_ID = 2**63 - 1  # keys hash token ids as signed 64-bit numbers
MOST_PENALTY = 10


def why_refused(request: Request, config: SchedulerConfig, memory: KVCacheManager) -> str | None:
    """Why the request can never be served, or ``None``."""
    num_prompt = len(request.prompt)
    if not num_prompt:
        return f"request {request.id} has an empty prompt; it needs at least 1 token"
    if request.max_tokens < 1 or request.num_samples < 1:
        return (
            f"request {request.id} asks for {request.num_samples} samples of {request.max_tokens} tokens; both "
            "must be 1 or more"
        )
    if num_prompt >= config.max_model_len:
        return (
            f"request {request.id} has {num_prompt:,} prompt tokens; at most {config.max_model_len - 1:,} fit the "
            f"model length of {config.max_model_len:,} with 1 output token"
        )
    if not _valid_ids(request):
        return f"request {request.id} has a token id outside 0 to 2**63 - 1"
    if request.beam is not None and not _valid_penalty(request.beam.length_penalty):
        return (
            f"request {request.id} has a length penalty of {request.beam.length_penalty}; it must be from "
            f"-{MOST_PENALTY} to {MOST_PENALTY}, with at most 6 decimals"
        )
    most = min(config.max_num_seqs, config.max_tokens_per_step)
    if is_group(request, config) and request.num_samples > most:
        return (
            f"request {request.id} asks for {request.num_samples} samples at once; max_num_seqs and "
            f"max_tokens_per_step allow {most}"
        )
    clause = memory.never_fits(Content(request.prompt), worst_room(request, config, memory))
    if clause is None:
        return None
    others = ""
    if is_group(request, config) and request.num_samples > 1:
        others = f" ({request.num_samples} samples at their longest, so that all can come back if preempted)"
    return f"request {request.id} {clause}{others}"


def is_group(request: Request, config: SchedulerConfig) -> bool:
    """Do its samples start as one and fork? Beams always do."""
    return request.beam is not None or (config.fork_samples and request.num_samples > 1)


def stop_length(request: Request, config: SchedulerConfig) -> int:
    """The length, prompt and outputs, at which each sample of the request ends at the latest."""
    return min(len(request.prompt) + request.max_tokens, config.max_model_len)


def final_length(request: Request, stop_at: int) -> int | None:
    """The length each sample truly ends at, where known; ``stop_at`` is the length it ends at at the latest."""
    if request.known_output is None:
        return None
    return min(stop_at, len(request.prompt) + request.known_output)


def worst_room(request: Request, config: SchedulerConfig, memory: KVCacheManager) -> Room:
    """The most memory the request may come to need; samples that fork share the prompt's full blocks."""
    limit = stop_length(request, config)
    keep_free = config.watermark_blocks if config.watermark_always else 0
    if is_group(request, config) and memory.can_share:
        block_size = memory.geometry.block_size
        own = blocks_for(limit - 1, block_size) - len(request.prompt) // block_size
        keep_free += (request.num_samples - 1) * own  # or it could not come back once preempted
    return Room(
        now=len(request.prompt),
        present=len(request.prompt),
        limit=limit,
        final=final_length(request, limit),
        keep_free=keep_free,
    )


def _valid_penalty(penalty: float) -> bool:
    """Logs keep it in whole millionths."""
    return abs(penalty) <= MOST_PENALTY and round(penalty * 1e6) / 1e6 == penalty


def _valid_ids(request: Request) -> bool:
    prompt = request.prompt
    parts = list(ranges_of(prompt))
    if parts:  # the ends of a range are its extremes: a lazy prompt is not walked
        return min(p.start for p in parts) >= 0 and max(p.stop for p in parts) <= MAX_TOKEN_ID + 1
    return min(prompt) >= 0 and max(prompt) <= MAX_TOKEN_ID
