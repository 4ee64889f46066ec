"""Which free blocks are taken next, and whose cached content goes first, as lines. Knows nothing about pools."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core.types import BlockId

LABEL = 14


class FreeQueueLines(JupyterMixin):
    """``blocks``: the free queue, front first; ``evicted``: those of them that hold cached content."""

    def __init__(self, blocks: Sequence[BlockId], evicted: Sequence[BlockId]) -> None:
        self._blocks = blocks
        self._evicted = evicted

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield Text("Free blocks, in the order in which they are handed out", "bold")
        yield _line("taken next", self._blocks, width)
        if self._evicted:
            yield _line("evicted next", self._evicted, width)


def _line(label: str, blocks: Sequence[BlockId], width: int) -> Text:
    """As many as fit, the rest counted."""
    line = Text(f"{label:{LABEL}}", "dim")
    room = width - LABEL - len(f" and {len(blocks):,} more")
    shown = 0
    text = ""
    for block in blocks:
        longer = f"{text} {block}" if text else f"{block}"
        if len(longer) > room:
            break
        text, shown = longer, shown + 1
    if not blocks:
        text = "none is free"
    line.append(text, "default")
    if shown < len(blocks):
        line.append(f" and {len(blocks) - shown:,} more", "dim")
    return line
