# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 1. The KV cache, and slabs
#
# Goes with lessons 1 and 2 (`pagesim learn 1`, `pagesim learn 2`). Run a cell with Shift+Enter. A question
# stands below what its lesson says and shows before it. Where a call has `answer=""`, write your prediction between
# the quotes **before** you run what comes after it.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import compare, memory_map, player, question, quiz

# %% [markdown]
# ## What one token costs

# %%
question(1, 2, answer="")

# %% [markdown]
# The planner does the same arithmetic for any model. Look for the line *KV per token*, and at how it came about.

# %%
from pagesim.cli.plan import plan_tables
from pagesim.notebook import Shown
from pagesim.planner import facts
from pagesim.planner.report import plan_report

plan = plan_report(facts.model("opt-13b"), gpu=facts.gpu("a100-sxm-40gb"), lengths=(2048, 512))
Shown(*plan_tables(plan))

# %%
question(1, 3, answer="")

# %% [markdown]
# Another one, with other numbers. Change the seed and you get a new problem; `hint=1` to `3` helps.

# %%
quiz("bytes-per-token", seed=1, answers=[])

# %% [markdown]
# ## Reserve the maximum, in one piece
#
# Four requests, each in a slab as long as the longest request allowed. Predict, then press play. Keys work once you
# have clicked into the player; `?` lists them.

# %%
question(2, 1, answer="")

# %%
slabs = player("slabs-max")
slabs

# %% [markdown]
# The place in the player is a number in Python, too. Move the player and run this cell again; or set `slabs.step = 3`
# and look above.

# %%
slabs.step, slabs.event

# %% [markdown]
# ## Between slabs

# %%
question(2, 4, answer="")

# %%
memory_map("fragmentation", step=4)

# %%
player("fragmentation", step=4)

# %% [markdown]
# ## Where the memory goes
#
# The paper's server, and 300 requests of ShareGPT's lengths. First every slab is as long as the longest request.

# %%
question(2, 7, answer="")

# %%
compare(requests=300, allocators=("max",))

# %% [markdown]
# Now the other two kinds of slabs, beside it.

# %%
question(2, 8, answer="")

# %%
compare(requests=300, allocators=("max", "pow2", "oracle"))

# %%
quiz("waste", seed=2, answers=[])
