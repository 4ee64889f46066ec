"""One small case, step by step: what the kernel does for one new token and one head, with every number kept.

The steps are ``story.follow``'s, on a random case in float32, beside what float64 says. For ``pagesim kernel
explain``. Knows nothing about drawing.
"""

from pagesim_kernels.cases import Case, make_batch
from pagesim_kernels.inputs import need
from pagesim_kernels.reference import reference_attention
from pagesim_kernels.story import Walk, follow

HEAD_DIM = 16


def walk(
    context_len: int = 10,
    block_size: int = 4,
    keys: int = 8,
    window: int | None = None,
    seed: int = 0,
) -> Walk:
    """The last token of a sequence of ``context_len`` decodes, in tiles of ``keys``. KernelInputError if odd."""
    need(
        1 <= context_len <= 64,
        f"the context length is {context_len}; choose 1 to 64, it is to be read",
    )
    need(1 <= block_size <= 16, f"the block size is {block_size}; choose 1 to 16")
    need(1 <= keys <= 16, f"a tile of {keys} keys; choose 1 to 16")
    need(window is None or window >= 1, f"the window is {window}; choose at least 1")
    case = Case((context_len,), (1,), 1, 1, HEAD_DIM, block_size, window=window, seed=seed)
    batch = make_batch(case)
    expected = reference_attention(*batch.paged(), batch.options)[0, 0]
    return follow(
        batch.q[0, 0].numpy(), batch.k_cache[:, :, 0].numpy(), batch.v_cache[:, :, 0].numpy(),
        batch.block_tables[0].tolist(), context_len, keys, expected.numpy(), window,
        batch.options.scale_for(HEAD_DIM),
    )  # fmt: skip
