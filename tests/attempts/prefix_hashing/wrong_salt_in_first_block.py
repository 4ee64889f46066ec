# law: salt
# says: block 1 of a
"""The salt is in the key of the first block, but further keys are chained from the parent without it."""

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
        parent = b""
        keys = []
        for start in range(0, len(self.tokens) - self.block_size + 1, self.block_size):
            own = repr(self.tokens[start : start + self.block_size])
            parent = sha256(parent + own.encode()).digest()
            keys.append(parent)
        if keys:
            keys[0] = sha256(keys[0] + repr((self.salt, self.adapter)).encode()).digest()
        return keys

    def find(self, index):
        found = []
        for key in self.keys()[: (len(self.tokens) - 1) // self.block_size]:
            if key not in index:
                break
            found.append(index[key])
        return found
