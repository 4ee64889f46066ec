"""A workload's requests as a model can take them: token ids of its vocabulary, answers of the workload's lengths.

Token ids that were equal stay equal, so what prompts have in common they still have.
"""

from collections.abc import Iterator
from dataclasses import replace

from pagesim.core.request import Request
from pagesim.sim.workload import Workload

SPREAD = 0x9E3779B97F4A7C15


def real_requests(workload: Workload, vocab_size: int) -> Iterator[tuple[int, Request]]:
    """(time in ns, request) in order of arrival; no request stops before its length."""
    for time_ns, request in workload.arrivals:
        prompt = [(token * SPREAD % 2**64 >> 20) % vocab_size for token in request.prompt]
        yield time_ns, replace(request, prompt=prompt, stop_ids=frozenset())
