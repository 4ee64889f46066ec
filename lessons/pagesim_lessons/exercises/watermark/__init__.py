"""Exercise: who may start, when some blocks are to stay free for those that run."""
