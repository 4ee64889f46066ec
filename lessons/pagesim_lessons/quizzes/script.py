"""Scripts over paged memory: requests that start, grow, fork and end, played on the real block manager.

The player says each thing it did in a sentence: a problem's working. Knows nothing about questions.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.types import Copy, Grant, Room, blocks_for
from pagesim.replay.phrases import counted
from pagesim_lessons.quizzes.wording import ids

PROMPT_IDS = 1_000
"""Token ids of prompt ``i`` begin at ``i`` times this: no two prompts have a token in common."""


class Pool(NamedTuple):
    """A paged memory. ``free`` is its first free list, the block to be taken next first. ``to_front``: where freed
    blocks without cached content go; else all go to the back."""

    free: tuple[int, ...]
    block_size: int
    to_front: bool = True
    caching: bool = False

    def given(self) -> dict[str, object]:
        return {
            "block_size": self.block_size,
            "free_list": self.free,
            "freed_blocks_go": "to the front" if self.to_front else "to the back",
        }


class Op(NamedTuple):
    """``kind`` is start, grow, fork or end. ``tokens`` are the request's whole length after it; ``other`` is a fork's
    parent, or whose prompt a start repeats."""

    kind: str
    name: str
    tokens: int = 0
    other: str = ""


def told(op: Op) -> str:
    """The line of a problem that gives the operation."""
    match op.kind:
        case "start" if op.other:
            return f"{op.name} starts with the same prompt as {op.other}: {op.tokens} tokens"
        case "start":
            return f"{op.name} starts with a prompt of {op.tokens} tokens"
        case "grow":
            return f"{op.name} grows to {op.tokens} tokens"
        case "fork":
            return f"{op.name} forks from {op.other}"
        case _:
            return f"{op.name} ends"


def given(ops: Sequence[Op]) -> list[object]:
    """The script as plain data."""
    return [[op.kind, op.name, op.tokens, op.other] for op in ops]


class Player:
    """Plays operations one by one on a ``BlockManager``. The only one that knows sequence numbers.

    ``said`` has a sentence for each; ``copies`` and ``evicted`` are in order; ``in_place`` are those who wrote into
    a block that they had shared, as its last owner.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.manager = BlockManager(
            len(pool.free),
            pool.block_size,
            prefix_caching=pool.caching,
            keep_unkeyed_first=pool.to_front,
            free_order=pool.free,
        )
        self.tokens: dict[str, int] = {}
        self.said: list[str] = []
        self.copies: list[Copy] = []
        self.evicted: list[int] = []
        self.in_place: list[str] = []
        self.cached: dict[str, int] = {}  # tokens found in the cache, by who started
        self._numbers: dict[str, int] = {}
        self._prompts: dict[str, range] = {}
        self._once_shared: set[int] = set()

    # -- questions ---------------------------------------------------------------------------------------

    def table(self, name: str) -> tuple[int, ...]:
        return tuple(self.manager.table(self._numbers[name]))

    def free_list(self) -> list[int]:
        return list(self.manager.pool.free_queue())

    def ref_count(self, block: int) -> int:
        return self.manager.pool.ref_counts[block]

    def cached_free(self) -> list[int]:
        """Free blocks that hold cached content, the next to be taken first."""
        return [block for block in self.free_list() if self.manager.index.keys[block] is not None]

    @property
    def begins(self) -> str:
        """The first two steps of the working: a strong hint."""
        return f"It begins so: {' '.join(self.said[:2])}"

    @property
    def living(self) -> list[str]:
        return list(self.tokens)

    # -- commands ----------------------------------------------------------------------------------------

    def play(self, op: Op) -> bool:
        """``False``, and nothing changed: there is no room for it."""
        match op.kind:
            case "start":
                return self._start(op)
            case "grow":
                return self._grow(op)
            case "fork":
                return self._fork(op)
            case _:
                return self._end(op)

    def _start(self, op: Op) -> bool:
        number = len(self._numbers)
        first = PROMPT_IDS * (number + 1)
        prompt = self._prompts.get(op.other, range(first, first + op.tokens))
        content = Content(prompt)
        room = Room(now=op.tokens, present=op.tokens, limit=op.tokens)
        grant = self.manager.allocate(number, content, room)
        if grant is None:
            return False
        self._numbers[op.name], self.tokens[op.name] = number, op.tokens
        self._prompts[op.name], self.cached[op.name] = prompt, grant.cached_tokens
        self.manager.publish(number, content, op.tokens)
        self.evicted += grant.evicted
        size = self.pool.block_size
        needed = blocks_for(op.tokens, size)
        text = f"{op.name} starts: {op.tokens} / {size}, rounded up, is {counted(needed, 'block')}"
        if grant.shared:
            text += f"; {ids(grant.shared)} are found in the cache"
        self._say(text + _taken(grant) + ".")
        return True

    def _grow(self, op: Op) -> bool:
        number, size = self._numbers[op.name], self.pool.block_size
        before = self.tokens[op.name]
        grant = self.manager.extend(number, op.tokens)
        if grant is None:
            return False
        self.tokens[op.name] = op.tokens
        self.copies += grant.copies
        text = f"{op.name} grows from {before} to {op.tokens} tokens"
        if grant.copies:
            copy = grant.copies[0]
            text += (
                f": it would write to block {copy.source}, which others list too, so it takes {copy.target} in its "
                f"place (copied: {counted(copy.num_slots, 'slot')})"
            )
            if len(grant.taken) > 1:
                text += f", and then {ids(grant.taken[1:])}"
        elif before % size and self.table(op.name)[before // size] in self._once_shared:
            block = self.table(op.name)[before // size]
            self.in_place.append(op.name)
            text += f": nobody else lists block {block} any more, so it writes in place"
            text += _taken(grant) if grant.taken else ""
        else:
            text += f": {counted(blocks_for(op.tokens, size), 'block')} in all" + _taken(grant)
        self._say(text + ".")
        return True

    def _fork(self, op: Op) -> bool:
        number = len(self._numbers)
        self.manager.fork(self._numbers[op.other], number, op.tokens)
        self._numbers[op.name], self.tokens[op.name] = number, op.tokens
        shared = self.table(op.name)
        self._once_shared.update(shared)
        self._say(
            f"{op.name} lists what {op.other} lists: {ids(shared)}. One more table each, no copy."
        )
        return True

    def _end(self, op: Op) -> bool:
        released = self.manager.free(self._numbers[op.name])
        del self.tokens[op.name]
        kept = self.cached_free()
        if not released:
            text = "others list all its blocks, so none comes free"
        elif self.pool.caching:
            back = [block for block in released if block in kept]
            front = [block for block in released if block not in kept]
            parts = [f"{ids(front)} to the front"] if front else []
            parts += [f"{ids(back)} to the back"] if back else []
            text = " and ".join(parts)
        else:
            end = "front" if self.pool.to_front else "back"
            text = f"{ids(released)} to the {end} of the free list"
        self._say(f"{op.name} ends: {text}; free are now {ids(self.free_list())}.")
        return True

    def _say(self, sentence: str) -> None:
        self.said.append(sentence)


def play_all(pool: Pool, ops: Sequence[Op]) -> Player | None:
    """``None``: something did not fit."""
    player = Player(pool)
    return player if all(player.play(op) for op in ops) else None


def _taken(grant: Grant) -> str:
    if not grant.taken:
        return "; it takes none"
    return f"; it takes {ids(grant.taken)}"
