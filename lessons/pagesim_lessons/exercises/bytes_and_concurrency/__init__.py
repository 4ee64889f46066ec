"""Exercise: from a model and a GPU to the number of requests that fit at once."""
