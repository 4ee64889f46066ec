# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 2. Blocks and block tables
#
# Goes with lessons 3 and 4 (`pagesim learn 3`, `pagesim learn 4`). Predict first: your answer goes between the quotes.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import block_tables, compare, memory_map, player, plot, question, quiz, task

# %% [markdown]
# ## One request grows, block by block
#
# Figure 6 of the paper, as far as step 0.

# %%
question(4, 1, answer="")

# %% [markdown]
# Step through it until A has a third block.

# %%
player("figure-6")

# %%
block_tables("figure-6", step=2)

# %%
question(4, 2, answer="")

# %% [markdown]
# ## Two requests in one memory

# %%
question(4, 3, answer="")

# %%
player("figure-7")

# %% [markdown]
# ## Exercise: from a position to a slot
#
# The first line of the cell below says which exercise it is. When you run the cell, your code is checked as
# `pagesim practice check` does: law by law, in a process of its own. `hint("slot-mapping")` helps.

# %%
task("slot-mapping")

# %%
# %%exercise slot-mapping
from collections.abc import Sequence


def slot_of(table: Sequence[int], position: int, block_size: int) -> int:
    """The slot of the token at ``position``, counted from 0.

    Raises IndexError if the table has no block for that position (a negative position has none).
    """
    raise NotImplementedError


def slots_of(table: Sequence[int], start: int, stop: int, block_size: int) -> list[int]:
    """The slots of the tokens at positions ``start`` to ``stop - 1``, in that order; none if ``stop <= start``.

    Raises IndexError, as slot_of does, if the table has no block for one of these positions.
    This is what a step needs to write the K and V of the tokens it computes.
    """
    raise NotImplementedError


# %% [markdown]
# ## Exercise: the free list
#
# Whoever needs a block asks it. After a cell like the ones above, `checked` is what came of the check. Where it can be
# seen how a law breaks, the report ends with `checked.player()`: run that in a new cell.

# %%
task("free-list")


# %%
# %%exercise free-list
class FreeList:
    """The free blocks. How you keep them is your own affair: the checks only use what is written here."""

    def __init__(self, num_blocks: int) -> None:
        """The blocks 0 to ``num_blocks - 1`` are free."""
        self.num_blocks = num_blocks

    @property
    def num_free(self) -> int:
        """How many blocks are free now."""
        raise NotImplementedError

    def take(self) -> int | None:
        """The block that has been free the longest; it is not free any more. None if no block is free."""
        raise NotImplementedError

    def give(self, block: int) -> None:
        """The block is free again, as the last one to be taken.

        Raises ValueError, and changes nothing, if the block is free already, or there is no such block.
        """
        raise NotImplementedError


# %% [markdown]
# ## The same requests, from slabs and from pages

# %%
question(3, 6, answer="")

# %%
both = compare(requests=300, allocators=("max", "paged"))
both

# %%
plot(both, kind="waste")

# %% [markdown]
# Both runs, at the same simulated time. Play, and watch the queues.

# %%
both.player()

# %%
quiz("block-tables", seed=1, answers=[])
