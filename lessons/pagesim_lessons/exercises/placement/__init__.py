"""Exercise: two ways to place slabs, first fit and the buddy system."""
