"""The laws of bytes and concurrency, and how a broken one is told."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from pagesim.practice.drawing import Mistake, for_all, for_each, recognise
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, whole
from pagesim_lessons.exercises.bytes_and_concurrency.script import (
    BYTES_OF,
    GB,
    GIB,
    UNITS,
    Amount,
    Load,
    Pool,
    Token,
    rounded_up,
)

Cases = Amount | Token | Pool | Load
Asked = TypeVar("Asked", Amount, Token, Pool, Load)
FUNCTIONS: dict[type, str] = {
    Amount: "num_bytes",
    Token: "kv_bytes_per_token",
    Pool: "blocks_in_pool",
    Load: "requests_at_once",
}


def _ask(learner: Learner, case: Cases) -> int:
    name = FUNCTIONS[type(case)]
    return whole(learner.call(name, *case), f"what {name} gave")


def usual(cases: Sequence[Asked], *mistakes: Mistake[Asked, int]) -> Callable[[Learner], None]:
    """A check: the answers to the cases are not those of one of these mistakes."""

    def check(learner: Learner) -> None:
        recognise(
            learner,
            cases,
            lambda case: _ask(learner, case),
            lambda case: case.right,
            mistakes,
            lambda case, found, why: case.told(found, why),
        )

    return check


def right(cases: Sequence[Cases], strategy: st.SearchStrategy[Cases]) -> Callable[[Learner], None]:
    """A check: the answers are right, to these cases and to drawn ones."""

    def check(learner: Learner) -> None:
        def examine(case: Cases) -> None:
            found = _ask(learner, case)
            if found != case.right:
                raise case.told(found, "")

        for_each(learner, cases, examine)
        for_all(learner, strategy, examine)

    return check


# -- units -------------------------------------------------------------------------------------------------

AMOUNTS = [Amount(80, "GB"), Amount(24, "GiB"), Amount(3, "MB"), Amount(512, "MiB")]
units = usual(
    AMOUNTS,
    Mistake(
        lambda c: c.amount * UNITS[c.unit[0] + "B"],
        ": GiB and MiB are powers of two, and larger than GB and MB",
    ),
    Mistake(
        lambda c: c.amount * UNITS[c.unit[0] + "iB"],
        ": GB and MB are powers of ten; those of two are called GiB and MiB",
    ),
    Mistake(
        lambda c: c.amount * (UNITS[c.unit[0] + "B"] if "i" in c.unit else UNITS[c.unit[0] + "iB"]),
        ": it is the one with the i that is a power of two",
    ),
    Mistake(
        lambda c: c.amount * (GIB if c.unit == "GiB" else GB if c.unit == "GB" else 10**6),
        ": MiB is a power of two, too",
    ),
)


def no_other_units(learner: Learner) -> None:
    def examine(unit: str) -> None:
        came = learner.attempt("num_bytes", 24, unit, errors=(ValueError, LookupError))
        if not isinstance(came, ValueError):
            did = f"raised {type(came).__name__}" if isinstance(came, Exception) else f"gave {came}"
            raise Fault(
                f'num_bytes(24, "{unit}") {did}, and "{unit}" is no unit of these, so ValueError is to be raised'
            )

    for_each(learner, ["G", "M", "gigs", ""], examine)


# -- a token -----------------------------------------------------------------------------------------------

TOKENS = [
    Token(32, 32, 8, 128, "bf16"),
    Token(40, 40, 40, 128, "fp16"),
    Token(80, 64, 8, 128, "fp8"),
    Token(3, 6, 2, 5, "fp32"),
]
heads = usual(
    TOKENS,
    Mistake(
        lambda c: 2 * c.num_layers * c.num_heads * c.head_size * BYTES_OF[c.dtype],
        ", which counts the query heads: they share the heads of K and V, and are not kept themselves",
    ),
    Mistake(
        lambda c: (
            2 * c.num_layers * (c.num_heads // c.num_kv_heads) * c.head_size * BYTES_OF[c.dtype]
        ),
        ", which counts the query heads that share one KV head, and not the KV heads",
    ),
    Mistake(
        lambda c: c.right * c.num_heads,
        ", which counts the query heads, and the KV heads for each of them",
    ),
    Mistake(
        lambda c: (
            (c.num_heads + 2 * c.num_kv_heads) * c.num_layers * c.head_size * BYTES_OF[c.dtype]
        ),
        ", which keeps the queries, too: no later step needs them",
    ),
)
both = usual(
    TOKENS,
    Mistake(lambda c: c.right // 2, ", half of it: there are K and V"),
    Mistake(
        lambda c: c.num_layers * c.num_heads * c.head_size * BYTES_OF[c.dtype],
        ", which counts the query heads, and K alone: it is the KV heads, with K and V",
    ),
)
layers = usual(
    TOKENS,
    Mistake(lambda c: c.right // c.num_layers, ", that of one layer: each layer has its own"),
)
dtypes = usual(
    TOKENS,
    Mistake(
        lambda c: c.right // BYTES_OF[c.dtype],
        ", the number of numbers: each takes the bytes of its dtype",
    ),
    Mistake(
        lambda c: 2 * c.right // BYTES_OF[c.dtype],
        ", as if every number took 2 bytes: that depends on the dtype",
    ),
    Mistake(lambda c: 8 * c.right, ", the number of bits"),
)
tokens = st.builds(
    lambda layers, group, kv, size, dtype: Token(layers, group * kv, kv, size, dtype),
    st.integers(1, 80), st.integers(1, 8), st.integers(1, 8), st.integers(1, 128),
    st.sampled_from(sorted(BYTES_OF)),
)  # fmt: skip

# -- the pool ----------------------------------------------------------------------------------------------

POOLS = [
    Pool(80 * GB, 90, 16 * GB, GIB, 2_097_152),
    Pool(40 * GB, 85, 26 * GB, 2 * GIB, 13_107_200),
    Pool(24 * GIB, 95, 16 * GIB, 512 * 2**20, 1_048_576),
]


def _blocks(size: Callable[[Pool], float]) -> Callable[[Pool], int]:
    return lambda pool: int(max(size(pool), 0) // pool.block_bytes)


share = usual(
    POOLS,
    Mistake(
        _blocks(lambda c: c.gpu_bytes - c.weight_bytes - c.workspace_bytes),
        ": of the whole memory, and not of the part that the engine may use",
    ),
    Mistake(
        _blocks(lambda c: (c.gpu_bytes - c.weight_bytes - c.workspace_bytes) * c.percent // 100),
        ": the percentage was taken of what is left, and it is one of the whole memory",
    ),
    Mistake(
        _blocks(lambda c: (c.gpu_bytes - c.weight_bytes) * c.percent // 100 - c.workspace_bytes),
        ": the percentage was taken after the weights, and it is one of the whole memory",
    ),
    Mistake(
        _blocks(lambda c: c.gpu_bytes * c.percent - c.weight_bytes - c.workspace_bytes),
        ": percent are hundredths",
    ),
)
weights = usual(
    POOLS,
    Mistake(
        _blocks(lambda c: c.gpu_bytes * c.percent // 100 - c.workspace_bytes),
        ": the weights are in the same memory",
    ),
    Mistake(
        _blocks(lambda c: c.gpu_bytes * c.percent // 100 - c.weight_bytes),
        ": the workspace is in the same memory",
    ),
    Mistake(
        _blocks(lambda c: c.gpu_bytes * c.percent // 100),
        ": weights and workspace are in the same memory",
    ),
)
whole_blocks = usual(
    POOLS,
    Mistake(lambda c: rounded_up(c.left, c.block_bytes), ": a part of a block is no block"),
    Mistake(lambda c: c.left, ", the number of bytes"),
)


def nothing_left(learner: Learner) -> None:
    cases = [
        Pool(24 * GB, 90, 140 * GB, GIB, 2_097_152),
        Pool(16 * GB, 90, 14 * GB, GIB, 2_097_152),
        Pool(10 * GB, 90, 8 * GB, GB - 1_000_000, 2_097_152),
    ]

    def examine(case: Pool) -> None:
        found = _ask(learner, case)
        if found != 0:
            why = ": less than nothing" if found < 0 else ""
            raise case.told(found, why)

    for_each(learner, cases, examine)


pools = st.builds(
    Pool,
    st.integers(8, 141).map(lambda n: n * GB) | st.integers(8, 80).map(lambda n: n * GIB),
    st.integers(50, 100),
    st.integers(1, 60).map(lambda n: n * GB),
    st.integers(1, 3).map(lambda n: n * GIB),
    st.sampled_from([2_097_152, 1_310_720, 13_107_200, 524_288, 917_504]),
).filter(lambda pool: pool.is_clear)

# -- requests ----------------------------------------------------------------------------------------------

LOADS = [
    Load(1_000, 16, 1_000, 25),
    Load(1_000, 16, 990, 10),
    Load(600, 4, 9, 4),
    Load(601, 8, 16, 2),
    Load(997, 16, 500, 100),
]


def _requests(
    tokens: Callable[[Load], int], blocks: Callable[[int, int], int] = rounded_up
) -> Callable[[Load], int]:
    return lambda load: load.num_blocks // max(blocks(tokens(load), load.block_size), 1)


def _total(load: Load) -> int:
    return load.prompt_tokens + load.output_tokens


last_token = usual(
    LOADS,
    Mistake(
        _requests(_total),
        ": that is a slot more for each request: was the last output token counted, which is never written, or a "
        "block added behind one that is just full?",
    ),
    Mistake(
        lambda c: c.num_blocks * c.block_size // _total(c),
        ": tokens were divided by tokens, with the last output token among them; each request holds whole blocks, and "
        "its last token is never written",
    ),
    Mistake(
        _requests(lambda c: c.prompt_tokens), ": the output was left out, which takes slots as well"
    ),
)
blocks_each = usual(
    LOADS,
    Mistake(
        lambda c: c.num_blocks * c.block_size // c.written,
        ": tokens were divided by tokens, and each request holds whole blocks",
    ),
    Mistake(
        _requests(lambda c: c.written, lambda n, size: n // size),
        ": a last block that is partly filled was left out, and it is held, too",
    ),
    Mistake(_requests(lambda c: c.written, lambda n, _: n), ": a token is no block"),
)
whole_requests = usual(
    LOADS,
    Mistake(lambda c: rounded_up(c.num_blocks, c.each), ": the last of them would not fit whole"),
)
loads = st.builds(
    Load,
    st.integers(0, 2_000),
    st.sampled_from([16, 4, 8, 1, 32]),
    st.integers(1, 500),
    st.integers(1, 500),
)

EXERCISE = Exercise(
    name="bytes-and-concurrency",
    title="How many requests fit?",
    lesson=12,
    names=("num_bytes", "kv_bytes_per_token", "blocks_in_pool", "requests_at_once"),
    hints=(
        (
            "Each function is a product, a difference or a quotient; what matters is what goes in. Which heads are "
            "kept? Of what is the percentage taken? Which tokens are written? And wherever you divide: which way is it "
            "to be rounded?"
        ),
        (
            "A token has one K and one V in each layer for each KV head; the query heads are of no account. The "
            "percentage is one of the whole memory, and weights and workspace come out of what it gives. A request "
            "holds whole blocks, so tokens are rounded up to blocks; blocks are rounded down to requests."
        ),
        (
            "GB is 10**9 and GiB 2**30; a dict of units serves the error, too. A token: the five factors 2, layers, KV "
            "heads, head size, bytes. The pool: max(..., 0) before the division, else a negative rest gives a negative "
            "number. A request writes its prompt and all of its output but one token; dividing the negative number and "
            "turning the sign back rounds up."
        ),
    ),
    checks=(
        Check("units", "the unit GB is a power of ten, and GiB a power of two", units),
        Check(
            "bytes",
            "an amount in bytes is the amount times its unit",
            right(AMOUNTS, st.builds(Amount, st.integers(0, 999), st.sampled_from(sorted(UNITS)))),
        ),
        Check("other-units", "any other unit is refused with ValueError", no_other_units),
        Check("kv-heads", "what is kept are the KV heads, which query heads share", heads),
        Check("k-and-v", "a token has a K and a V", both),
        Check("all-layers", "each layer keeps its own K and V", layers),
        Check("dtype", "a number takes the bytes of its dtype", dtypes),
        Check(
            "token",
            "a token's bytes are 2 x layers x KV heads x head size x bytes a number",
            right(TOKENS, tokens),
        ),
        Check("share", "the percentage is one of the whole memory", share),
        Check("beside-the-weights", "what weights and workspace leave goes to K and V", weights),
        Check("whole-blocks", "a pool has whole blocks", whole_blocks),
        Check("nothing-left", "where nothing is left, there is no block", nothing_left),
        Check(
            "pool", "the blocks are what is left, divided by a block's bytes", right(POOLS, pools)
        ),
        Check(
            "last-token",
            "a request writes its prompt and its output, but for the last token",
            last_token,
        ),
        Check(
            "blocks-each",
            "a request holds whole blocks, the last one perhaps partly filled",
            blocks_each,
        ),
        Check("whole-requests", "only whole requests count", whole_requests),
        Check(
            "requests",
            "requests at once are the blocks divided by the blocks of one",
            right(LOADS, loads),
        ),
    ),
)
