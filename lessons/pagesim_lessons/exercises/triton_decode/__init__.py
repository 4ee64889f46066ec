"""Exercise: a Triton kernel that decodes through a block table."""
