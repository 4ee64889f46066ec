# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 6. The kernel
#
# Goes with lesson 10 (`pagesim learn 10`). Attention through a block table, first by hand, then in NumPy, then in the
# kernels that pagesim has. The last part needs torch and numba (`pip install 'pagesim[engine]'`), and says so.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import Shown, check_exercise, hint, question, task

# %% [markdown]
# ## One token, through its table

# %%
question(10, 1, answer="")

# %% [markdown]
# K and V of ten keys, anywhere in a pool of six blocks. First the ordinary way: gather them, then softmax.

# %%
import numpy as np

TABLE, NUM_KEYS, BLOCK_SIZE, DIM = (2, 5, 3), 10, 4, 16
random = np.random.default_rng(6)
q = random.normal(size=DIM)
k_cache, v_cache = random.normal(size=(2, 6, BLOCK_SIZE, DIM))

where = [(TABLE[pos // BLOCK_SIZE], pos % BLOCK_SIZE) for pos in range(NUM_KEYS)]
k, v = (np.array([cache[block, slot] for block, slot in where]) for cache in (k_cache, v_cache))
weights = np.exp(k @ q / np.sqrt(DIM))
gathered = weights / weights.sum() @ v
gathered[:4]

# %% [markdown]
# And a tile of eight keys at a time, each key looked up in the table. Follow `maximum`, `shrink` and `sum`.

# %%
from pagesim.views.kernel_walk import KernelWalk
from pagesim_kernels.story import follow

Shown(KernelWalk(follow(q, k_cache, v_cache, TABLE, NUM_KEYS, 8, gathered)))

# %% [markdown]
# ## Softmax, a tile at a time

# %%
question(10, 2, answer="")

# %%
task("online-softmax")

# %%
# %%exercise online-softmax
import math
from collections.abc import Sequence


class Attention:
    """Attention of one query, as far as its keys have come.

    ``largest`` and ``total`` are numbers; ``acc`` is a list (or an array) of ``dim`` numbers.
    """

    def __init__(self, dim: int) -> None:
        self.largest = -math.inf
        self.total = 0.0
        self.acc = [0.0] * dim

    def add(self, scores: Sequence[float], values: Sequence[Sequence[float]]) -> None:
        """Take in one tile: key ``i`` has ``scores[i]`` and the vector ``values[i]``."""
        raise NotImplementedError

    def result(self) -> Sequence[float]:
        """The mean of the values so far by their weights: ``dim`` numbers, all 0 if no key has weighed anything yet.

        It may be asked for at any time; it changes nothing.
        """
        raise NotImplementedError


# %% [markdown]
# ## Paged attention

# %%
task("paged-attention")

# %%
# %%exercise paged-attention
import numpy as np


def paged_attention(
    q: np.ndarray,
    k_cache: np.ndarray,
    v_cache: np.ndarray,
    block_tables: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """The result for each sequence and query head, in the shape of ``q``.

    ``q`` is (sequences, heads, head_dim). ``k_cache`` and ``v_cache`` are (blocks, block_size, kv_heads, head_dim);
    ``kv_heads`` divides ``heads``. ``block_tables`` is (sequences, most blocks): row s has the blocks of sequence s,
    and after those anything at all, to fill it up. ``lengths`` is (sequences,): the tokens of each, at least 1.
    """
    raise NotImplementedError


# %% [markdown]
# ## pagesim's own
#
# Eight random cases over the options, in Triton's interpreter, judged by float64. (`pagesim kernel check` runs more.)

# %%
from pagesim.engine.needs import INSTALL, missing_modules

missing = missing_modules("torch", "triton")
if missing:
    print(f"{' and '.join(missing)} not installed, so this is skipped; {INSTALL}")
else:
    from pagesim.views.kernel_check import check_parts
    from pagesim_kernels.interpreter import use_interpreter

    use_interpreter()
    from pagesim_kernels.check import check

    display(Shown(*check_parts(list(check(range(8), device="cpu", small=True)), "cpu", 0)))
