"""Exercise: the chained keys of full blocks, and what a prompt finds in a prefix cache."""
