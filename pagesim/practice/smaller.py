"""Makes a failing example smaller, by trying simpler ones for as long as they fail in the same way.

Greedy, and the same in every process: no clock is looked at. Knows nothing about what is examined.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.practice.operations import Allocate, Extend, ExtendAll, Operation, SwapIn, Write
from pagesim.practice.whole_runs import Workload

T = TypeVar("T")
Size = tuple[int, int]
Example = tuple[Size, list[Operation]]
SIZES: tuple[Size, ...] = ((8, 4), (4, 4), (3, 4), (2, 4), (4, 2), (3, 2), (2, 2))
"""Blocks, and slots of each: those that are easiest to follow, first."""


def smaller(
    example: T, simpler: Callable[[T], Iterator[T]], fails: Callable[[T], bool], most: int
) -> T:
    """The simplest that still fails, after at most so many tries.

    What did not fail is not tried again before all else has been: after a success it goes on from where it was.
    """
    candidates = list(simpler(example))
    place = in_vain = 0
    for _ in range(most):
        if in_vain >= len(candidates):
            break
        candidate = candidates[place % len(candidates)]
        if fails(candidate):
            example, candidates, in_vain = candidate, list(simpler(candidate)), 0
        else:
            place, in_vain = place + 1, in_vain + 1
    return example


def simpler_rows(example: Example) -> Iterator[Example]:
    """Rows with less in them, the boldest first."""
    size, row = example
    for part in _without_parts(row):
        yield size, part
    for better in SIZES[: SIZES.index(size)] if size in SIZES else SIZES:
        yield better, row
    for number, operation in enumerate(row):
        for simple in _simpler_operations(operation):
            yield size, [*row[:number], simple, *row[number + 1 :]]


def simpler_workloads(workload: Workload) -> Iterator[Workload]:
    """Workloads with less in them, the boldest first."""
    requests = list(workload.requests)
    for part in _without_parts(requests):
        if part:
            yield replace(workload, requests=tuple(part))
    plain = SchedulerConfig(
        max_num_seqs=8,
        max_tokens_per_step=16,
        max_model_len=workload.config.max_model_len,
        preempt=workload.config.preempt,
        fork_samples=True,
    )
    for config in (plain, replace(workload.config, watermark_blocks=0)):
        if config != workload.config:
            yield replace(workload, config=config)
    for number, (step, request) in enumerate(requests):
        for simple in _simpler_requests(step, request):
            changed = [*requests[:number], simple, *requests[number + 1 :]]
            yield replace(workload, requests=tuple(sorted(changed, key=lambda pair: pair[0])))


def _without_parts(items: list[T]) -> Iterator[list[T]]:
    """Leaving out halves, quarters, ..., single ones; from the end on, as what comes last hangs on what came before."""
    size = max(len(items) // 2, 1)
    while size:
        for stop in range(len(items), 0, -size):
            yield items[: max(stop - size, 0)] + items[stop:]
        size //= 2


def _lower(number: int) -> Iterator[int]:
    """1, half of it, one less."""
    yield from dict.fromkeys(value for value in (1, number // 2, number - 1) if 1 <= value < number)


def _simpler_operations(operation: Operation) -> Iterator[Operation]:
    match operation:
        case Allocate(prompt=prompt):
            plain = Allocate(operation.seq, prompt)
            if operation != plain:
                yield plain
            for length in _lower(len(prompt)):
                yield operation._replace(prompt=prompt[:length])
            if any(token != 1 for token in prompt):
                yield operation._replace(prompt=(1,) * len(prompt))
            for name, value in Allocate._field_defaults.items():
                if getattr(operation, name) != value:
                    yield operation._replace(**{name: value})
        case Extend(by=by) | Write(by=by):
            if isinstance(operation, Write) and operation.tokens != (1,):
                yield operation._replace(tokens=(1,))
            for less in _lower(by):
                yield operation._replace(by=less)
        case ExtendAll(seqs=seqs, by=by):
            if len(seqs) == 1:
                yield Extend(seqs[0], by)
            for fewer in _without_parts(list(seqs)):
                if fewer:
                    yield operation._replace(seqs=tuple(fewer))
            for less in _lower(by):
                yield operation._replace(by=less)
        case SwapIn(by=by, keep_free=keep_free) if by or keep_free:
            yield operation._replace(by=0, keep_free=0)


def _simpler_requests(step: int, request: Request) -> Iterator[tuple[int, Request]]:
    if step:
        yield 0, request
    for samples in _lower(request.num_samples):
        yield step, replace(request, num_samples=samples)
    for length in _lower(len(request.prompt)):
        yield step, replace(request, prompt=request.prompt[:length])
    if any(token != 1 for token in request.prompt):
        yield step, replace(request, prompt=(1,) * len(request.prompt))
    for outputs in _lower(request.max_tokens):
        yield step, replace(request, max_tokens=outputs)
