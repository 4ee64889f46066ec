"""Exercise: block tables that are allocated whole or not at all, and given back tail first."""
