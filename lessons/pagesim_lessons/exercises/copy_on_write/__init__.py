"""Exercise: samples that share blocks, and the copy that comes before a write."""
