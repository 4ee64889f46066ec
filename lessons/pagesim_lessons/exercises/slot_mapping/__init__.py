"""Exercise: from a token's position to the slot of its K and V, through a block table."""
