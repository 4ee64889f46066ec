"""The real engine: a small Llama, its weights and tokenizer, sampling. Needs ``pip install 'pagesim[engine]'``.

Importing this package imports nothing; its modules import torch, and commands import them late.
"""
