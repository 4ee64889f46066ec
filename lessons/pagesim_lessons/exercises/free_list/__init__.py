"""Exercise: the free blocks, in the order in which they became free, each step in constant time."""
