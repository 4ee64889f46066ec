"""Exercise: softmax and the weighted sum of values, tile by tile, without ever having all scores."""
