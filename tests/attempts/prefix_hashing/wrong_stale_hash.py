# law: grown
# says: was the key made before the block was full?
"""A running hash is updated with each token, and what it was made of when a block was begun is counted twice."""

from hashlib import sha256


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.tokens = list(tokens)
        self.block_size = block_size
        self.salt = salt
        self.adapter = adapter
        self.made = []

    def append(self, token):
        self.tokens.append(token)

    def keys(self):
        full = len(self.tokens) // self.block_size
        for block in range(len(self.made), -(-len(self.tokens) // self.block_size)):
            start = block * self.block_size
            parent = self.made[-1] if self.made else repr((self.salt, self.adapter)).encode()
            own = repr(self.tokens[start : start + self.block_size])
            self.made.append(sha256(parent + own.encode()).digest())
        return self.made[:full]

    def find(self, index):
        found = []
        for key in self.keys()[: (len(self.tokens) - 1) // self.block_size]:
            if key not in index:
                break
            found.append(index[key])
        return found
