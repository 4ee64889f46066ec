"""Every key is a digest of the whole prefix, made anew: slow, and right."""

from hashlib import md5


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.tokens = tuple(tokens)
        self.block_size = block_size
        self.begin = f"{salt!r}/{adapter!r}/"

    def append(self, token):
        self.tokens += (token,)

    def keys(self):
        stops = range(self.block_size, len(self.tokens) + 1, self.block_size)
        return tuple(self._digest(stop) for stop in stops)

    def _digest(self, stop):
        text = self.begin + " ".join(str(token) for token in self.tokens[:stop])
        return md5(text.encode(), usedforsecurity=False).digest()

    def find(self, index):
        found = ()
        for number, key in enumerate(self.keys(), start=1):
            block = index.get(key)
            if block is None or number * self.block_size >= len(self.tokens):
                return found
            found += (block,)
        return found
