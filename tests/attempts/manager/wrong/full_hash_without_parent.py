# A block's key is made of its own tokens alone.
# law: content
# says: hang on every token before it
from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content


class Unchained(Content):
    def keys(self, num_blocks, block_size):
        starts = range(0, num_blocks * block_size, block_size)
        return [repr(self.slice(s, s + block_size)).encode() for s in starts]


def unchained(content):
    found = Unchained(content.prompt, reads_cache=content.reads_cache)
    found.outputs = content.outputs
    return found


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def cached_tokens(self, content):
        return super().cached_tokens(unchained(content))

    def admission(self, content, room):
        return super().admission(unchained(content), room)

    def allocate(self, seq, content, room):
        return super().allocate(seq, unchained(content), room)

    def publish(self, seq, content, num_tokens):
        return super().publish(seq, unchained(content), num_tokens)
