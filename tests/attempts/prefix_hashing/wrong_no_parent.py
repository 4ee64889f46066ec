# law: parent
# says: the parent's key must be in
"""The key of a block is made of its own tokens only; salt and adapter are in each."""

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
        first = repr((self.salt, self.adapter))
        keys = []
        for start in range(0, len(self.tokens) - self.block_size + 1, self.block_size):
            own = repr(self.tokens[start : start + self.block_size])
            key = sha256((first + own).encode()).digest()
            keys.append(key)
        return keys

    def find(self, index):
        found = []
        for key in self.keys()[: (len(self.tokens) - 1) // self.block_size]:
            if key not in index:
                break
            found.append(index[key])
        return found
