"""Attention through block tables, and what it takes to trust it. Never imports pagesim.

To read, in this order:

    paged_attention.py  the Triton kernel, decode and chunked prefill in one, and its contiguous twin
    cache_ops.py        write_kv and copy_blocks: what changes the cache
    cpu.py              the same walk in Numba, for machines without a GPU (with huge_pages.py, prefetch.py)
    reference.py        float64 attention, the judge; and attention that gathers first, to compare with

To use: ``backends.attention`` picks one of them. Around them: ``options.py`` (what a model may ask for),
``inputs.py`` (what is refused, and how), ``tiling.py`` (the sizes that were chosen, and why), ``cases.py``,
``check.py``, ``walk.py`` (on ``story.py``, which needs NumPy alone), ``report.py`` and ``bench.py`` (``pagesim kernel
check|explain|report|bench``), and ``interpreter.py`` (what a GPU would refuse, seen without one).

Importing this package imports nothing else. The modules import torch, triton and numba when they are imported
themselves; ``backends``, ``inputs``, ``options``, ``reference`` and ``cache_ops`` need torch alone.
"""
