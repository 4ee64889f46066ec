# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 8. Sizing a deployment
#
# Goes with lessons 11 and 12 (`pagesim learn 11`, `pagesim learn 12`). A real trace's lengths, a model, a GPU: predict,
# let runs decide, and defend the answer. Change the numbers to your own.

# %%
# %load_ext pagesim.notebook
from pagesim.notebook import Shown, question, quiz

# %% [markdown]
# ## The pool
#
# Llama 3.1 of 8 B on one L40S: how many requests does its KV cache hold?

# %%
question(12, 1, answer="")

# %% [markdown]
# The planner, for requests of the longest length, and of 1,200 tokens.

# %%
from pagesim.cli.plan import plan_tables
from pagesim_lessons.serving import COLUMNS, Engine

engine = Engine("llama-3.1-8b", "l40s", longest=8192)
Shown(*plan_tables(engine.planned(8192, 1200)))

# %% [markdown]
# ## The load
#
# An hour of a production chat service, 5.53 requests a second; 150 of them here, so that it is quick. Targets: the
# first token within 1.5 s and 100 ms for every further one, for 99 of 100 requests.

# %%
from pagesim.sim.workloads import build_workload


def load(rate):
    return build_workload("azure-chat", requests=150, rate=rate, seed=0, max_model_len=8192)


def table(reports, first, names=("at once", "used", "preempted", "slowest first", "slowest each")):
    from pagesim_lessons.pictures import figures

    columns = [COLUMNS[name][1](list(reports.values())) for name in names]
    headings = (first, *(COLUMNS[name][0] for name in names))
    return Shown(figures(headings, list(zip(map(str, reports), *columns, strict=True)), left=0))


# %%
question(12, 2, answer="")

# %% [markdown]
# Which of these rates keeps both targets?

# %%
table({rate: engine.serve(load(rate)) for rate in (2.8, 5.5, 6.9, 8.3)}, "requests\na second")

# %% [markdown]
# ## One setting that matters, and some that do not
#
# The busy rate is 6.9 requests a second. The targets are those above.

# %%
question(12, 4, answer="")

# %%
from dataclasses import replace

busy = load(6.9)
table(
    {size: replace(engine, budget=size).serve(busy) for size in (512, 1024, 2048, 8192)}, "budget"
)

# %%
table({size: replace(engine, block_size=size).serve(busy) for size in (16, 64, 256)}, "block\nsize")

# %% [markdown]
# ## An engine that is out of memory
#
# Four servers of Lesson 11, all with the same pool, report their gauges.

# %%
question(11, 3, answer="")

# %% [markdown]
# And the same gauges of our model on a smaller GPU, at three rates. What would you do at each of them?

# %%
small = Engine("llama-3.1-8b", "rtx-4090", longest=8192)
gauges = {rate: small.watched(load(rate)) for rate in (1.5, 2.5, 3.5)}
for rate, seen in gauges.items():
    print(
        f"{rate} a second: {seen.running} running, {seen.waiting} waiting, usage {seen.usage:.0%}, "
        f"{seen.preempted} preempted"
    )

# %%
question(11, 7, answer="")

# %%
quiz("concurrency", seed=1, answers=[])

# %% [markdown]
# ## Your defence
#
# Write it down: which GPU, how many, which settings; what is short first when the load grows; and which of the runs
# above says so.
