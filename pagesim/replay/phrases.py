"""Small pieces of sentences: amounts with their noun, lists of blocks and names, times. Plain ASCII of its own.

Knows nothing about events. Amounts have thousands separators; ids (blocks, slots, steps) have none.
"""

from collections.abc import Iterator, Sequence

from pagesim.core.types import Geometry

MOST_PIECES = 6  # of a list; the rest is counted


def counted(number: int, noun: str) -> str:
    """ "1 block", "2 blocks", "1,000 blocks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def be(number: int) -> str:
    return "is" if number == 1 else "are"


def verb(number: int, singular: str) -> str:
    """ "1 waits", "2 wait": the regular verb for so many."""
    return singular if number == 1 else singular.removesuffix("s")


def changed(number: int, change: int, noun: str, state: str) -> str:
    """ "8 -> 6 blocks free"; where nothing changes, "6 blocks stay free", or "still no block is free"."""
    if not number and not change:
        return f"still no {noun} is {state}"
    if not change:
        return f"{counted(number, noun)} {verb(number, 'stays')} {state}"
    return f"{number:,} -> {counted(number + change, noun)} {state}"


def size_of(blocks: Sequence[object]) -> int:
    """Its length, also of a range too long for ``len``."""
    return max(blocks.stop - blocks.start, 0) if isinstance(blocks, range) else len(blocks)


def listed(blocks: Sequence[int], noun: str = "block", sign: str = "") -> str:
    """ "block 7", "blocks 7, 1 and 3", "blocks 0 to 19", "blocks 1, 9, 4, 12, 20, 31 and 14 more".

    ``sign`` stands before each number.
    """
    size = size_of(blocks)
    if size <= 1:
        return f"{noun} {sign}{blocks[0]}" if size else f"no {noun}"
    pieces: list[str] = []
    told = 0
    for first, last in runs(blocks):
        if len(pieces) == MOST_PIECES:
            break
        one = f"{sign}{first}"
        pieces.append(one if first == last else f"{one} to {sign}{last}")
        told += abs(last - first) + 1
    if told < size:
        pieces.append(f"{size - told:,} more")
    return f"{noun}s {joined(pieces)}"


def block_name(block: int, geometry: Geometry) -> str:
    """ "7" on the device; "h2" for number 2 of the host's blocks, which are numbered after the device's."""
    beyond = block - geometry.num_blocks
    return f"h{beyond}" if geometry.num_host_blocks and beyond >= 0 else str(block)


def named(block: int, geometry: Geometry) -> str:
    """ "block 7", "host block h2"."""
    name = block_name(block, geometry)
    return f"host block {name}" if name[0] == "h" else f"block {name}"


def named_all(blocks: Sequence[int], geometry: Geometry) -> str:
    """Blocks of one pool: "blocks 7 and 1", "host blocks h0 to h3"."""
    first_host = geometry.num_blocks
    if not (geometry.num_host_blocks and size_of(blocks) and blocks[0] >= first_host):
        return listed(blocks)
    if isinstance(blocks, range):
        return listed(range(blocks.start - first_host, blocks.stop - first_host), "host block", "h")
    return listed([block - first_host for block in blocks], "host block", "h")


def runs(blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The list cut into (first, last): three or more that count up or down by one, and single ones."""
    if isinstance(blocks, range):
        yield blocks.start, blocks.stop - 1
        return
    start = 0
    while start < len(blocks):
        stop = start + 1
        if stop < len(blocks) and abs(blocks[stop] - blocks[start]) == 1:
            pace = blocks[stop] - blocks[start]
            while stop < len(blocks) and blocks[stop] - blocks[stop - 1] == pace:
                stop += 1
        if stop - start < 3:
            stop = start + 1
        yield blocks[start], blocks[stop - 1]
        start = stop


def some_of(names: Sequence[str]) -> str:
    """The first few by name, the rest counted."""
    if len(names) <= MOST_PIECES + 1:
        return joined(names)
    return joined([*names[:MOST_PIECES], f"{len(names) - MOST_PIECES:,} more"])


def joined(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def nats(micro_nats: float) -> str:
    """A log-probability to a hundredth: "-1.30 nats"."""
    return f"{micro_nats / 1e6:.2f} nats"


def duration(time_ns: int) -> str:
    """To the microsecond, and below that to the nanosecond: "8 ns", "24.700 ms", "36.251 s"."""
    if abs(time_ns) < 1_000:
        return f"{time_ns} ns" if time_ns else "0 s"
    if abs(time_ns) < 1_000_000_000:
        return f"{time_ns / 1e6:,.3f} ms"
    return f"{time_ns / 1e9:,.3f} s"


def one_line(text: str) -> str:
    """Text from outside without line ends or control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
