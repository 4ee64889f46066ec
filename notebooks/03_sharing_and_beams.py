# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 3. Sharing: samples, copy-on-write, beams
#
# Goes with lessons 5 and 6 (`pagesim learn 5`, `pagesim learn 6`). Predict first: your answer goes between the quotes.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import block_tables, memory_map, player, question, quiz, task
from pagesim_lessons.walk import Walk

# %% [markdown]
# ## One prompt, two answers
#
# Figure 8 of the paper.

# %%
question(5, 1, answer="")

# %% [markdown]
# A `Walk` is a run that Python walks through: `until` goes to the next event of a kind. Pictures of a walk show the
# place where it is.

# %%
walk = Walk.of("figure-8")
walk.until("shared")
block_tables(walk)

# %%
question(5, 2, answer="")

# %%
walk.until("replaced")
memory_map(walk)

# %%
question(5, 3, answer="")

# %% [markdown]
# Now on your own, from here on: the player begins where the walk stands. `c` jumps to the next copy, `C` back.

# %%
player(walk)

# %% [markdown]
# ## Eight samples

# %%
question(5, 7, answer="")

# %%
player("eight-samples", step=2)

# %% [markdown]
# ## Exercise: copy-on-write

# %%
task("copy-on-write")


# %%
# %%exercise copy-on-write
class Memory:
    """The blocks, and who lists them.

    ``tables`` has the block ids of each sequence, in order, and ``lengths`` its number of tokens. ``counts[block]`` is
    how many tables list the block. ``free_blocks`` are those that no table lists, each once. ``copies`` are all
    copies ordered so far: (source block, target block, number of slots to copy, from the block's first slot).
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}
        self.copies: list[tuple[int, int, int]] = []

    def start(self, seq: int, num_tokens: int) -> None:
        """Begin a sequence with its prompt. It is only called where enough blocks are free."""
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self._take() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq: int) -> None:
        """End a sequence: its blocks are free again, where no other table lists them."""
        for block in self.tables.pop(seq):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)
        del self.lengths[seq]

    def _take(self) -> int:
        """A free block, now in one table."""
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    # -- to be written ---------------------------------------------------------------------------------------

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` as a copy of ``parent``, of the same length, without copying or taking any block."""
        raise NotImplementedError

    def append(self, seq: int) -> bool:
        """Make room for one more token at the end of the sequence, which is then written there.

        Afterwards the block for that token is in no other table. If that needs a copy, it is added to ``copies``.
        Returns False, and changes nothing, if a free block is needed and there is none.
        """
        raise NotImplementedError


# %% [markdown]
# ## Beams
#
# Figure 9 of the paper: a search with four beams.

# %%
question(6, 2, answer="")

# %% [markdown]
# The moment that the paper draws is just before step 7. Go on into that step: the next question is about what it costs.

# %%
player("figure-9", step=6)

# %%
question(6, 3, answer="")

# %%
quiz("copy-on-write", seed=1, answers=[])

# %%
quiz("beam", seed=1, answers=[])
