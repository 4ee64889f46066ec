"""What the ways to hand out KV memory are called where runs are compared. Knows nothing about running."""

TITLES = {
    "max": "contiguous, reserve the maximum",
    "pow2": "contiguous, output rounded up to 2^k",
    "oracle": "contiguous, true length known",
    "paged": "paged",
}
ALLOCATORS = tuple(TITLES)
UNKEYED_FIRST, TO_THE_BACK = "unkeyed-first", "to-the-back"
FREED_BLOCKS_GO = (UNKEYED_FIRST, TO_THE_BACK)
"""Where freed blocks go: those without cached content to the front (engines today), or all to the back."""
AS_REQUESTS = "paged-requests"
"""In a comparison: paged memory where n samples of a prompt are n requests that share through the prefix cache."""
CONTENDERS = {
    **TITLES,
    "paged": "paged, samples fork (copy-on-write)",
    AS_REQUESTS: "paged, samples are requests (prefix cache)",
}
"""Titles where several samples of a prompt are served both ways."""
