# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 5. Continuous batching, and the paper's figures
#
# Goes with lesson 9 (`pagesim learn 9`). Everything here is run while you wait; nothing is read from a file.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import Plot, Shown, compare, player, plot, question

# %% [markdown]
# ## A batch whose seats stay taken

# %%
question(9, 1, answer="")

# %% [markdown]
# Another run: a long prompt joins, and is computed in chunks, so that the request which runs already makes a token in
# every step.

# %%
player("chunked-prefill")

# %% [markdown]
# ## Figures 2 and 13a: where the memory goes, and how many requests it holds

# %%
question(9, 2, answer="")

# %%
served = compare(requests=600)
plot(served, kind="waste")

# %% [markdown]
# Beside what the paper prints. (`pagesim paper` does it with 4,000 requests, which is steadier.)

# %%
from pagesim.sim.paper import figures
from pagesim.views.paper import row_table

reports = {result.allocator: result.report for result in served.results}
Shown(row_table(list(figures(reports)), ascii_only=False))

# %%
plot(served, kind="concurrency")

# %% [markdown]
# Compare `paged` with `max` in the table above: requests at once.

# %%
question(9, 3, answer="", scene=False)

# %%
served

# %% [markdown]
# ## Figure 18b, in small: the block size
#
# Predict: which block size fills the memory best, and what becomes of it at 128?

# %%
from pagesim.replay.metrics import used_percent
from pagesim.views.plots import block_size_figure

SIZES = (8, 16, 32, 64, 128)


def filled(workload):
    runs = {
        size: compare(workload, requests=200, allocators=("paged",), block_size=size)
        for size in SIZES
    }
    return {size: used_percent(run.report("paged")) for size, run in runs.items()}


Plot(
    block_size_figure({"ShareGPT": filled("sharegpt"), "Alpaca": filled("alpaca")}),
    "share of slots that hold tokens, by block size",
)

# %% [markdown]
# ## Figure 19: swapping against recomputing
#
# A victim of 256 tokens, by block size; the cost model's arithmetic. From which size on is swapping the cheaper one?

# %%
from pagesim.sim.paper_shapes import moved
from pagesim_lessons.pictures import figures as rows_of

rows = [
    (f"{size}", f"{recompute:.1f}", f"{swap:.1f}", "swap" if swap < recompute else "recompute")
    for size, recompute, swap in moved()
]
Shown(rows_of(("block", "recompute ms", "swap ms", "cheaper"), rows))
