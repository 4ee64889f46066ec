# law: salt
# says: with an adapter, the same tokens have other
"""The adapter is forgotten."""

from hashlib import sha256


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.tokens = list(tokens)
        self.block_size = block_size
        self.salt = salt
        self.adapter = adapter

    def append(self, token):
        self.tokens.append(token)

    def keys(self):
        parent = sha256(repr(self.salt).encode()).digest()
        keys = []
        for start in range(0, len(self.tokens) - self.block_size + 1, self.block_size):
            own = repr(self.tokens[start : start + self.block_size])
            parent = sha256(parent + own.encode()).digest()
            keys.append(parent)
        return keys

    def find(self, index):
        found = []
        for key in self.keys()[: (len(self.tokens) - 1) // self.block_size]:
            if key not in index:
                break
            found.append(index[key])
        return found
