"""Exercise: no block is left; who gives way, what becomes of it, and how it comes back."""
