"""When requests arrive: all at once, at random, or in bursts; in whole nanoseconds, the first at 0.

Knows nothing about what the requests are. Every process is drawn from a ``random.Random`` that the
caller seeds. Gaps go through the logarithm (and, for bursts, ``Random.gammavariate``, whose method
Python has not changed since 2.4 but does not promise): a seed means the same times on one machine,
and up to the last nanoseconds of a gap on any other.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate, chain, islice, repeat
from math import log
from random import Random

from pagesim.core.errors import InputError

MIN_RATE, MAX_RATE = 1e-6, 1e9  # requests per second
MIN_CV, MAX_CV = 0.01, 100.0
_NS = 10**9


def all_at_once(count: int) -> Iterator[int]:
    """``count`` requests at time 0."""
    return repeat(0, count)


def poisson(rng: Random, rate: float, count: int) -> Iterator[int]:
    """Arrivals that do not know of each other, ``rate`` per second on average: exponential gaps.

    InputError, before the first is drawn, for a rate outside ``MIN_RATE`` to ``MAX_RATE``.
    """
    check_rate(rate)
    random = rng.random
    return _running(lambda: -log(1.0 - random()) / rate, count)


def bursty(rng: Random, rate: float, cv: float, count: int) -> Iterator[int]:
    """``rate`` per second on average, with gamma gaps whose deviation is ``cv`` times their mean.

    1 is as even as ``poisson``, more comes in bursts, less is more regular. InputError, before the
    first is drawn, for a rate or a cv out of bounds.
    """
    check_rate(rate)
    if not MIN_CV <= cv <= MAX_CV:
        raise InputError(f"a cv of {cv} was given; it must be from {MIN_CV:g} to {MAX_CV:g}")
    shape = 1.0 / (cv * cv)
    scale = 1.0 / (rate * shape)
    return _running(lambda: rng.gammavariate(shape, scale), count)


def check_rate(rate: float) -> None:
    """InputError unless the rate is a number of requests per second that can be simulated."""
    if not MIN_RATE <= rate <= MAX_RATE:  # refuses nan as well
        raise InputError(
            f"a rate of {rate} requests per second was given; it must be from {MIN_RATE:g} "
            f"to {MAX_RATE:g}"
        )


def _running(gap_s: Callable[[], float], count: int) -> Iterator[int]:
    gaps = (round(gap_s() * _NS) for _ in range(count - 1))
    return islice(accumulate(chain((0,), gaps)), count)
