"""The built-in workloads: who asks for how much, by name.

Knows nothing about memory or how requests are served. ``WORKLOADS`` is the registry. Lengths and
times are drawn from two generators, so that a seed gives the same requests at every rate, and the
first hundred of a thousand requests are the hundred one gets by asking for a hundred.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from random import Random

from pagesim.core.beam import BeamSearch
from pagesim.core.errors import InputError
from pagesim.core.request import Request
from pagesim.core.token_ids import ChainedRanges, FreshIds
from pagesim.sim.arrivals import all_at_once, bursty, poisson
from pagesim.sim.bulk import collection_paused
from pagesim.sim.length_model import LENGTH_MODELS, Lengths, load_length_model
from pagesim.sim.workload import Arrival, Workload

MAX_REQUESTS = 10_000_000
MAX_LENGTH = 10**9
MAX_SAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """What the workloads that are no histogram can be told. Lengths in tokens.

    ``fixed``, ``samples`` and ``shared-prefix`` use ``prompt_tokens`` and ``output_tokens`` as they
    are, ``uniform`` as the largest. ``prefix_tokens`` come before the prompt in ``shared-prefix``,
    the same for all. ``num_samples`` is for ``samples`` only.
    """

    prompt_tokens: int = 512
    output_tokens: int = 128
    prefix_tokens: int = 1_024
    num_samples: int = 4

    def __post_init__(self) -> None:
        for name, least, most in (
            ("prompt_tokens", 1, MAX_LENGTH),
            ("output_tokens", 1, MAX_LENGTH),
            ("prefix_tokens", 1, MAX_LENGTH),
            ("num_samples", 1, MAX_SAMPLES),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(f"{name} {value} was given; it must be from {least} to {most:,}")


@dataclass(frozen=True, slots=True)
class Order:
    """What one call of ``build_workload`` asked for, as the recipes see it."""

    name: str
    num_requests: int
    max_model_len: int | None
    options: WorkloadOptions


Recipe = Callable[[Order, Random], Iterator[Request]]


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One entry of the registry: what it is, in a sentence without its end, and how it is made."""

    about: str
    recipe: Recipe
    token_ids_known: bool = False


def build_workload(
    name: str,
    *,
    requests: int,
    rate: float | None,
    seed: int,
    max_model_len: int | None = None,
    cv: float = 1.0,
    options: WorkloadOptions | None = None,
) -> Workload:
    """A built-in workload of so many requests.

    ``rate`` is in requests per second; ``None``: all wait from the start. ``cv`` 1 makes Poisson
    arrivals, another value bursty ones. Requests longer than ``max_model_len`` (prompt + output)
    are redrawn, or refused where the lengths are not random. InputError for anything out of bounds.
    """
    kind = workload_kind(name)
    _check_whole("requests", requests, 1, MAX_REQUESTS)
    _check_whole("seed", seed, 0, 2**63 - 1)
    if max_model_len is not None:
        _check_whole("max_model_len", max_model_len, 2, 2 * MAX_LENGTH)
    times = _times(Random(f"arrivals {seed}"), rate, cv, requests)
    order = Order(name, requests, max_model_len, options or WorkloadOptions())
    with collection_paused():
        drawn = kind.recipe(order, Random(seed))
        arrivals = tuple(map(Arrival, times, drawn))
    return Workload(
        name=name,
        about=f"{requests:,} requests, seed {seed}: {kind.about}",
        arrivals=arrivals,
        saturated=rate is None,
        token_ids_known=kind.token_ids_known,
    )


def with_arrivals(workload: Workload, rate: float, cv: float, seed: int) -> Workload:
    """The same requests in the same order, arriving at ``rate`` a second. InputError for an impossible rate."""
    times = _times(Random(f"arrivals {seed}"), rate, cv, len(workload.arrivals))
    arrivals = tuple(Arrival(t, a.request) for t, a in zip(times, workload.arrivals, strict=True))
    return replace(workload, arrivals=arrivals, saturated=False)


def with_samples(workload: Workload, num_samples: int, *, beam: bool) -> Workload:
    """The same requests, each asking for so many answers: drawn each for itself, or beams of one search.

    InputError for an impossible number.
    """
    _check_whole("samples", num_samples, 1, MAX_SAMPLES)
    search = BeamSearch() if beam else None
    arrivals = tuple(
        [
            Arrival(time_ns, replace(request, num_samples=num_samples, beam=search))
            for time_ns, request in workload.arrivals
        ]
    )
    kind = f"beams of width {num_samples}" if beam else f"{num_samples} samples each"
    about = f"{workload.about}; {kind}"
    return replace(workload, arrivals=arrivals, about=about)


