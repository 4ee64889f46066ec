# law: grown
# says: once more: keys that are kept must be added to
"""Keys are made once, and kept for ever."""

from hashlib import sha256


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.tokens = list(tokens)
        self.block_size = block_size
        self.salt = salt
        self.adapter = adapter
        self.kept = []

    def append(self, token):
        self.tokens.append(token)

    def keys(self):
        if self.kept:
            return self.kept
        parent = sha256(repr((self.salt, self.adapter)).encode()).digest()
        for start in range(0, len(self.tokens) - self.block_size + 1, self.block_size):
            own = repr(self.tokens[start : start + self.block_size])
            parent = sha256(parent + own.encode()).digest()
            self.kept.append(parent)
        return self.kept

    def find(self, index):
        found = []
        for key in self.keys()[: (len(self.tokens) - 1) // self.block_size]:
            if key not in index:
                break
            found.append(index[key])
        return found
