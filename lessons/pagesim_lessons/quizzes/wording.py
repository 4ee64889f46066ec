"""Small pieces of a problem's text: tables, lists of ids, letters. Plain ASCII. Knows nothing about topics."""

from collections.abc import Iterable, Sequence

from pagesim_lessons.quizzes.problem import Drawn

LETTERS = "ABCDEFGH"


def ids(numbers: Iterable[int]) -> str:
    """ "7 1 3", or "none"."""
    return " ".join(map(str, numbers)) or "none"


def words(names: Iterable[str]) -> str:
    return " ".join(names) or "none"


def sums(numbers: Sequence[int]) -> str:
    """ "7 + 12 + 3 = 22"; of one number, the number."""
    if len(numbers) == 1:
        return f"{numbers[0]:,}"
    return f"{' + '.join(f'{number:,}' for number in numbers)} = {sum(numbers):,}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Drawn:
    """Columns under their heads; numbers to the right."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [all(isinstance(row[place], int) for row in rows) for place in range(len(heads))]
    lines = []
    for line in [list(heads), *cells]:
        parts = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return Drawn(tuple(lines))


def numbered(sentences: Sequence[str]) -> Drawn:
    """What happens, in order."""
    width = len(str(len(sentences)))
    return Drawn(tuple(f"{n:>{width}}. {text}" for n, text in enumerate(sentences, start=1)))
