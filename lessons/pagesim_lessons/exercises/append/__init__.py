"""Exercise: tokens written behind those that are there, across the boundaries of blocks."""
