"""What a person typed at a prompt, turned into a place, a request or a block.

Each function raises InputError with one sentence where it makes no sense. Knows nothing about screens.
"""

from pagesim.core.errors import InputError
from pagesim.core.types import BlockId
from pagesim.tui.viewed import ViewedRun


def place_typed(run: ViewedRun, text: str) -> int:
    """``12`` or ``s12``: the place of step 12; ``e345``: event 345."""
    word = text.strip().replace(",", "").replace("_", "").lower()
    kind, digits = (word[0], word[1:].strip()) if word[:1] in ("e", "s") else ("s", word)
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise InputError(f"{text.strip()[:40]!r} is no step (12) and no event (e345)")
    number = int(digits)
    if kind == "e":
        if number > run.survey.end:
            raise InputError(f"there is no event {number:,}: events are 1 to {run.survey.end:,}")
        return number
    places = run.cursor.step_places
    if number >= len(places):
        if not places:
            raise InputError("this run has no steps; e1 is its first event")
        raise InputError(f"there is no step {number:,}: steps are 0 to {len(places) - 1:,}")
    return min(places[number], run.survey.end)


def request_typed(run: ViewedRun, text: str) -> str | None:
    """The request or sample (r1.2) of that name, else the first request whose name begins so; ``None``: the survey
    may still find it."""
    wanted = text.strip()
    if not wanted:
        raise InputError("type the first letters of a request's name")
    requests = run.survey.requests
    if wanted in requests or wanted in run.survey.samples:
        return wanted
    found = next((name for name in requests if name.startswith(wanted)), None)
    if found is None and run.survey.done:
        some = ", ".join(name[:20] for name in list(requests)[:3])
        raise InputError(
            f"no request begins with {wanted[:40]!r}; there are {len(requests):,}: {some}, ..."
        )
    return found


def block_typed(run: ViewedRun, text: str) -> BlockId:
    """``7`` on the device; ``h2`` on the host, which may also be called by its number in the log."""
    geometry = run.cursor.geometry
    word = text.strip().replace(",", "").lstrip("#").lower()
    first = geometry.num_blocks if word[:1] == "h" else 0
    digits = word.removeprefix("h")
    if digits.isascii() and digits.isdigit() and len(digits) <= 18:
        block = first + int(digits)
        if block < geometry.num_blocks_in_all:
            return block
    known = f"they are 0 to {geometry.num_blocks - 1:,}"
    if geometry.num_host_blocks:
        known += f", and h0 to h{geometry.num_host_blocks - 1:,} on the host"
    raise InputError(f"{text.strip()[:40]!r} is no block: {known}")
