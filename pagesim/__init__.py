"""pagesim: see where LLM serving memory goes, block by block."""

__version__ = "0.1.0"
