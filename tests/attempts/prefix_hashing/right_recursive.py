"""A key asks for its parent's key; salt and adapter are in every one."""

import json
from functools import cache
from hashlib import sha512


@cache
def key_of(parent, tokens, salt, adapter):
    return sha512(json.dumps([parent.hex(), tokens, salt, adapter]).encode()).digest()


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.tokens, self.block_size = list(tokens), block_size
        self.salt, self.adapter = salt, adapter

    def append(self, token):
        self.tokens = [*self.tokens, token]

    def key(self, block):
        parent = self.key(block - 1) if block else b""
        size = self.block_size
        return key_of(
            parent, tuple(self.tokens[block * size : (block + 1) * size]), self.salt, self.adapter
        )

    def keys(self):
        return [self.key(block) for block in range(len(self.tokens) // self.block_size)]

    def find(self, index):
        blocks = []
        while (len(blocks) + 1) * self.block_size < len(self.tokens):
            key = self.key(len(blocks))
            if key not in index:
                return blocks
            blocks.append(index[key])
        return blocks