def workload_kind(name: str) -> WorkloadKind:
    """The entry of that name. InputError for an unknown one."""
    kind = WORKLOADS.get(name)
    if kind is None:
        raise InputError(f"no workload is named {name!r}; known are {', '.join(WORKLOADS)}")
    return kind


def natural_rate(name: str) -> float | None:
    """Requests per second in the data behind a workload; ``None`` where the data hold no times."""
    workload_kind(name)
    return load_length_model(name).natural_rate if name in LENGTH_MODELS else None


def _check_whole(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{what} {value} was given; it must be from {least:,} to {most:,}")


def _times(rng: Random, rate: float | None, cv: float, count: int) -> Iterator[int]:
    if rate is None:
        return all_at_once(count)
    return poisson(rng, rate, count) if cv == 1 else bursty(rng, rate, cv, count)


def _requests(lengths: Iterator[Lengths]) -> Iterator[Request]:
    """Requests whose words nobody knows, called r1, r2, ..."""
    fresh = FreshIds()
    for number, (prompt, output) in enumerate(lengths, start=1):
        yield Request(f"r{number}", fresh.take(prompt), output, known_output=output)


def _counted(order: Order, rng: Random) -> Iterator[Request]:
    """Lengths drawn from the histogram of the workload's name."""
    model = load_length_model(order.name)
    return _requests(model.sample(rng, order.num_requests, max_total=order.max_model_len))


def _uniform(order: Order, rng: Random) -> Iterator[Request]:
    """Every length from 1 to the largest is as likely as any other."""
    return _requests(_uniform_lengths(order, rng))


def _uniform_lengths(order: Order, rng: Random) -> Iterator[Lengths]:
    prompts, outputs = order.options.prompt_tokens, order.options.output_tokens
    limit = order.max_model_len or prompts + outputs
    prompts, outputs = min(prompts, limit - 1), min(outputs, limit - 1)
    random = rng.random
    for _ in range(order.num_requests):
        total = limit + 1
        while total > limit:
            prompt, output = 1 + int(random() * prompts), 1 + int(random() * outputs)
            total = prompt + output
        yield Lengths(prompt, output)


def _fixed(order: Order, _rng: Random) -> Iterator[Request]:
    """All alike."""
    return _requests(_alike(order, order.options.prompt_tokens))


def _samples(order: Order, rng: Random) -> Iterator[Request]:
    """All alike, each answered several times over."""
    for request in _fixed(order, rng):
        yield replace(request, num_samples=order.options.num_samples)


def _shared_prefix(order: Order, _rng: Random) -> Iterator[Request]:
    """One system prompt for all, then a question of each request's own."""
    options, fresh = order.options, FreshIds()
    system = range(options.prefix_tokens)
    lengths = _alike(order, options.prefix_tokens + options.prompt_tokens)
    for number, (_, output) in enumerate(lengths, start=1):
        prompt = ChainedRanges((system, fresh.take(options.prompt_tokens)))
        yield Request(f"r{number}", prompt, output, known_output=output)


def _alike(order: Order, prompt: int) -> Iterator[Lengths]:
    """The same lengths for all. InputError, at once, where they exceed the model."""
    output, limit = order.options.output_tokens, order.max_model_len
    if limit is not None and prompt + output > limit:
        raise InputError(
            f"{order.name} has prompts of {prompt} and outputs of {output} tokens, more than "
            f"max_model_len {limit}; give shorter ones"
        )
    return repeat(Lengths(prompt, output), order.num_requests)


WORKLOADS: dict[str, WorkloadKind] = {
    "sharegpt": WorkloadKind("lengths as in ShareGPT, prompt + output up to 2048", _counted),
    "alpaca": WorkloadKind("lengths as in Alpaca: short questions, short answers", _counted),
    "azure-chat": WorkloadKind(
        "lengths as in a chat service of Azure in 2023",
        _counted,
    ),
    "azure-code": WorkloadKind(
        "lengths as in a coding service of Azure in 2023: long prompts, short answers",
        _counted,
    ),
    "uniform": WorkloadKind("every length up to the largest equally likely", _uniform),
    "fixed": WorkloadKind("all requests alike", _fixed),
    "shared-prefix": WorkloadKind(
        "one system prompt shared by all, then a question of one's own",
        _shared_prefix,
        token_ids_known=True,
    ),
    "samples": WorkloadKind("all requests alike, each answered several times over", _samples),
}
