"""What a sequence's slots hold: its token ids, and the chained keys of its full blocks.

Knows nothing about blocks in memory. A key names a *whole prefix*: key(i) = SHA-256(key(i-1) + the token ids
of block i), and key(-1) comes from salt and adapter, so equal keys mean equal tokens from the very start.
Python's ``hash()`` is never used: keys are the same in every process.
"""

from collections.abc import Sequence
from hashlib import sha256
from struct import Struct

Key = bytes


class Content:
    """The tokens of one sequence, growing at the end; keys are computed once, when first asked for."""

    __slots__ = ("_key_size", "_keys", "outputs", "prompt", "reads_cache", "seed")

    def __init__(
        self, prompt: Sequence[int], salt: str = "", adapter: str = "", *, reads_cache: bool = True
    ) -> None:
        self.prompt = prompt
        self.reads_cache = reads_cache
        self.outputs: list[int] = []
        self.seed = _seed(salt, adapter)
        self._keys: list[Key] = []
        self._key_size = 0

    def __len__(self) -> int:
        return len(self.prompt) + len(self.outputs)

    def slice(self, start: int, stop: int) -> Sequence[int]:
        """Token ids from position ``start`` up to, not including, ``stop``."""
        split = len(self.prompt)
        if stop <= split:
            return self.prompt[start:stop]
        if start >= split:
            return self.outputs[start - split : stop - split]
        return (*self.prompt[start:split], *self.outputs[: stop - split])

    def keys(self, num_blocks: int, block_size: int) -> list[Key]:
        """Keys of at least the first ``num_blocks`` blocks (all must be full); the caller must not change the list."""
        if block_size != self._key_size:
            self._keys, self._key_size = [], block_size
        keys = self._keys
        if len(keys) < num_blocks:
            pack = _packer(block_size).pack
            parent = keys[-1] if keys else self.seed
            for start in range(len(keys) * block_size, num_blocks * block_size, block_size):
                parent = sha256(parent + pack(*self.slice(start, start + block_size))).digest()
                keys.append(parent)
        return keys

    def forked(self) -> "Content":
        """A second sequence with the same tokens so far."""
        child = Content.__new__(Content)
        child.prompt = self.prompt
        child.reads_cache = self.reads_cache
        child.outputs = list(self.outputs)
        child.seed = self.seed
        child._keys = list(self._keys)
        child._key_size = self._key_size
        return child


def _seed(salt: str, adapter: str) -> Key:
    if not salt and not adapter:
        return b""
    parts = (salt.encode(), adapter.encode())
    return sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


_PACKERS: dict[int, Struct] = {}


def _packer(block_size: int) -> Struct:
    packer = _PACKERS.get(block_size)
    if packer is None:
        packer = _PACKERS[block_size] = Struct(f"<{block_size}q")
    return packer
