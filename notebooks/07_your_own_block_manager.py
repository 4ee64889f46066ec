# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 7. Your own block manager
#
# A class of yours hands out the blocks. It is examined law by law, as `pagesim check` does; when it keeps them, it
# serves a story, and you watch it do so. `pagesim check --template simple` writes the same file for your own editor.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import block_tables, player, question

# %% [markdown]
# ## What it must do
#
# Six small methods. The class below is as it is given: run it, and see what the examination says of it. Then write it,
# method by method. `slot of position p = table[p // block_size] * block_size + p % block_size`.


# %%
# %%manager MyManager
class MyManager:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        """All blocks, 0 to num_blocks - 1, are free."""
        raise NotImplementedError

    @property
    def num_free(self) -> int:
        """How many blocks are in no table."""
        raise NotImplementedError

    def allocate(self, seq: int, num_tokens: int) -> bool:
        """Give seq, which holds nothing yet, just enough blocks for its first num_tokens tokens (1 or more).

        All or nothing: return True; or, if there are not enough free blocks, change nothing and return False.
        """
        raise NotImplementedError

    def append(self, seq: int, position: int) -> bool | tuple[int, int]:
        """The token at position comes; all tokens before it are there. Make sure that its slot exists.

        It may be a position whose slot is there already: then no block is needed.

        Return True; or, if a block is needed and none is free, change nothing and return False. With fork (below):
        if the slot is in a block that another table lists, too, put a free block in its place in this table and
        return (old block, new block): what is in it is then copied for you. The last owner needs no copy.
        """
        raise NotImplementedError

    def free(self, seq: int) -> None:
        """seq holds nothing any more. A block is free when no table lists it."""
        raise NotImplementedError

    def table(self, seq: int) -> list[int]:
        """The blocks of seq, in the order of its tokens."""
        raise NotImplementedError

    # Optional. Remove the first "# " of each line to write it: several answers to one prompt then share its blocks.
    #
    # def fork(self, parent: int, child: int, num_tokens: int) -> None:
    #     """child, which holds nothing yet, gets the parent's first num_tokens tokens: it shares their blocks.
    #
    #     Takes no block and copies nothing: counts go up. The last of these blocks may be partly filled.
    #     """
    #     raise NotImplementedError


# %% [markdown]
# ## One that works, and one that does not
#
# To see what happens, here is a manager that is written, and has one fault. Read it: can you find the fault before the
# examination does?


# %%
# %%manager Forgetful
class Forgetful:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.tables = {}

    @property
    def num_free(self):
        return len(self.free_blocks)

    def allocate(self, seq, num_tokens):
        if seq in self.tables:
            return False
        wanted = -(-num_tokens // self.block_size)
        if wanted > len(self.free_blocks):
            return False
        self.tables[seq] = [self.free_blocks.pop() for _ in range(wanted)]
        return True

    def append(self, seq, position):
        table = self.tables[seq]
        if position // self.block_size < len(table):
            return True
        if not self.free_blocks:
            return False
        table.append(self.free_blocks[-1])
        return True

    def free(self, seq):
        self.free_blocks += self.tables.pop(seq)

    def table(self, seq):
        return self.tables[seq]


# %% [markdown]
# The examination found a row of calls that breaks a law, and made it as small as it could. `checked` is what came of
# the last such cell; its player shows the memory after each call, at the one that broke the law.

# %%
checked.player()

# %% [markdown]
# ## It serves a story
#
# The fault mended: `append` takes the block out of the list. Predict which blocks A and B of Figure 7 get from it: it
# pops from the end of a list of free blocks.


# %%
# %%manager Mended
class Mended:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.tables = {}

    @property
    def num_free(self):
        return len(self.free_blocks)

    def allocate(self, seq, num_tokens):
        if seq in self.tables:
            return False
        wanted = -(-num_tokens // self.block_size)
        if wanted > len(self.free_blocks):
            return False
        self.tables[seq] = [self.free_blocks.pop() for _ in range(wanted)]
        return True

    def append(self, seq, position):
        table = self.tables[seq]
        if position // self.block_size < len(table):
            return True
        if not self.free_blocks:
            return False
        table.append(self.free_blocks.pop())
        return True

    def free(self, seq):
        self.free_blocks += self.tables.pop(seq)

    def table(self, seq):
        return self.tables[seq]


# %%
block_tables(checked.play("figure-7"), step=2)

# %% [markdown]
# Yours beside pagesim's own: other blocks, the same steps.

# %%
player(checked.play("preemption"), "preemption")
