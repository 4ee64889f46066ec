# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 4. Prefix caching, and out of memory
#
# Goes with lessons 7 and 8 (`pagesim learn 7`, `pagesim learn 8`). Predict first: your answer goes between the quotes.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import frame, memory_map, player, question, quiz, task

# %% [markdown]
# ## Blocks outlive their requests

# %%
question(7, 1, answer="")

# %% [markdown]
# And if the very same prompt comes twice?

# %%
question(7, 4, answer="")

# %%
player("whole-prompt-cached")

# %% [markdown]
# ## What is forgotten first
#
# Free blocks stand in a queue, with what was written in them.

# %%
question(7, 5, answer="")

# %% [markdown]
# Step through it, and jump to the evictions with `e`.

# %%
player("prefix-cache")

# %%
quiz("eviction", seed=1, answers=[])

# %% [markdown]
# ## Exercise: eviction

# %%
task("eviction")

# %%
# %%exercise eviction
from collections.abc import Sequence


class BlockCache:
    """The blocks of a prefix cache.

    ``free_queue`` has the free blocks in order, the one to be taken next first (a list; a deque or the keys of a dict
    will do, too). ``counts[block]`` is how many tables list the block. ``keys[block]`` is the key of its content, or
    None, and ``index`` finds the block of a key. Both know a block's key as long as its content is there.
    """

    def __init__(self, num_blocks: int) -> None:
        self.free_queue = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.keys: list[str | None] = [None] * num_blocks
        self.index: dict[str, int] = {}

    def register(self, block: int, key: str) -> None:
        """A block that somebody holds is full now, and can be found. No other block has this key."""
        self.keys[block] = key
        self.index[key] = block

    # -- to be written ---------------------------------------------------------------------------------------

    def take(self) -> int | None:
        """The block at the front of the free queue, for one new table. What it held is forgotten.

        None if no block is free.
        """
        raise NotImplementedError

    def hit(self, key: str) -> int | None:
        """The block with this key, which one more table lists from now on; None if there is no such block.

        It may be free or held by others. Its content stays.
        """
        raise NotImplementedError

    def free(self, table: Sequence[int]) -> None:
        """A sequence with this table ends. Such of its blocks as no table lists any more are free, with their content:
        they go to the back of the free queue, the last of the table first.
        """
        raise NotImplementedError


# %% [markdown]
# ## Nobody knows how long an answer gets

# %%
question(8, 1, answer="")

# %%
player("preemption")

# %%
question(8, 2, answer="")

# %% [markdown]
# ## Recompute, or swap

# %%
question(8, 4, answer="")

# %% [markdown]
# The same story with a host pool that has room, and with one that has none, side by side. `p` jumps to the preemption.

# %%
player("swap", "host-full")

# %%
question(8, 5, answer="")

# %%
quiz("preemption", seed=1, answers=[])
