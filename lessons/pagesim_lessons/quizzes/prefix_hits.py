"""Prefix hits: how much of a new prompt the cache already holds. Knows nothing about other topics."""

from collections.abc import Sequence

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.types import Room
from pagesim.practice.answers import Whole
from pagesim.replay.phrases import counted
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.wording import ids, sums, table

Prompts = dict[str, tuple[int, ...]]
MOST_TOKENS = 19  # as many as go on a line
NUM_BLOCKS = 64  # enough that nothing is evicted

RULES = (
    "An engine keeps what it computed: every full block can be found by its content. A block's key is made from its "
    "own tokens and from the key of the block before it, so it stands for all tokens up to its end. A new prompt is "
    "looked up block by block from its start, up to the first that is not found. The last token of a prompt is always "
    "computed, as its output is what the first answer token is drawn from: so the block with the last token is never "
    "taken from the cache."
)


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    size = draws.one_of((2, 3, 4, 4))
    served, asked = _prompts(draws, size)
    memory = BlockManager(NUM_BLOCKS, size, prefix_caching=True)
    for number, prompt in enumerate(served.values()):
        content = Content(prompt)
        length = len(prompt)
        memory.allocate(number, content, Room(now=length, present=length, limit=length + 1))
        memory.publish(number, content, length)
        memory.free(number)
    cached = {name: memory.cached_tokens(Content(prompt)) for name, prompt in asked.items()}
    if max(map(len, (*served.values(), *asked.values()))) > MOST_TOKENS:
        return None
    if sum(count > 0 for count in cached.values()) < 2 or len(set(cached.values())) < 2:
        return None
    return _posed(size, served, asked, cached, memory.usage().cached)


def _prompts(draws: Draws, size: int) -> tuple[Prompts, Prompts]:
    """Two that were served, the second begins as the first; and four that are new, each alike in its own way."""

    def fresh(count: int) -> list[int]:
        return [draws.whole(10, 99) for _ in range(count)]

    first = fresh(draws.whole(3, 4) * size + draws.whole(0, size - 1))
    same = draws.whole(size, len(first) - 1)
    second = first[:same] + fresh(draws.whole(size, 2 * size))
    kinds = {
        "longer": lambda: first + fresh(draws.whole(1, size + 1)),
        "parts": lambda: (
            first[: draws.whole(size + 1, len(first) - 1)] + fresh(draws.whole(1, size))
        ),
        "second": lambda: second[: draws.whole(same, len(second))] + fresh(draws.whole(1, size)),
        "whole": lambda: first[: len(first) // size * size],
        "gap": lambda: _changed(draws, first, draws.whole(size, 2 * size - 1)),
        "start": lambda: _changed(draws, first, draws.whole(0, size - 1)),
    }
    chosen = draws.some_of(list(kinds), 3)
    asked = {name: tuple(kinds[kind]()) for name, kind in zip("PQR", chosen, strict=True)}
    return {"A": tuple(first), "B": tuple(second)}, asked


def _changed(draws: Draws, tokens: Sequence[int], place: int) -> list[int]:
    other = draws.whole(10, 98)
    return [*tokens[:place], other + (other >= tokens[place]), *tokens[place + 1 :]]


def _posed(
    size: int, served: Prompts, asked: Prompts, cached: dict[str, int], num_cached: int
) -> Posed:
    story = (
        f"A prefix cache with blocks of {size} tokens.",
        RULES,
        (
            "Two requests were served, A before B. Their prompts are in the cache, and nothing was evicted. (Numbers "
            "are token ids.)"
        ),
        table(("request", "tokens", "prompt"), [(n, len(p), ids(p)) for n, p in served.items()]),
        "Now these come. Look at each by itself:",
        table(("request", "tokens", "prompt"), [(n, len(p), ids(p)) for n, p in asked.items()]),
    )
    questions = [_hit(size, name, asked[name], cached[name], served) for name in asked]
    computed = [len(asked[name]) - cached[name] for name in asked]
    questions.append(_computed(asked, cached, computed))
    questions.append(_blocks(size, served, num_cached))
    given = {"block_size": size, "served": served, "asked": asked}
    return Posed(story, tuple(questions), given)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _hit(size: int, name: str, prompt: tuple[int, ...], cached: int, served: Prompts) -> Question:
    alike = {other: _common(prompt, tokens) for other, tokens in served.items()}
    best = max(alike, key=lambda other: alike[other])
    same, usable = alike[best], (len(prompt) - 1) // size
    blocks = cached // size
    last = (
        f"{name} is {len(prompt)} tokens long, so at most ({len(prompt)} - 1) // {size} = {usable} of its blocks may "
        "come from the cache."
    )
    return Question(
        f"How many tokens of {name} are found in the cache?",
        ("cached", name),
        Whole(cached, "tokens"),
        (
            f"{name} begins with the same {counted(same, 'token')} as {best}.",
            (
                f"That is {counted(same // size, 'full block')} of {size}; what is alike after the first difference "
                "does not count."
            ),
            last,
            f"{counted(blocks, 'block')} of {size}: {cached} tokens.",
        ),
        (
            "Only whole blocks count, and only in an unbroken run from the start.",
            (
                "Cut the prompt into blocks; compare with each served prompt up to the first difference; leave out the "
                "block of the last token."
            ),
            f"{name} begins with the same {counted(same, 'token')} as {best}; blocks have {size}.",
        ),
        f"The first {counted(same, 'token')} agree with {best}. {last} So {blocks} x {size} = {cached}.",
    )


def _computed(asked: Prompts, cached: dict[str, int], computed: list[int]) -> Question:
    each = [
        f"{n}: {len(asked[n])} - {cached[n]} = {c}" for n, c in zip(asked, computed, strict=True)
    ]
    return Question(
        f"If each of {', '.join(asked)} came alone, how many prompt tokens would be computed for the three in all?",
        ("computed",),
        Whole(sum(computed), "tokens"),
        (*[f"{text}." for text in each], f"Together: {sums(computed)}."),
        (
            "What is not found is computed.",
            "Take each prompt's length, less its cached tokens.",
            f"{each[0]}.",
        ),
        f"{'; '.join(each)}.",
    )


def _blocks(size: int, served: Prompts, num_cached: int) -> Question:
    first, second = served["A"], served["B"]
    same = _common(first, second) // size
    full = [len(first) // size, len(second) // size]
    shared = full[0] + full[1] - num_cached
    return Question(
        "How many blocks with cached content were there before these came?",
        ("blocks cached",),
        Whole(num_cached, "blocks"),
        (
            f"A has {counted(full[0], 'full block')}, B has {full[1]}.",
            f"B's first {counted(same, 'block')} equal A's; of them, {shared} were found in the cache when B came.",
            f"{full[0]} + {full[1]} - {shared} = {num_cached}.",
        ),
        (
            "A block that is filled in part is not kept, and B found some of its blocks when it came.",
            "Full blocks of A, and full blocks of B that it had to compute itself.",
            f"A has {counted(full[0], 'full block')}, B has {full[1]}; count what they share once.",
        ),
        f"{full[0]} of A and {full[1] - shared} that B computed: {num_cached}.",
    )
