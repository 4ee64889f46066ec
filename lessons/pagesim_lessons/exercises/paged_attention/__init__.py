"""Exercise: attention of a new token, with K and V read through a block table."""
