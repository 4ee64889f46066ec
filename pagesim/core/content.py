"""What a sequence's slots hold: its token ids, and the chained keys of its full blocks.

Knows nothing about blocks in memory. A key names a *whole prefix*: key(i) = SHA-256(key(i-1) + the token ids
of block i), and key(-1) comes from salt and adapter, so equal keys mean equal tokens from the very start.
Python's ``hash()`` is never used: keys are the same in every process.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from sys import byteorder

from pagesim.core.token_ids import ChainedRanges

Key = bytes


def ranges_of(tokens: Sequence[int]) -> Iterable[range]:
    """The ranges that make up lazy tokens; none for others."""
    if isinstance(tokens, range):
        return (tokens,) if tokens.step == 1 else ()
    return tokens.ranges() if isinstance(tokens, ChainedRanges) else ()


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
        self._keys: list[Key] | None = None  # made when asked for: waiting prompts stay small
        self._key_size = 0

    def __len__(self) -> int:
        return len(self.prompt) + len(self.outputs)

    def __repr__(self) -> str:
        """As it would be written down; of salt and adapter only that there are some."""
        more = f", outputs={self.outputs}" if self.outputs else ""
        salted = f", seed={self.seed.hex()[:8]}" if self.seed else ""
        unread = "" if self.reads_cache else ", reads_cache=False"
        return f"Content({self.prompt!r}{more}{salted}{unread})"

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
        keys = self._keys
        if keys is None or block_size != self._key_size:
            keys = self._keys = []
            self._key_size = block_size
        if len(keys) < num_blocks:
            tokens = self.slice(len(keys) * block_size, num_blocks * block_size)
            parent = keys[-1] if keys else self.seed
            for block in _packed_blocks(tokens, block_size):
                parent = sha256(parent + block).digest()
                keys.append(parent)
        return keys

    def forked(self) -> "Content":
        """A second sequence with the same tokens so far."""
        child = Content.__new__(Content)
        child.prompt = self.prompt
        child.reads_cache = self.reads_cache
        child.outputs = list(self.outputs)
        child.seed = self.seed
        child._keys = None if self._keys is None else list(self._keys)
        child._key_size = self._key_size
        return child


def _seed(salt: str, adapter: str) -> Key:
    if not salt and not adapter:
        return b""
    parts = (salt.encode(), adapter.encode())
    return sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


def _packed_blocks(tokens: Sequence[int], block_size: int) -> Iterator[bytes]:
    """Each block's token ids as signed 64-bit little-endian numbers, the same on every machine."""
    size = 8 * block_size
    parts = list(ranges_of(tokens))
    if parts and not any(len(part) % block_size for part in parts):
        # All ids of a block in one number: first * (1, 1, 1, ...) + (0, 1, 2, ...), in 64-bit digits.
        ones, steps = _digits([1] * block_size), _digits(range(block_size))
        for part in parts:
            for first in part[::block_size]:
                yield (first * ones + steps).to_bytes(size, "little")
        return
    data = _digits(tokens).to_bytes(8 * len(tokens), "little")
    for start in range(0, len(data), size):
        yield data[start : start + size]


def _digits(numbers: Iterable[int]) -> int:
    """One number whose 64-bit digits, the lowest first, are ``numbers``."""
    digits = array("q", numbers)
    if byteorder == "big":
        digits.byteswap()
    return int.from_bytes(digits.tobytes(), "little")
