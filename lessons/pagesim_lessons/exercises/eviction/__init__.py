"""Exercise: the queue of free blocks, whose order decides which cached content is forgotten first."""
