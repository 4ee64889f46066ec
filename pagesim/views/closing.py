"""A sentence or two that say what a comparison showed, computed from its figures.

Knows nothing about drawing. What figures do not support is not said: times are set against each
other only where every run served the same requests, and memory only where steps ran.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pagesim.core.types import Geometry
from pagesim.replay.report import RunReport
from pagesim.views.figures import counted, format_durations, format_mean

PHRASES: Mapping[str, str] = {
    "max": "reserving the maximum",
    "pow2": "rounding the output up to a power of two",
    "oracle": "reserving the true length",
    "paged": "paged memory",
    "paged-requests": "paged memory with samples as requests",
}
"""How an allocator is called in a sentence; others by their name."""

CLOSE = 0.02
"""Ratios nearer to 1 than this are called equal."""

MUCH_FREE = 5.0
"""Percent of memory that stays free before it is worth a sentence."""


class RunLike(Protocol):
    """What a view needs of a run."""

    @property
    def allocator(self) -> str: ...
    @property
    def geometry(self) -> Geometry: ...
    @property
    def report(self) -> RunReport: ...


def closing(results: Sequence[RunLike]) -> list[str]:
    """Sentences on all of ``results``; at least one."""
    served = [run for run in results if run.report.num_finished]
    if not served:
        return [_nothing_served(results)]
    ran = [run for run in served if run.report.mean_requests and run.report.waste]
    if not ran:
        return ["Requests were served, but no step was measured."]
    subject = next((run for run in ran if run.allocator == "paged"), None) or _most(ran)
    others = [run for run in ran if run is not subject]
    if not others:
        sentences = [_alone(subject)]
    else:
        if _alike([subject, *others]):
            sentences = [_compared(subject, others), *_better_ones(subject, others)]
        else:
            sentences = [_peaks(subject, _rival(others))]
        sentences += _times(subject, others, all_served=len(ran) == len(results))
    return [*sentences, *_unserved(results), *_idle(ran)]


def phrase(allocator: str) -> str:
    return PHRASES.get(allocator, allocator)


def _start(allocator: str) -> str:
    """A phrase at the beginning of a sentence; a name that is no phrase stays as it is."""
    text = phrase(allocator)
    return text[:1].upper() + text[1:] if allocator in PHRASES else text


def _most(runs: Sequence[RunLike]) -> RunLike:
    return max(runs, key=_mean)


def _mean(run: RunLike) -> float:
    return run.report.mean_requests or 0.0


def _alike(runs: Sequence[RunLike]) -> bool:
    """Were all means taken over the same kind of steps? If not, they must not be set against each other."""
    return len({run.report.window.why for run in runs}) == 1


def _peaks(subject: RunLike, rival: RunLike) -> str:
    mine, theirs = subject.report.peak_requests, rival.report.peak_requests
    how = "as many as" if mine == theirs else "more than" if mine > theirs else "fewer than"
    return (
        f"{_start(subject.allocator)} held up to {counted(mine, 'request')} at once, {how} "
        f"{phrase(rival.allocator)} ({theirs:,}); their means are of different steps, since the queue emptied early."
    )


def _used(run: RunLike) -> str:
    assert run.report.waste is not None
    return f"{run.report.waste.percent()['used']:.0f} %"


def _rival(others: Sequence[RunLike]) -> RunLike:
    """Whom to compare with: the plainest rule, reserving the maximum; else who held least."""
    plain = next((run for run in others if run.allocator == "max"), None)
    return plain or min(others, key=_mean)


def _compared(subject: RunLike, others: Sequence[RunLike]) -> str:
    rival = _rival(others)
    ratio = _mean(subject) / _mean(rival)
    if abs(ratio - 1) < CLOSE:
        how = "about as many requests at once as"
    elif ratio > 1:
        how = (
            f"{ratio:.1f} times as many requests at once as" if ratio >= 1.05 else _slightly("more")
        )
    else:
        how = "fewer requests at once than"
    means = f"{format_mean(_mean(subject))} against {format_mean(_mean(rival))}"
    return (
        f"{_start(subject.allocator)} held {how} {phrase(rival.allocator)} ({means}, on average); "
        f"{_used(subject)} of the memory held tokens, against {_used(rival)}."
    )


def _slightly(word: str) -> str:
    return f"slightly {word} requests at once than"


def _better_ones(subject: RunLike, others: Sequence[RunLike]) -> list[str]:
    best = _most(others)
    if _mean(best) <= _mean(subject) * (1 + CLOSE) or best is _rival(others):
        return []
    return [
        f"The most requests at once were held by {phrase(best.allocator)}: {format_mean(_mean(best))}."
    ]


def _times(subject: RunLike, others: Sequence[RunLike], *, all_served: bool) -> list[str]:
    rival = _rival(others)
    mine, theirs = subject.report, rival.report
    same = mine.num_finished == theirs.num_finished and mine.output_tokens == theirs.output_tokens
    if not all_served or not same or not mine.duration_s or not theirs.duration_s:
        return []
    shown = format_durations([mine.duration_s, theirs.duration_s])
    if shown[0] == shown[1]:
        return [f"Both took the same time for the same requests: {shown[0]}."]
    return [
        f"The same {counted(mine.num_finished, 'request')} took {shown[0]} instead of {shown[1]}."
    ]


def _alone(run: RunLike) -> str:
    return (
        f"{_start(run.allocator)} held {format_mean(_mean(run))} requests at once, on average; "
        f"{_used(run)} of the memory held tokens."
    )


def _unserved(results: Sequence[RunLike]) -> list[str]:
    short = [run for run in results if run.report.num_finished < run.report.num_requests]
    if not short:
        return []
    parts = [
        f"{run.report.num_requests - run.report.num_finished:,} of "
        f"{run.report.num_requests:,} with {phrase(run.allocator)}"
        for run in short
    ]
    return [f"Requests not served: {', '.join(parts)}."]


def _idle(ran: Sequence[RunLike]) -> list[str]:
    """Where much memory was free, figures say what the load needed, not what the memory can do."""
    free = []
    for run in ran:
        assert run.report.waste is not None
        share = run.report.waste.percent()["free"]
        if share >= MUCH_FREE:
            free.append(f"{share:.0f} % with {phrase(run.allocator)}")
    if not free:
        return []
    return [f"Memory that stayed free because nobody waited for it: {', '.join(free)}."]


def _nothing_served(results: Sequence[RunLike]) -> str:
    if not results:
        return "Nothing was run."
    report = results[0].report
    if not report.num_requests:
        return "There was no request to serve."
    if all(run.report.num_refused == run.report.num_requests for run in results):
        return "No request was served: every one was refused."
    return "No request was served to its end."
